"""What stands above a row: the figures and names of the rows that were taken for data."""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from documents.workbook.cells import (
    BLANK,
    DATE,
    DIGITS,
    INTEGER,
    MARKER,
    NUMBER,
    TEXT,
    Value,
    kind_of,
    parse_digits,
)
from documents.workbook.columns import Column, Tally, seconds
from documents.workbook.totals import Label, reduced

FEW: Final = 12  # rows whose numbers are kept
SEVERAL: Final = 3


@dataclass
class RowsAbove:
    """The columns of a table so far; `extra` is added to sums that do not cover all data."""

    columns: Sequence[Column]
    rows: int = 0
    extra: dict[int, float] = field(default_factory=dict)
    _kept: deque[Mapping[int, float]] = field(default_factory=lambda: deque(maxlen=FEW))

    def take(self, numbers: Mapping[int, float]) -> None:
        """Go past a row of data with these numbers."""
        self.rows += 1
        self._kept.append(numbers)

    def latest(self, rows: int) -> list[Mapping[int, float]]:
        """The numbers of so many rows up to here; none where they are many, and tell by sums."""
        return list(self._kept)[-rows:] if rows <= len(self._kept) else []

    def tally(self, at: int) -> Tally:
        """The numbers of a column, with those that are stored as text; of times their seconds."""
        column = self.columns[at]
        if column.lengths.count and not column.numbers.count:
            return column.lengths
        return column.numbers.merged(column.digits) if column.digits.count else column.numbers

    def sums(self) -> list[float]:
        """The sums of all columns."""
        return [self.sum(at) for at in range(len(self.columns))]

    def sum(self, at: int) -> float:
        """The sum of a column."""
        return self.tally(at).sum + self.extra.get(at, 0)

    def reduced(self, at: int, value: float) -> float:
        """A number in units of what divides it and the extremes of its column."""
        tally = self.tally(at)
        return reduced(value, (tally.least, tally.greatest))

    def lies_among(self, at: int, value: float) -> bool:
        """Whether a number is one as those above, or between them."""
        least, most = self.tally(at).least, self.tally(at).greatest
        return least is not None and most is not None and least <= value <= most

    def named(self) -> list[int]:
        """The columns that every row of data fills with a text or a date."""
        return [
            at
            for at, column in enumerate(self.columns)
            if column.kinds[TEXT] + column.kinds[MARKER] + column.kinds[DATE] >= self.rows > 0
        ]

    def is_bare(self, values: Sequence[Value]) -> bool:
        """Whether it lacks a label that all rows of data have: an id or a year may be one too."""
        if any(kind_of(values[at]) == BLANK for at in self.named()):
            return True
        first = self.rows >= SEVERAL and self.columns[0].kinds[INTEGER] == self.rows
        return first and kind_of(values[0]) == BLANK

    def names_much(self, values: Sequence[Value]) -> bool:
        """Whether it has a date, or as many names as rows of data have."""
        kinds = [kind_of(values[at]) for at in self.named()]
        return DATE in kinds or (len(kinds) > 1 and BLANK not in kinds)

    def is_figure(
        self, numbers: dict[int, float], label: Label, *, bare: bool, closed: bool
    ) -> bool:
        """Whether all are means of the columns; below a total, other figures of them too.

        Max and Mini are also names: what is called so elsewhere is data.
        """
        if self.rows < 2 or not numbers or not (label or closed):  # noqa: PLR2004 - of something
            return False
        means = all(_is_rounded(value, self.tally(at).mean) for at, value in numbers.items())
        if label == "mean" or not closed:
            among = closed and all(self.lies_among(at, v) for at, v in numbers.items())
            return label == "mean" and (means or among)
        if label == "figure":
            return all(
                any(_is_rounded(value, known) for known in (t.mean, t.least, t.greatest, t.count))
                for at, value in numbers.items()
                for t in (self.tally(at),)
            )
        odd = any(value % 1 for value in numbers.values())
        return means and (bare or odd or len(set(numbers.values())) > 1)


def number_of(value: Value) -> float | None:
    """The number of a cell, also of one that is stored as text."""
    kind = kind_of(value)
    if kind == DIGITS:
        plain = parse_digits(str(value)) or "0"
        return float(plain) if "." in plain else int(plain)
    return value if kind in (INTEGER, NUMBER) and isinstance(value, int | float) else None


def length_of(value: Value) -> int | None:
    """The seconds of a time or a length of time."""
    return round(seconds(value)) if isinstance(value, dt.time | dt.timedelta) else None


def _is_rounded(value: float, known: float | None) -> bool:
    """Whether a figure is that one, but for cents that were rounded off."""
    return known is not None and abs(value - known) <= 0.01  # noqa: PLR2004
