"""`onward key`: an API key for a tenant."""


def key() -> None:
    """Issue an API key."""
