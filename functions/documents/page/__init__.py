"""Pages for people: one HTML file, its numbers and charts."""
