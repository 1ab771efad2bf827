"""Paragraphs of a Word document (.docx).

Read as a stream of XML events, without recursion: deep nesting costs nothing, and what was read is
let go. Elements are told by their local names, so that Strict Open XML reads alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from onward.sdk import InvalidInput

from documents.contract.sections import Line
from documents.office.markup import MAX_DEPTH, events, local
from documents.office.opening import (
    MIB,
    UNREADABLE,
    Package,
    Wanted,
    open_package,
    refuse_foreign,
)
from documents.office.relations import main_part

MAX_LINES: Final = 300_000
MAX_SIGNS: Final = 12_000_000

WORD: Final = Wanted(
    noun="document",
    extension=".docx",
    program="Word",
    unpacked=512 * MIB,
    held=48 * MIB,
    streamed=("word/media/", "word/embeddings/", "word/fonts/", "word/vbaproject"),
)

_USUAL: Final = "word/document.xml"
# What is not part of the text as it now stands, or stands there twice.
_LEFT_OUT: Final = frozenset(
    {"del", "moveFrom", "Fallback", "instrText", "delText", "delInstrText", "rPr"}
)
_BREAKS: Final = frozenset({"br", "cr", "tab", "noBreakHyphen"})
_TRACKED: Final = (
    "The document has tracked changes: insertions were read as accepted, deletions left out."
)
_HIDDEN: Final = "The document has hidden text; it was read like the rest."
_BESIDE: Final = (
    ("word/comments.xml", "comments"),
    ("word/footnotes.xml", "footnotes"),
    ("word/endnotes.xml", "endnotes"),
)


def read_word(body: bytes) -> tuple[list[Line], list[str]]:
    """Its paragraphs in reading order, and notes on what was left out.

    Raises:
        InvalidInput: it is no Word document, unsafe to open, or damaged; the message is for people.
    """
    package = open_package(body, WORD)
    refuse_foreign(package, _USUAL, WORD)
    with package, _readable():
        part = main_part(package, _USUAL)
        if part is None:
            raise InvalidInput(
                "This is a zip archive without a Word document in it. Unpack it first."
            )
        reading = _Reading()
        with package.open(part) as source:
            for _ in events(source, reading):
                reading.refuse_too_much()
        return reading.lines, [*reading.notes, *_left_beside(package)]


@contextmanager
def _readable() -> Iterator[None]:
    """Turn what a parser raises into a reason that a person understands."""
    try:
        yield
    except UNREADABLE as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidInput(
            f"The document is damaged or uses something that cannot be read ({reason}). "
            "Open it in Word, save it as a new .docx document and upload that."
        ) from error


def _left_beside(package: Package) -> list[str]:
    found = [what for part, what in _BESIDE if part in package]
    if not found:
        return []
    return [f"Not read: {', '.join(found)}, and what headers and footers say."]


@dataclass
class _Reading:
    """The text gathered so far. Paragraphs nest (text boxes), so the open ones are a stack."""

    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _texts: list[list[str]] = field(default_factory=list)
    _titled: list[bool] = field(default_factory=list)
    _row: list[str] | None = None
    _skipped: int = 0
    _depth: int = 0
    _signs: int = 0
    _takes: bool = False

    def refuse_too_much(self) -> None:
        """Raise InvalidInput for more than any contract holds, before memory is full."""
        if self._signs > MAX_SIGNS or len(self.lines) > MAX_LINES or self._depth > MAX_DEPTH:
            raise InvalidInput(
                f"The document holds more than {MAX_LINES:,} paragraphs, {MAX_SIGNS:,} signs, or "
                f"{MAX_DEPTH:,} nested elements. Upload its parts one by one."
            )

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """A start tag."""
        self._depth += 1
        short = local(name)
        if short in ("ins", "del", "moveFrom"):
            self._note(_TRACKED)
        elif short == "vanish" and _value(attributes, "true") not in ("0", "false"):
            self._note(_HIDDEN)
        if short in _LEFT_OUT:
            self._skipped += 1
        elif self._skipped:
            return
        elif short == "p":
            self._texts.append([])
            self._titled.append(False)
        elif short == "tr" and self._row is None:
            self._row = []
        elif self._texts:
            self._add(short, attributes)

    def end(self, name: str) -> None:
        """An end tag."""
        self._depth -= 1
        self._takes = False
        short = local(name)
        if short in _LEFT_OUT:
            self._skipped -= 1
        elif self._skipped:
            return
        elif short == "p" and self._texts:
            self._close_paragraph()
        elif short == "tr" and self._row is not None:
            self.lines.append(Line(" | ".join(self._row)))
            self._row = None

    def text(self, data: str) -> None:
        """Some text, which may be a part of one."""
        if self._takes:
            self._texts[-1].append(data)
            self._signs += len(data)

    def _add(self, short: str, attributes: dict[str, str]) -> None:
        self._takes = short == "t"
        if short in _BREAKS:
            self._texts[-1].append("-" if short == "noBreakHyphen" else " ")
            self._signs += 1
        elif short == "pStyle":
            style = _value(attributes).lower()
            self._titled[-1] = style.startswith(("heading", "title", "berschrift", "überschrift"))

    def _close_paragraph(self) -> None:
        text, titled = "".join(self._texts.pop()), self._titled.pop()
        if self._row is None:
            self.lines.append(Line(text, heading=titled))
        elif text.strip():
            self._row.append(text)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _value(attributes: dict[str, str], default: str = "") -> str:
    """The attribute `val`, whatever its namespace."""
    return next((value for name, value in attributes.items() if local(name) == "val"), default)
