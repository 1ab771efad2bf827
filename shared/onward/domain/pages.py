"""Pages that a browser may show at once: their own head forbids them everything but to be read."""

from __future__ import annotations

from typing import Final

POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)

PAGE_HEAD: Final = (
    '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
)
"""How such a page begins. A presigned address can carry no header of its own (S3 lets only six be
overridden), so the policy stands in the page, before anything that it could be about: whatever
follows runs no script, loads nothing and posts nothing, whoever wrote it."""


def is_page(body: bytes, content_type: str) -> bool:
    """Whether bytes are such a page."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "text/html" and body.startswith(PAGE_HEAD.encode())
