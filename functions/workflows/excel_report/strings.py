"""The table of texts that cells share."""

from __future__ import annotations

import re
from collections.abc import Callable
from sys import getsizeof
from typing import IO, Final

from onward.sdk import InvalidInput

from workflows.excel_report.cells import MAX_TEXT
from workflows.markup import MAX_DEPTH, UnreadableMarkup, events, no_tick

MAX_HELD: Final = 192 * 1024 * 1024  # bytes of memory
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
        if table.held > MAX_HELD:
            raise InvalidInput(
                "The workbook holds too many different texts to be kept in memory. "
                "Split it into smaller workbooks."
            )
    return table.strings, table.cut


class Text:
    """One text in the making, from the parts that come in; no more than a cell can hold."""

    __slots__ = ("_parts", "_room", "cut")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._room = MAX_TEXT
        self.cut = False

    def add(self, data: str) -> None:
        """Take in some more of it."""
        if len(data) > self._room:
            data, self.cut = data[: self._room], True
        if data:
            self._parts.append(data)
            self._room -= len(data)

    def whole(self) -> str:
        """The text; "" for one of nothing but white space."""
        text = "".join(self._parts)
        return "" if text.isspace() else unescaped(text)


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
        self._namespace: str | None = None
        self._text = Text()
        self._takes = False
        self._guide = False
        self._depth = 0

    def start(self, name: str, _attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._namespace is None:
            self._namespace, _, root = name.rpartition("}")
            if root != "sst":
                raise UnreadableMarkup(f"the table of texts begins with {root!r}")
        elif self._depth > MAX_DEPTH:
            raise UnreadableMarkup("too many open tags")
        short = self._short(name)
        if short == "si":
            self._text = Text()
        elif short == "rPh":
            self._guide = True
        self._takes = short == "t" and not self._guide

    def end(self, name: str) -> None:
        self._depth -= 1
        self._takes = False
        short = self._short(name)
        if short == "rPh":
            self._guide = False
        elif short == "si":
            text = self._text.whole()
            self.cut += self._text.cut
            self.strings.append(text)
            self.held += max(_LEAST_HELD, getsizeof(text) + 8)

    def text(self, data: str) -> None:
        if self._takes:
            self._text.add(data)

    def _short(self, name: str) -> str:
        namespace, _, short = name.rpartition("}")
        return short if namespace == self._namespace else ""
