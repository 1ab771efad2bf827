"""HTTP to strangers: which addresses may be asked, and one request within one deadline."""
