"""The table of texts that cells share."""

from __future__ import annotations

import re
from collections.abc import Callable
from sys import getsizeof
from typing import IO, Final

from onward.sdk import InvalidInput

from documents.office.markup import MAX_DEPTH, UnreadableMarkup, events, no_tick
from documents.workbook.cells import MAX_TEXT

MAX_HELD: Final = 192 * 1024 * 1024  # bytes of memory
MAX_EMPTY: Final = 100_000  # a table of shared texts has each only once
_LEAST_HELD: Final = 64  # what a text costs at least, with its place in the list

_HALVES: Final = range(0xD800, 0xE000)
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")


def read_strings(source: IO[bytes], tick: Callable[[], None] = no_tick) -> tuple[list[str], int]:
    """The texts in their order, without phonetic guides; and how many had to be cut.

    Raises:
        InvalidInput: they would not fit into memory.
        ValueError: the part is damaged.
    """
    table = _Table()
    for _ in events(source, table, tick):
        if table.too_deep:
            raise UnreadableMarkup("too many open tags")
        if table.empty > MAX_EMPTY:
            raise UnreadableMarkup(f"up to text {len(table.strings):,} most shared texts are empty")
        if table.held > MAX_HELD:
            raise InvalidInput(
                "The workbook holds too many different texts to be kept in memory. "
                "Split it into smaller workbooks."
            )
    return table.strings, table.cut


def unescaped(text: str) -> str:
    """A text with signs that XML cannot hold, which are written _x000D_ (ECMA-376, 22.9.2.19)."""
    return _ESCAPED.sub(_sign, text) if "_x" in text else text


def _sign(found: re.Match[str]) -> str:
    """The sign of a code; halves of a pair, which no text can hold, stay as they are."""
    code = int(found[1], 16)
    return found[0] if code in _HALVES else chr(code)


class _Table:
    def __init__(self) -> None:
        self.strings: list[str] = []
        self.held = 0
        self.cut = 0
        self.empty = 0
        self._names: dict[str, str] = {}
        self._parts: list[str] = []
        self._into: list[str] | None = None
        self._guide = False
        self._depth = 0

    @property
    def too_deep(self) -> bool:
        return self._depth > MAX_DEPTH

    def start(self, name: str, _attributes: dict[str, str]) -> None:
        self._depth += 1
        short = self._names.get(name)
        if short == "si":
            self._parts = []
        elif short == "t":
            self._into = None if self._guide else self._parts
        elif short == "rPh":
            self._guide = True
        elif not self._names:
            self._begin(name)

    def _begin(self, name: str) -> None:
        namespace, parts, root = name.rpartition("}")
        if root != "sst":
            raise UnreadableMarkup(f"the table of texts begins with {root!r}")
        self._names = {f"{namespace}{parts}{short}": short for short in ("sst", "si", "t", "rPh")}

    def end(self, name: str) -> None:
        self._depth -= 1
        self._into = None
        short = self._names.get(name)
        if short == "rPh":
            self._guide = False
        elif short == "si":
            text = "".join(self._parts)
            self._parts = []
            if len(text) > MAX_TEXT:
                text, self.cut = text[:MAX_TEXT], self.cut + 1
            text = "" if text.isspace() else unescaped(text)
            self.empty += not text
            self.strings.append(text)
            self.held += max(_LEAST_HELD, getsizeof(text) + 8)

    def text(self, data: str) -> None:
        if self._into is not None:
            self._into.append(data)
