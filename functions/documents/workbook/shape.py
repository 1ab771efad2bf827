"""What kind of values each column of a block mostly holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from documents.workbook.cells import (
    BLANK,
    BOOLEAN,
    DATE,
    DIGITS,
    INTEGER,
    MARKER,
    NUMBER,
    TEXT,
    TIME,
)
from documents.workbook.models import ColumnType

_CLASS: Final = {
    INTEGER: NUMBER,
    NUMBER: NUMBER,
    DIGITS: NUMBER,
    DATE: DATE,
    TIME: TIME,
    BOOLEAN: BOOLEAN,
}


@dataclass(frozen=True)
class ColumnShapes:
    """The class of each column (number, date, time, boolean), or "" where it is text or blank."""

    classes: tuple[str, ...]

    @classmethod
    def of(cls, words: Iterable[str]) -> ColumnShapes:
        """Judge by the whole block, with its headers and remarks: so typed values weigh double."""
        counted = Counter(words)
        columns = zip_longest(*counted, fillvalue=BLANK)
        times = list(counted.values())
        counts = (_count(column, times) for column in columns)
        return cls(tuple(_class_of(count) for count in counts))

    @property
    def typed(self) -> list[int]:
        """The columns that are not text."""
        return [at for at, name in enumerate(self.classes) if name]

    def conforms(self, at: int, kind: str) -> bool:
        """Whether a cell is of its column's class; text conforms to nothing."""
        return bool(self.classes[at]) and _CLASS.get(kind) == self.classes[at]

    def conforming(self, word: str) -> int:
        """How many cells of a row are of their column's class."""
        return sum(self.conforms(at, kind) for at, kind in enumerate(word))


def _count(kinds: Sequence[str], times: Sequence[int]) -> Counter[str]:
    """How many rows have each kind in one column, of rows that occur so many times."""
    count: Counter[str] = Counter()
    for kind, number in zip(kinds, times, strict=True):
        count[kind] += number
    return count


def _class_of(count: Counter[str]) -> str:
    totals: Counter[str] = Counter()
    for kind, times in count.items():
        if kind in _CLASS:
            totals[_CLASS[kind]] += times
    if not totals:
        return ""
    name, times = totals.most_common(1)[0]
    return name if times * 2 >= count[TEXT] else ""


def column_type(count: Counter[str]) -> ColumnType:
    """The type of a column with so many cells of each kind.

    Markers, errors and formulas without a result say nothing about the type; numbers stored as text
    count as numbers as long as the column holds no other text.
    """
    words = count[TEXT] + (count[MARKER] if not any(count[kind] for kind in _CLASS) else 0)
    classes = {_CLASS[kind] for kind in _CLASS if count[kind]}
    if words:
        return "text" if classes <= {NUMBER} and not count[INTEGER] + count[NUMBER] else "mixed"
    if classes == {NUMBER}:
        return "integer" if not count[NUMBER] + count[DIGITS] else "number"
    if len(classes) > 1:
        return "mixed"
    return _TYPES[classes.pop()] if classes else "empty"


_TYPES: Final[dict[str, ColumnType]] = {DATE: "date", TIME: "time", BOOLEAN: "boolean"}
