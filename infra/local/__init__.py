"""The embedded stack: the same template, on this machine."""
