"""Carrying a run from its start to its end: attempts, their settling, and what survives a death."""
