"""Reads a contract, finds its key terms and has three reviewers rate them.

parse → extract → three reviews in parallel → merge → compose → publish
"""
