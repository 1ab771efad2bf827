"""What operators do to runs and keys, and the log of it."""
