"""Paragraphs of a text file, whose lines may be broken anywhere."""

from __future__ import annotations

import re
from statistics import median
from typing import Final

from documents.contract.sections import NUMBERED, Line

# Lines that long are paragraphs: nobody breaks them by hand.
WHOLE: Final = 100
HEAD: Final = 4096
ODD_SHARE: Final = 200
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_BULLET: Final = re.compile(r"(?:[-*•]|\(?[a-z]{1,4}\))\s+\S")
_RULE: Final = re.compile(r"[-=_*~\s]*")
_MARKDOWN: Final = re.compile(r"(#{1,6})\s+(.*)")
# No mark within: each search ends at the next one, however many there are on a line.
_EMPHASIS: Final = re.compile(r"(\*\*|__)(?=\S)((?:(?!\1).)+)(?<=\S)\1")


def is_text(body: bytes) -> bool:
    """Whether the beginning is text in some encoding: pictures and programs hold other signs."""
    if body[:2] in _UTF_16:
        return True
    head = body[:HEAD]
    odd = sum(1 for sign in head if sign < ord(" ") and sign not in b"\t\r\n\f")
    return bool(head.strip()) and odd <= len(head) // ODD_SHARE


def read_text(body: bytes) -> tuple[list[Line], list[str]]:
    """Its paragraphs, and notes on how it was read."""
    text, notes = _decoded(body)
    lines = [line.strip() for line in text.splitlines()]
    filled = [len(line) for line in lines if line]
    whole = bool(filled) and median(filled) > WHOLE
    paragraphs: list[Line] = []
    open_lines: list[str] = []

    def close() -> None:
        if open_lines:
            paragraphs.append(Line(" ".join(open_lines)))
            open_lines.clear()

    for line in lines:
        titled = _MARKDOWN.fullmatch(line)
        if titled or _RULE.fullmatch(line):
            close()
            if titled:
                paragraphs.append(Line(_plain(titled[2]), heading=True))
            continue
        if whole or NUMBERED.match(line) or _BULLET.match(line) or _stands_alone(open_lines):
            close()
        open_lines.append(_plain(line))
    close()
    return paragraphs, notes


def _decoded(body: bytes) -> tuple[str, list[str]]:
    if body[:2] in _UTF_16:
        return body.decode("utf-16", errors="replace"), []
    try:
        return body.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        note = "The text is not UTF-8; it was read as Windows-1252, so some signs may be wrong."
        return body.decode("cp1252", errors="replace"), [note]


def _stands_alone(lines: list[str]) -> bool:
    """Whether what is open is a title in capitals, which no sentence goes on from."""
    return len(lines) == 1 and lines[0].isupper() and not lines[0].endswith(",")


def _plain(text: str) -> str:
    return _EMPHASIS.sub(r"\2", text)
