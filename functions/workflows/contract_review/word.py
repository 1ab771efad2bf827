"""Paragraphs of a Word document (.docx).

Read as a stream of XML events, without recursion: deep nesting costs nothing, and what was read is
let go. Elements are told by their local names, so that Strict Open XML reads alike.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from posixpath import normpath
from typing import Final
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring, iterparse
from onward.sdk import InvalidInput

from workflows.contract_review.sections import Line
from workflows.opening import MIB, Wanted, open_package, refuse_foreign

WORD: Final = Wanted(
    noun="document",
    extension=".docx",
    program="Word",
    unpacked=512 * MIB,
    held=48 * MIB,
    streamed=("word/media/", "word/embeddings/", "word/fonts/", "word/vbaProject"),
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
    with open_package(body, WORD) as archive:
        refuse_foreign(archive, _USUAL, WORD)
        with _readable():
            part = _main_part(archive)
            reading = _Reading()
            with archive.open(part) as source:
                for event, element in iterparse(source, ("start", "end"), forbid_dtd=True):
                    reading.take(event, element)
            return reading.lines, [*reading.notes, *_left_beside(archive)]


@contextmanager
def _readable() -> Iterator[None]:
    """Turn what a parser raises into a reason that a person understands."""
    try:
        yield
    except (ParseError, DefusedXmlException, LookupError, zipfile.BadZipFile) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidInput(
            f"The document is damaged or uses something that cannot be read ({reason}). "
            "Open it in Word, save it as a new .docx document and upload that."
        ) from error


def _main_part(archive: zipfile.ZipFile) -> str:
    """The part that the package names as its document; its name is only by custom the usual one."""
    names = set(archive.namelist())
    if "_rels/.rels" in names:
        for relation in fromstring(archive.read("_rels/.rels"), forbid_dtd=True):
            if relation.get("Type", "").endswith("/officeDocument"):
                part = normpath(relation.get("Target", "").lstrip("/"))
                if part in names and part.startswith("word/"):
                    return part
    if _USUAL not in names:
        raise InvalidInput("This is a zip archive without a Word document in it. Unpack it first.")
    return _USUAL


def _left_beside(archive: zipfile.ZipFile) -> list[str]:
    found = [what for part, what in _BESIDE if part in archive.namelist()]
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

    def take(self, event: str, element: Element) -> None:
        """Take in the start or the end of an element."""
        name = element.tag.rpartition("}")[2]
        if event == "start":
            self._begin(name)
        else:
            self._end(name, element)
            element.clear()

    def _begin(self, name: str) -> None:
        if name in ("ins", "del", "moveFrom"):
            self._note(_TRACKED)
        if name in _LEFT_OUT:
            self._skipped += 1
        elif self._skipped:
            return
        elif name == "p":
            self._texts.append([])
            self._titled.append(False)
        elif name == "tr" and self._row is None:
            self._row = []

    def _end(self, name: str, element: Element) -> None:
        if name == "vanish" and _value(element, "true") not in ("0", "false"):
            self._note(_HIDDEN)
        if name in _LEFT_OUT:
            self._skipped -= 1
        elif self._skipped:
            return
        elif name == "p" and self._texts:
            self._close_paragraph()
        elif name == "tr" and self._row is not None:
            self.lines.append(Line(" | ".join(self._row)))
            self._row = None
        elif self._texts:
            self._add(name, element)

    def _add(self, name: str, element: Element) -> None:
        if name == "t":
            self._texts[-1].append(element.text or "")
        elif name in _BREAKS:
            self._texts[-1].append("-" if name == "noBreakHyphen" else " ")
        elif name == "pStyle":
            style = _value(element).lower()
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


def _value(element: Element, default: str = "") -> str:
    """The attribute `val`, whatever its namespace."""
    found = (value for name, value in element.attrib.items() if name.rpartition("}")[2] == "val")
    return next(found, default)
