"""The HTTP API: requests, routes, problems. Only `http_api` imports this."""
