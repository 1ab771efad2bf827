"""The pure core: what a run is and how it may move. No I/O, no clock, no randomness."""
