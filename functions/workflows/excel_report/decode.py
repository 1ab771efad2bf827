"""From a row's XML to its values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, cast
from xml.etree.ElementTree import Element

from openpyxl.utils.datetime import from_excel, from_ISO8601
from openpyxl.xml.constants import SHEET_MAIN_NS

from workflows.excel_report.cells import NOT_CALCULATED, CellError, Moment, Value
from workflows.excel_report.formats import NumberFormats

MAX_COLUMN: Final = 16_384
MAX_DIGITS: Final = 300  # of a whole number; the sum of a column of longer ones is no double

_VALUE: Final = f"{{{SHEET_MAIN_NS}}}v"
_FORMULA: Final = f"{{{SHEET_MAIN_NS}}}f"
_INLINE: Final = f"{{{SHEET_MAIN_NS}}}is"
_RUN: Final = f"{{{SHEET_MAIN_NS}}}r"
_TEXT: Final = f"{{{SHEET_MAIN_NS}}}t"


class Cell(NamedTuple):
    """A cell that is not blank; columns count from 1."""

    column: int
    value: Value
    style: int


@dataclass(frozen=True)
class Decoder:
    """What the cells of a workbook refer to.

    `recalculates`: the workbook asks to be calculated when opened, so its stored results may be
    placeholders.
    """

    strings: Sequence[str]
    formats: NumberFormats
    epoch: dt.datetime
    recalculates: bool

    def cells(self, row: Element) -> list[Cell]:
        """The cells that are not blank, from left to right; ValueError if they are out of order."""
        cells: list[Cell] = []
        column = 0
        for element in row:
            reference = element.get("r")
            before, column = column, _column(reference) if reference else column + 1
            if not before < column <= MAX_COLUMN:
                raise ValueError(f"cell {reference} is out of order")
            style = int(element.get("s") or 0)
            value = self._value(element, style)
            if value is not None:
                cells.append(Cell(column, value, style))
        return cells

    def _value(self, element: Element, style: int) -> Value:
        kind = element.get("t", "n")
        if kind == "inlineStr":
            return _inline(element.find(_INLINE))
        stored = element.findtext(_VALUE)
        absent = stored is None or (not stored and kind != "str")
        if element.find(_FORMULA) is not None and (absent or self._is_placeholder(kind, stored)):
            return NOT_CALCULATED
        return None if stored is None or absent else self._stored(kind, stored, style)

    def _is_placeholder(self, kind: str, stored: str | None) -> bool:
        """Some writers store 0 for every formula and leave the rest to Excel."""
        return self.recalculates and kind == "n" and stored == "0"

    def _stored(self, kind: str, stored: str, style: int) -> Value:
        match kind:
            case "n":
                return self._number(stored, style)
            case "s":
                return self.strings[int(stored)]
            case "b":
                return stored not in ("0", "false")
            case "e":
                return CellError(stored)
            case "d":
                return cast("Moment", from_ISO8601(stored))  # type: ignore[no-untyped-call]
            case _:
                return stored

    def _number(self, stored: str, style: int) -> Value:
        real = "." in stored or "e" in stored.lower() or len(stored) > MAX_DIGITS
        number = float(stored) if real else int(stored)
        if style not in self.formats.dates:
            return number
        try:
            moment = from_excel(number, self.epoch, timedelta=style in self.formats.durations)
        except (OverflowError, ValueError):
            return CellError("#######")  # what Excel shows for a date that cannot be
        return cast("Moment", moment)


def _column(reference: str) -> int:
    """The column of "AB12", counted from 1."""
    column = 0
    for sign in reference:
        if not "A" <= sign <= "Z":
            break
        column = column * 26 + ord(sign) - 64
    return column


def _inline(element: Element | None) -> str | None:
    """The text of an inline string without its phonetic guides."""
    if element is None:
        return None
    parts = [element.findtext(_TEXT) or ""]
    parts += [run.findtext(_TEXT) or "" for run in element.iterfind(_RUN)]
    return "".join(parts) or None
