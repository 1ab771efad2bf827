"""Looking after runs that nobody else looks after any more."""
