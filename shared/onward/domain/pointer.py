"""JSON Pointer (RFC 6901): where in a document something is."""

from __future__ import annotations


def pointer(*parts: str) -> str:
    """Return a JSON Pointer (RFC 6901)."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
