"""From a worksheet's XML to its rows, one after the other.

What a row may hold is bounded: a workbook of half a megabyte can unpack to a cell of 100 million
elements, or to rows whose texts no memory holds.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple, NoReturn

from onward.sdk import InvalidInput

from documents.office.markup import UnreadableMarkup
from documents.workbook.cells import MAX_TEXT, Value
from documents.workbook.decode import Cell, Decoder
from documents.workbook.formulas import Above, looks_above
from documents.workbook.strings import unescaped

MAX_ROW: Final = 1_048_576
MAX_COLUMN: Final = 16_384
# Sixteen elements for each cell of a full row, and more text than any row of a real workbook.
MAX_ELEMENTS: Final = 16 * MAX_COLUMN
MAX_ROW_TEXT: Final = 8 * 1024 * 1024
# Elements that are no cells: formatted text, rules, links, and whatever else stands on a sheet.
MAX_OTHERS: Final = 1_000_000
# Cells and rows without a value, beside those that have one: a sheet that is formatted to its end
# has a style for each whole column instead.
MAX_BLANKS: Final = 1_000_000
MAX_MERGES: Final = 100_000

_DIGITS: Final = "0123456789"


class Row(NamedTuple):
    """A row of a sheet, counted from 1, with its cells from left to right."""

    number: int
    cells: list[Cell]


class Box(NamedTuple):
    """A rectangle of cells, 1-based and inclusive."""

    left: int
    top: int
    right: int
    bottom: int


@dataclass
class Gathered:
    """What became known of a sheet besides its rows, once they have been read to the end."""

    merges: set[Box] = field(default_factory=set)
    hidden: int = 0  # rows that hold something and are not shown
    cut: int = 0  # cells with more text than a cell can hold
    zeros: int = 0  # formulas with a stored result of 0
    results: int = 0  # and with any other number
    values: int = 0
    blanks: int = 0  # cells that have none, and rows without cells
    merges_left_out: bool = False


class SheetRows:
    """Leaves the rows of a worksheet's XML in `done`; with `formulas`, cells say what theirs give.

    Raises:
        InvalidInput: rows out of order, or more in a row than it can hold.
        ValueError, LookupError: the sheet is damaged.
    """

    def __init__(self, sheet: str, decoder: Decoder, gathered: Gathered, *, formulas: bool) -> None:
        self.done: deque[Row] = deque()
        self._looks = formulas
        self._sheet = sheet
        self._decoder = decoder
        self._gathered = gathered
        self._names: dict[str, str] = {}
        self._columns: dict[str, int] = {}
        self._shared: dict[str, Above] = {}
        self._number = 0
        self._unnumbered = self._hidden = False
        self._cells: list[Cell] = []
        self._elements = self._others = self._text_held = 0
        self._in_row = self._in_guide = False
        self._column = 0
        self._cell: dict[str, str] | None = None
        self._formula: dict[str, str] | None = None
        self._into: list[str] | None = None
        self._stored: list[str] | None = None
        self._inline: list[str] | None = None
        self._written: list[str] | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """A start tag."""
        self._elements += 1
        short = self._names.get(name)
        if short == "c" and self._in_row:
            self._cell = attributes
            self._formula = self._stored = self._inline = None
        elif short == "v" and self._cell is not None:
            self._into = self._stored = []
        elif short == "f" and self._cell is not None:
            self._formula = attributes
            self._into = self._written = []
        elif short == "row":
            self._begin_row(attributes)
        else:
            self._other(name, short, attributes)
        if self._elements > MAX_ELEMENTS and self._in_row:
            self._refuse_elements()

    def _other(self, name: str, short: str | None, attributes: dict[str, str]) -> None:
        self._others += 1
        if self._others > MAX_OTHERS:
            self._refuse_elements()
        if short == "t" and self._cell is not None and not self._in_guide:
            if self._inline is None:
                self._inline = []
            self._into = self._inline
        elif short == "rPh":
            self._in_guide = True
        elif short == "mergeCell":
            self._merge(attributes.get("ref", ""))
        elif not self._names:
            self._begin_sheet(name)

    def _refuse_elements(self) -> NoReturn:
        where = f"row {self._number}" if self._number else "its head"
        raise UnreadableMarkup(f"up to {where} it holds more elements than a sheet can")

    def end(self, name: str) -> None:
        """An end tag."""
        short = self._names.get(name)
        self._into = None
        if short == "c" and self._cell is not None:
            self._end_cell(self._cell)
            self._cell = None
        elif short == "row":
            self._end_row()
        elif short == "rPh":
            self._in_guide = False

    def text(self, data: str) -> None:
        """Some text."""
        if self._into is not None:
            self._into.append(data)
            self._text_held += len(data)
            if self._text_held > MAX_ROW_TEXT:
                raise InvalidInput(
                    f"Row {self._number} of sheet “{self._sheet}” holds more than "
                    f"{MAX_ROW_TEXT:,} signs of text. Shorten its cells, or split the workbook."
                )

    def _begin_sheet(self, name: str) -> None:
        namespace, parts, root = name.rpartition("}")
        if root != "worksheet":
            raise UnreadableMarkup(f"its outermost element is {root!r}, not 'worksheet'")
        known = ("row", "c", "v", "f", "t", "rPh", "mergeCell", "worksheet")
        self._names = {f"{namespace}{parts}{short}": short for short in known}

    def _begin_row(self, attributes: dict[str, str]) -> None:
        given = attributes.get("r")
        number = int(float(given)) if given else self._number + 1
        if self._in_row:
            raise UnreadableMarkup(f"row {number} stands within row {self._number}")
        if not self._number < number <= MAX_ROW:
            raise InvalidInput(
                f"Row {number} of sheet “{self._sheet}” comes after row {self._number}: the "
                "workbook is damaged. Open it in Excel, let it repair the file, and save it anew."
            )
        self._number = number
        self._unnumbered = not given
        self._hidden = attributes.get("hidden") in ("1", "true")
        self._in_row = True
        self._column = self._elements = self._text_held = 0
        self._cells = []

    def _end_row(self) -> None:
        self._in_row = False
        self._elements = 0
        if self._cells:
            self._gathered.hidden += self._hidden
            self._gathered.values += len(self._cells)
            self.done.append(Row(self._number, self._cells))
        else:
            self._count_blank()

    def _count_blank(self) -> None:
        seen = self._gathered
        seen.blanks += 1
        if seen.blanks > MAX_BLANKS + seen.values + len(self._cells):
            raise InvalidInput(
                f"Up to row {self._number} sheet “{self._sheet}” holds more than {MAX_BLANKS:,} "
                "cells and rows that are formatted and blank. Delete them, and save the workbook."
            )

    def _end_cell(self, cell: dict[str, str]) -> None:
        reference = cell.get("r")
        column = self._place(reference) if reference else self._column + 1
        if not self._column < column <= MAX_COLUMN:
            raise ValueError(f"cell {reference} is out of order")
        self._column = column
        kind = cell.get("t", "n")
        style = int(cell.get("s") or 0)
        stored = self._whole(self._stored)
        if kind == "inlineStr":
            value: Value = self._whole(self._inline) or None
        else:
            value = self._decoder.value(kind, stored, style, formula=self._formula is not None)
        if value is None:
            self._count_blank()
            return
        above: Above = ""
        if self._formula is not None:
            above = self._above(self._formula, column) if self._looks else ""
            if kind == "n" and stored:
                self._gathered.zeros += stored == "0"
                self._gathered.results += stored != "0"
        self._cells.append(Cell(column, value, style, above))

    def _whole(self, parts: list[str] | None) -> str | None:
        """The text that came in parts, no more than a cell can hold; None where there was none."""
        if parts is None:
            return None
        text = parts[0] if len(parts) == 1 else "".join(parts)
        if len(text) > MAX_TEXT:
            self._gathered.cut += 1
            text = text[:MAX_TEXT]
        return unescaped(text)

    def _place(self, reference: str) -> int:
        """The column of "AB12", counted from 1; a cell of another row has no place in this one."""
        letters = reference.rstrip(_DIGITS)
        column = self._columns.get(letters)
        if column is None:
            column = self._columns[letters] = column_number(letters)
        row = reference[len(letters) :]
        if row != str(self._number):
            if not (self._unnumbered and not self._cells and self._number <= int(row) <= MAX_ROW):
                raise ValueError(f"cell {reference} stands in row {self._number}")
            self._number = int(row)
        return column

    def _above(self, formula: dict[str, str], column: int) -> Above:
        """What the cell's formula is about; the copies of a shared formula are like the first."""
        shared = formula.get("si", "")
        text = self._whole(self._written)
        if not text:
            return self._shared.get(shared, "")
        above = looks_above(text, column_letters(column), self._number)
        if shared and above:
            self._shared[shared] = above
        return above

    def _merge(self, reference: str) -> None:
        if len(self._gathered.merges) >= MAX_MERGES:
            self._gathered.merges_left_out = True
        else:
            self._gathered.merges.add(box(reference))


def box(reference: str) -> Box:
    """The rectangle of "A1:B2", "$A$1" or "a1:b2"; ValueError for what is none."""
    first, _, last = reference.replace("$", "").partition(":")
    corners = []
    for corner in (first, last or first):
        letters = corner.rstrip(_DIGITS)
        row = corner[len(letters) :]
        if not letters or not 0 < len(row) <= 7 or not 1 <= int(row) <= MAX_ROW:  # noqa: PLR2004
            raise ValueError(f"{reference[:40]!r} is not a range of cells")
        corners.append((column_number(letters), int(row)))
    (left, top), (right, bottom) = corners
    return Box(min(left, right), min(top, bottom), max(left, right), max(top, bottom))


def column_number(letters: str) -> int:
    """The column of "AB", counted from 1, in either case."""
    number = 0
    for sign in letters.upper():
        if not "A" <= sign <= "Z" or number > MAX_COLUMN:
            raise ValueError(f"{letters[:40]!r} is not a column")
        number = number * 26 + ord(sign) - 64
    return number


@lru_cache(maxsize=MAX_COLUMN)
def column_letters(number: int) -> str:
    """The letters of a column that is counted from 1."""
    letters = ""
    while number:
        number, at = divmod(number - 1, 26)
        letters = chr(65 + at) + letters
    return letters
