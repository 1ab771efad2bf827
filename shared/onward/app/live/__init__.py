"""Pushing events to open sockets, from where each has got to."""
