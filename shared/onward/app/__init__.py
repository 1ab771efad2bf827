"""Use cases, a verb a file."""
