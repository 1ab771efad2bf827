"""Who the parties of a contract are, from its first paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from documents.contract.models import Block, Finding

FIRST_BLOCKS: Final = 25
NAME: Final = 120
QUOTE: Final = 400

# (the “Supplier”), (“Buyer”), (hereinafter referred to as "Lessee")
_DEFINED: Final = re.compile(
    r"\(\s*(?:[^()“”\"]{0,60})[“\"‘']\s*(?:the\s)?"
    r"(?P<role>[A-Z][\w’' -]{1,40}?)\s*[”\"’'][^()]{0,40}\)"
)
_OPENING: Final = re.compile(
    r"\b(?:by and between|by and among|between|among|concluded by|parties:?)\b:?\s*", re.IGNORECASE
)
_LABELLED: Final = re.compile(
    r"(?P<role>Customer|Client|Supplier|Vendor|Provider|"
    r"Contractor|Consultant|Buyer|Purchaser|Seller|"
    r"Landlord|Lessor|Tenant|Lessee|Licensor|Licensee|Employer|Employee|Lender|Borrower|Company|"
    r"Party [AB12]|Disclosing Party|Receiving Party)\s*(?::|\||–|-{1,2}\s)\s*(?P<name>[A-Z].{2,})"
)
_LEAD: Final = re.compile(
    r"^(?:[\s,;]|and\b|\(?[0-9a-z]{1,3}[.)]\s|between\b|on the (?:one|other) (?:hand|part)\b)+"
)
_SUFFIX: Final = re.compile(
    r",\s*(?=(?:Inc|LLC|L\.L\.C|Ltd|Limited|Corp|GmbH|AG|S\.A|SA|N\.V|B\.V|PLC|plc|LP|LLP|Co)\b)"
)
_END: Final = re.compile(
    r",|\s\(|;|\s(?:a|an)\s[a-z]+"
    r"|\swhose\b|\swith (?:its|offices|registered)\b|\shaving\b|\sof\s\d|\sresiding\b"
)
_QUOTES: Final = re.compile(r"[“”\"]")
_ABBREVIATED: Final = re.compile(r"\b(?:Inc|Ltd|Co|Corp|Jr|Sr|[A-Z])\.$")
_SENTENCE: Final = re.compile(r"\w{4,}\. [A-Z]|\b(?:shall|will|has|have|are|is)\b")
_NOT_A_PARTY: Final = re.compile(
    r"agreement|contract|party|parties|effective|date|term|service", re.IGNORECASE
)


def parties(blocks: Sequence[Block]) -> list[Finding]:
    """The parties with the names that the contract gives them, in its order."""
    found: list[Finding] = []
    opened = False
    for block in blocks[:FIRST_BLOCKS]:
        start = _OPENING.search(block.text)
        opened = opened or start is not None or "part" in block.heading.lower()
        text = block.text[start.end() :] if start else block.text
        said = list(_labelled(block.text)) or (list(_named(text)) if opened else [])
        if not said and start:
            said = list(_plain(text))
        for name, role in said:
            value = f"{name} ({role})" if role else name
            if not any(name == known.value.partition(" (")[0] for known in found):
                found.append(Finding(value=value, quote=block.text[:QUOTE], place=block.place))
        if len(found) > 1 and not said:
            break
    return found


def _labelled(text: str) -> Iterator[tuple[str, str]]:
    """As in a cover sheet, "Customer: Alder Works Ltd"."""
    found = _LABELLED.match(text)
    name = _name(found["name"]) if found else None
    if found and name:
        yield name, found["role"]


def _named(text: str) -> Iterator[tuple[str, str]]:
    """As in a preamble: each name is followed by what it is called from there on."""
    start = 0
    for defined in _DEFINED.finditer(text):
        name = _name(text[start : defined.start()])
        if name and not _NOT_A_PARTY.search(defined["role"]):
            yield name, defined["role"]
        start = defined.end()


def _plain(text: str) -> Iterator[tuple[str, str]]:
    """Two names and an "and" between them, with nothing to call them by."""
    one, joined, other = text.partition(" and ")
    names = [_name(one), _name(other)]
    if joined and all(names):
        yield from ((name, "") for name in names if name)


def _name(text: str) -> str | None:
    """The name at the beginning of a description, or None if it does not begin with one."""
    bare = _LEAD.sub("", _QUOTES.sub("", text).strip())
    joined = _SUFFIX.sub("\0", bare)
    end = _END.search(joined)
    name = joined[: end.start() if end else len(joined)].replace("\0", ", ").strip(" ,:;")
    if name.endswith(".") and not _ABBREVIATED.search(name):
        name = name[:-1]
    words = name.split()
    if not name or len(name) > NAME or _SENTENCE.search(name) or _NOT_A_PARTY.fullmatch(name):
        return None
    # Names are written with capitals; what is not is prose about something else.
    great = sum(1 for word in words if not word[0].islower())
    return name if name[0].isupper() and great * 2 > len(words) else None
