"""A sheet's shape: the kinds of its cells without their values.

A row is a short word of kinds (see `cells`), shared between all rows that look alike, so that a
million rows cost a few bytes each. Values are kept only where headers and remarks can be: at the
beginning of each block of rows, and in rows that hold nothing but text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from onward.sdk import InvalidInput

from documents.workbook.cells import BLANK, TYPED, Value, kind_of
from documents.workbook.sheet_rows import Box, Row

# Columns that a sheet's different rows reach over, all added up: so many, and as many as a sheet
# that is half filled needs. One that takes more is scattered or made to exhaust memory and time.
MAX_SHAPES: Final = 2 * 1024 * 1024
SPARSE: Final = 2
KEPT_PER_BLOCK: Final = 6
MAX_KEPT: Final = 20_000  # rows
MAX_KEPT_BYTES: Final = 48 * 1024 * 1024
_CELL_KEPT: Final = 120  # bytes of a kept cell, without its text
_TEXT_KEPT: Final = 400  # signs of a kept text


@dataclass
class Grid:
    """The rows of a sheet that hold anything; `numbers[i]` is the row number of `kinds[i]`."""

    numbers: list[int] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    kept: dict[int, dict[int, Value]] = field(default_factory=dict)
    kept_bytes: int = 0

    @property
    def cells(self) -> int:
        """How many cells are not blank."""
        return sum(
            (len(kinds) - kinds.count(BLANK)) * n for kinds, n in Counter(self.kinds).items()
        )

    @classmethod
    def scan(cls, rows: Iterable[Row]) -> Grid:
        """Take the shape of a sheet in one pass.

        Raises:
            InvalidInput: the cells are too scattered to tell tables apart.
        """
        grid = cls()
        shapes: dict[str, str] = {}
        size = in_block = cells = 0
        for row in rows:
            kinds = _kinds(row)
            if not kinds:
                continue
            cells += len(row.cells)
            if kinds not in shapes:
                size += len(kinds)
                if size > MAX_SHAPES + SPARSE * cells:
                    raise InvalidInput(
                        "A sheet's cells are scattered over so many columns that tables cannot "
                        "be told apart. Put the tables on sheets of their own."
                    )
            in_block = in_block + 1 if grid.numbers and row.number == grid.numbers[-1] + 1 else 0
            grid._add(row, shapes.setdefault(kinds, kinds), keep=in_block < KEPT_PER_BLOCK)
        return grid

    def _add(self, row: Row, kinds: str, *, keep: bool) -> None:
        self.numbers.append(row.number)
        self.kinds.append(kinds)
        if not keep and not TYPED.isdisjoint(kinds):
            return
        if len(self.kept) < MAX_KEPT and self.kept_bytes < MAX_KEPT_BYTES:
            values = {cell.column: _shortened(cell.value) for cell in row.cells}
            texts = sum(len(value) for value in values.values() if isinstance(value, str))
            self.kept_bytes += _CELL_KEPT * len(values) + 4 * texts
            self.kept[row.number] = values

    def value(self, row: int, column: int) -> Value:
        """A kept value, or None where the cell is blank or was not kept."""
        return self.kept.get(row, {}).get(column)

    def span(self, top: int, bottom: int) -> range:
        """The indexes of the rows numbered `top` to `bottom`, both included."""
        return range(bisect_left(self.numbers, top), bisect_left(self.numbers, bottom + 1))

    def without(self, boxes: list[Box]) -> Grid:
        """The same sheet with some rectangles blanked out."""
        kinds = list(self.kinds)
        for box in boxes:
            for index in self.span(box.top, box.bottom):
                kinds[index] = _blanked(kinds[index], box.left, box.right)
        left = [index for index, word in enumerate(kinds) if word]
        return Grid([self.numbers[i] for i in left], [kinds[i] for i in left], self.kept)


def _shortened(value: Value) -> Value:
    """Names and remarks need no more; errors and the like stay what they are."""
    return value[:_TEXT_KEPT] if type(value) is str and len(value) > _TEXT_KEPT else value


@lru_cache(maxsize=256)
def _blanked(kinds: str, left: int, right: int) -> str:
    end = min(right, len(kinds))
    middle = BLANK * max(0, end - left + 1)
    return f"{kinds[: left - 1]}{middle}{kinds[end:]}".rstrip(BLANK) if middle else kinds


def _kinds(row: Row) -> str:
    """The word of a row, from column 1 to its last cell that is not blank."""
    parts: list[str] = []
    at = 0
    for cell in row.cells:
        kind = kind_of(cell.value)
        if kind != BLANK:
            parts.append(BLANK * (cell.column - at - 1))
            parts.append(kind)
            at = cell.column
    return "".join(parts)
