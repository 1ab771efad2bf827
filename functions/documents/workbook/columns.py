"""The figures of one column, gathered row by row in constant memory.

Sums are exact: every stored number is added in decimal notation as it is written in the workbook,
so that 0.1 + 0.2 is 0.3, and whole numbers stay whole. Only the final sum and mean are rounded,
once, to the nearest double.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Final

from documents.workbook.cells import (
    BLANK,
    BOOLEAN,
    DATE,
    DIGITS,
    ERROR,
    INTEGER,
    LONG,
    MARKER,
    NUMBER,
    TEXT,
    TIME,
    UNCACHED,
    Value,
    as_text,
    identity,
    kind_of,
    parse_digits,
)
from documents.workbook.models import NUMERIC, ColumnReport, ColumnType
from documents.workbook.shape import column_type

# Doubles reach from 1e-324 to 1e308; 64 digits hold any sum of columns that people keep, and a
# column that mixes wider extremes is still right to far more digits than a double has.
EXACT: Final = Context(prec=64)
MAX_DISTINCT: Final = 1_000
MAX_WORDS: Final = 300_000  # that the columns of a table are kept apart by, all together
# A column is summed although it holds other values too, if nine out of ten are numbers.
MOSTLY: Final = 0.9


def distinct_words(columns: int) -> int:
    """How many different texts each of so many columns counts."""
    return max(10, min(MAX_DISTINCT, MAX_WORDS // max(1, columns)))


@dataclass(slots=True)
class Tally:
    """Sum, least and greatest of some numbers."""

    count: int = 0
    whole: int = 0  # the sum of whole numbers, kept apart because integers add up faster
    total: Decimal = Decimal(0)
    least: int | float | None = None
    greatest: int | float | None = None
    fractional: bool = False

    def add(self, value: float) -> None:
        """Take in one finite number."""
        self.count += 1
        if isinstance(value, int):
            self.whole += value
        else:
            self.fractional = True
            self.total = EXACT.add(self.total, Decimal(repr(value)))
        if self.least is None or value < self.least:
            self.least = value
        if self.greatest is None or value > self.greatest:
            self.greatest = value

    def merged(self, other: Tally) -> Tally:
        """The tally of both."""
        sides = [side for side in (self, other) if side.count]
        return Tally(
            self.count + other.count,
            self.whole + other.whole,
            EXACT.add(self.total, other.total),
            min((side.least for side in sides if side.least is not None), default=None),
            max((side.greatest for side in sides if side.greatest is not None), default=None),
            self.fractional or other.fractional,
        )

    @property
    def sum(self) -> int | float:
        """An integer if all numbers were; otherwise the nearest double."""
        return float(self._exact) if self.fractional else self.whole

    @property
    def mean(self) -> float | None:
        """The nearest double to the exact mean."""
        return float(EXACT.divide(self._exact, Decimal(self.count))) if self.count else None

    @property
    def _exact(self) -> Decimal:
        return EXACT.add(self.total, Decimal(self.whole))


@dataclass
class Column:
    """What is known of a column after the rows so far."""

    name: str
    most_words: int = MAX_DISTINCT
    kinds: Counter[str] = field(default_factory=Counter)
    numbers: Tally = field(default_factory=Tally)
    digits: Tally = field(default_factory=Tally)
    lengths: Tally = field(default_factory=Tally)  # of times, in whole seconds
    earliest: dt.datetime | None = None
    latest: dt.datetime | None = None
    shortest: dt.time | dt.timedelta | None = None
    longest: dt.time | dt.timedelta | None = None
    words: Counter[str] = field(default_factory=Counter)
    trues: int = 0
    example: str = ""  # the first text, to show why a column is mixed

    def add(self, value: Value) -> str:
        """Take in the cell of one more row; return its kind."""
        kind = kind_of(value)
        self.kinds[kind] += 1
        if kind in (INTEGER, NUMBER):
            self.numbers.add(int(value) if kind == INTEGER else value)  # type: ignore[arg-type]
        elif kind == DATE:
            self._add_date(value)
        elif kind == TIME:
            self._add_time(value)
        elif kind in (TEXT, MARKER, DIGITS):
            self._add_text(str(value), kind)
        elif value is True:
            self.trues += 1
        return kind

    def _add_date(self, value: Value) -> None:
        if not isinstance(value, dt.datetime):
            if not isinstance(value, dt.date):
                return
            value = dt.datetime.combine(value, dt.time())
        self.earliest = value if self.earliest is None else min(self.earliest, value)
        self.latest = value if self.latest is None else max(self.latest, value)

    def _add_time(self, value: Value) -> None:
        if not isinstance(value, dt.time | dt.timedelta):
            return
        self.lengths.add(round(seconds(value)))
        self.shortest = value if self.shortest is None else min(self.shortest, value, key=seconds)
        self.longest = value if self.longest is None else max(self.longest, value, key=seconds)

    def _add_text(self, stored: str, kind: str) -> None:
        word = identity(stored) if len(stored) > LONG else as_text(stored)
        if kind == DIGITS:
            plain = parse_digits(word) or "0"
            self.digits.add(float(plain) if "." in plain else int(plain))
        elif kind == TEXT and not self.example:
            self.example = as_text(stored)
        if word in self.words or len(self.words) < self.most_words:
            self.words[word] += 1

    def report(self, rows: int, *, percent: bool) -> tuple[ColumnReport, list[str]]:
        """The column's figures over `rows` rows of data, and what must be said about them."""
        kind = self.type
        report = ColumnReport(name=self.name, type=kind, missing=rows - self._present(kind))
        if percent and kind in NUMERIC:
            report.display = "percent"
        tally = self._summed(kind)
        if tally and not self.kinds[UNCACHED]:
            report.sum, report.mean = tally.sum if _is_held(tally.sum) else None, tally.mean
            report.min, report.max = tally.least, tally.greatest
        elif kind == "date" and self.earliest and self.latest:
            report.min, report.max = as_text(self.earliest), as_text(self.latest)
        elif kind == "time":
            report.min, report.max = as_text(self.shortest), as_text(self.longest)
        report.detail = self._detail(kind)
        return report, self._notes(kind, tally)

    @property
    def type(self) -> ColumnType:
        """The type, with whole numbers stored as text being whole numbers."""
        kind = column_type(self.kinds)
        whole = not self.kinds[NUMBER] and not self.digits.fractional
        return "integer" if kind == "number" and whole else kind

    def _present(self, kind: ColumnType) -> int:
        """Cells with a usable value: no errors, and no markers where values are typed."""
        unusable = {BLANK, ERROR, UNCACHED}
        if kind not in ("text", "mixed"):
            unusable.add(MARKER)
        return sum(count for name, count in self.kinds.items() if name not in unusable)

    def _summed(self, kind: ColumnType) -> Tally | None:
        """The numbers that the sum covers; None where there is nothing to add up."""
        if kind in NUMERIC:
            return self.numbers.merged(self.digits)
        if kind == "mixed" and self.numbers.count >= MOSTLY * self._present(kind):
            return self.numbers
        return None

    def _detail(self, kind: ColumnType) -> str:
        if kind == "boolean":
            return f"{self.trues:,} true, {self.kinds[BOOLEAN] - self.trues:,} false"
        if kind not in ("text", "mixed") or not self.words:
            return ""
        if len(self.words) == self.most_words:
            return f"{self.most_words:,} or more different texts"
        word, times = self.words.most_common(1)[0]
        if times == 1:
            return _count(len(self.words), "different text")
        return f"{len(self.words):,} different; most often “{word[:40]}” ({times:,}×)"

    def _notes(self, kind: ColumnType, tally: Tally | None) -> list[str]:
        notes = []
        if count := self.kinds[UNCACHED]:
            notes.append(
                f"{_hold(count)} a formula whose result is not stored in the file, so there is no "
                "sum. Open the workbook in Excel, save it, and run the report again."
            )
        if count := self.kinds[ERROR]:
            notes.append(f"{_hold(count)} an error value; counted as missing.")
        if (count := self.kinds[MARKER]) and kind not in ("text", "mixed"):
            marks = " or ".join(f"“{word}”" for word in self.words if kind_of(word) == MARKER)
            notes.append(f"{_hold(count)} {marks}; counted as missing.")
        if (count := self.kinds[DIGITS]) and kind in NUMERIC:
            notes.append(f"{_hold(count)} a number stored as text; read as a number.")
        if tally and not _is_held(tally.sum):
            notes.append("has a sum that is larger than a number can be.")
        if kind == "mixed":
            notes.append(self._mixture(tally))
        return notes

    def _mixture(self, tally: Tally | None) -> str:
        words = sum(self.kinds[kind] for kind in (TEXT, DIGITS, MARKER))
        parts = [
            _count(self.numbers.count, "number"),
            _count(self.kinds[DATE], "date"),
            _count(self.kinds[TIME], "time"),
            _count(self.kinds[BOOLEAN], "truth value"),
            _count(words, "text"),
        ]
        example = f" such as “{self.example[:40]}”" if self.example else ""
        end = "; the figures cover the numbers only" if tally else "; not summed"
        return f"holds {', '.join(part for part in parts if part)}{example}{end}."


def _is_held(number: float) -> bool:
    return abs(number) < math.inf


def seconds(value: dt.time | dt.timedelta) -> float:
    """How long a duration is, or how far into the day a time is."""
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    whole = value.hour * 3600 + value.minute * 60 + value.second
    return whole + value.microsecond / 1_000_000


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + "s" * (number != 1) if number else ""


def _hold(count: int) -> str:
    return f"{count:,} cell holds" if count == 1 else f"{count:,} cells hold"
