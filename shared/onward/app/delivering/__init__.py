"""Telling webhooks of events until each has acknowledged them or is known not to."""
