"""Values that are kept outside the rows: written once, read by reference."""
