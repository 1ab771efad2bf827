"""From what a cell stores to its value."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from documents.workbook.cells import NOT_CALCULATED, CellError, Value
from documents.workbook.formats import PERCENT, NumberFormats
from documents.workbook.formulas import Above
from documents.workbook.moments import from_number, from_text

MAX_DIGITS: Final = 300  # of a whole number; the sum of a column of longer ones is no double


class Cell(NamedTuple):
    """A cell that is not blank; columns count from 1.

    `above` says whether its formula gives a figure of the cells above it.
    """

    column: int
    value: Value
    style: int
    above: Above = ""


@dataclass
class Decoder:
    """What the cells of a workbook refer to.

    `doubts_zeros`: the workbook asks to be calculated when opened and no formula has another
    result than 0, so that these may be placeholders.
    """

    strings: Sequence[str]
    formats: NumberFormats
    epoch: dt.datetime
    doubts_zeros: bool = False

    def value(self, kind: str, stored: str | None, style: int, *, formula: bool) -> Value:
        """The value of a cell of type `kind` (its `t`) that stores a text; None if it is blank."""
        if stored is None or (not stored and kind != "str"):
            return NOT_CALCULATED if formula else None
        if formula and self.doubts_zeros and kind == "n" and stored == "0":
            return NOT_CALCULATED
        if kind == "n":
            return self._number(stored, style)
        return self.strings[_index(stored)] if kind == "s" else _as_stored(kind, stored)

    def _number(self, stored: str, style: int) -> Value:
        if "_" in stored or not stored.isascii():
            raise ValueError(f"{stored[:40]!r} is not a number")
        real = "." in stored or "e" in stored.lower() or len(stored) > MAX_DIGITS
        number = float(stored) if real else _whole(stored)
        kind = self.formats.kinds.get(style, PERCENT)
        return number if kind == PERCENT else from_number(number, kind, self.epoch)


def _as_stored(kind: str, stored: str) -> Value:
    match kind:
        case "b":
            return stored not in ("0", "false")
        case "e":
            return CellError(stored)
        case "d":
            return from_text(stored)
        case _:
            return stored


def _whole(stored: str) -> int | float:
    try:
        return int(stored)
    except ValueError:
        return float(stored)  # NaN and INF, as some programs write what is no number


def _index(stored: str) -> int:
    index = int(stored)
    if index < 0:
        raise LookupError(f"there is no shared text number {index}")
    return index
