"""From a request to a run that waits for its start."""
