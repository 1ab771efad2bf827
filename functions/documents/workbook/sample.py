"""The values of a table that code of a plan may see: all of them, or every nth row.

What is taken depends on the table alone, so that the same workbook gives the same sample.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from documents.workbook.cells import (
    BLANK,
    BOOLEAN,
    DIGITS,
    ERROR,
    INTEGER,
    MARKER,
    NUMBER,
    UNCACHED,
    Value,
    as_text,
    kind_of,
    parse_digits,
)
from documents.workbook.models import NUMERIC, TableFacts

MOST_BYTES: Final = 2 * 1024 * 1024  # half of what the sandbox takes
MOST_ROWS: Final = 20_000
MOST_COLUMNS: Final = 200
TEXT_LENGTH: Final = 200

_NOTHING: Final = frozenset((BLANK, ERROR, UNCACHED))

Plain = str | int | float | bool | None


@dataclass
class Sample:
    """Rows that were kept so far: the first, and every `every`th after it."""

    table: TableFacts
    every: int = 1
    seen: int = 0
    kept: list[list[Plain]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    held: int = 0

    def add(self, values: Sequence[Value]) -> None:
        """Take in one row of data; keep it if it is the next one's turn."""
        if self.seen % self.every == 0:
            columns = self.table.columns[:MOST_COLUMNS]
            row = [_plain(v, c.type) for v, c in zip(values, columns, strict=False)]
            size = len(json.dumps(row))  # ASCII: never less than the bytes of UTF-8
            self.kept.append(row)
            self.sizes.append(size)
            self.held += size
            while self.held > MOST_BYTES or len(self.kept) > MOST_ROWS:
                self._thin()
        self.seen += 1

    def restart(self) -> None:
        """Forget what was taken in: the table is read again."""
        self.every, self.seen, self.held = 1, 0, 0
        self.kept, self.sizes = [], []

    def _thin(self) -> None:
        """Drop every other row: what stays is as evenly spread as before."""
        self.kept, self.sizes = self.kept[::2], self.sizes[::2]
        self.held = sum(self.sizes)
        self.every *= 2

    def encode(self) -> bytes:
        """The JSON that `run(data)` is given: values by column, null where there is none."""
        columns = [
            {"name": facts.name, "type": facts.type, "values": [row[at] for row in self.kept]}
            for at, facts in enumerate(self.table.columns[:MOST_COLUMNS])
        ]
        document = {
            "sheet": self.table.sheet,
            "rows": self.seen,
            "every": self.every,
            "hidden_columns": max(0, len(self.table.columns) - MOST_COLUMNS),
            "columns": columns,
        }
        return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()


def _plain(value: Value, column: str) -> Plain:
    """A cell as JSON: numbers as such, dates and times by ISO 8601, texts cut short."""
    kind = kind_of(value)
    if kind in _NOTHING or (kind == MARKER and column not in ("text", "mixed")):
        return None
    if isinstance(value, int | float) and kind in (INTEGER, NUMBER):
        return int(value) if kind == INTEGER else value
    if kind == BOOLEAN:
        return value is True
    text = as_text(value)
    if kind == DIGITS and column in NUMERIC:
        plain = parse_digits(text) or "0"
        return float(plain) if "." in plain else int(plain)
    return text[:TEXT_LENGTH]
