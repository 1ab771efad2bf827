"""Which paragraphs are headings, and which clause a paragraph is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from documents.contract.models import Block

HEADING_WORDS: Final = 10
HEADING_LENGTH: Final = 90

# "7.", "7.2", "7.2.1)", "§ 7", "Section 7", "ARTICLE IV"; a bare "7 days" is none.
NUMBERED: Final = re.compile(
    r"(?:(?:article|section|clause|schedule|exhibit|annex|§)\s*(?P<word>\d+(?:\.\d+)*|[IVXLC]+)\b"
    r"|(?P<digits>\d{1,3}(?:\.\d{1,3})+|\d{1,3}(?=[.)]))(?!\d))[.):\s–-]*",
    re.IGNORECASE,
)
# "7. Termination. Either party …": the title runs into the text.
_RUN_IN: Final = re.compile(r"(?P<title>[A-Z][A-Za-z ,&/’'-]{2,60})[.:–—]\s+(?=[A-Z“\"(])")


class Line(NamedTuple):
    """A paragraph as a reader found it; `heading` where the file itself says that it is one."""

    text: str
    heading: bool = False


def arranged(lines: Iterable[Line]) -> list[Block]:
    """The paragraphs, numbered from 1, each with the last heading above and its clause number."""
    blocks: list[Block] = []
    heading = ""
    for line in lines:
        text = " ".join(line.text.split())
        if not text:
            continue
        found = NUMBERED.match(text)
        clause = (found["word"] or found["digits"]) if found else ""
        rest = text[found.end() :] if found else text
        number = len(blocks) + 1
        if line.heading or _is_heading(rest, numbered=bool(clause)):
            heading = text
            blocks.append(Block(number=number, text=text, clause=clause))
            continue
        if clause and "." not in clause and (title := _RUN_IN.match(rest)):
            heading = f"{clause}. {title['title']}"
        blocks.append(Block(number=number, text=text, clause=clause, heading=heading))
    return blocks


def _is_heading(text: str, *, numbered: bool) -> bool:
    words = text.split()
    if not words or len(words) > HEADING_WORDS or len(text) > HEADING_LENGTH:
        return False
    if text.endswith((".", ";", ",", ":")) or not any(sign.isalpha() for sign in text):
        return False
    return text.isupper() or (numbered and text[0].isupper())
