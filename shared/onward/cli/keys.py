"""`onward key`: an API key for a tenant."""
