"""Reads a contract, finds its terms and rates them."""
