"""Telling a row of totals from a row of data: adding it up too would double every sum."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from workflows.excel_report.cells import Value
from workflows.excel_report.columns import Column

_LABEL: Final = re.compile(
    r"(?:grand |overall |sub)?total(?:e?s?)\b|sum\b|gesamt|summe|итого|всего|合計|总计|合计",
    re.IGNORECASE,
)


def is_total_row(values: Sequence[Value], columns: Sequence[Column], rows: int) -> bool:
    """Whether a row calls itself a total and holds the sums of the rows above.

    At least half of its numbers must be sums (the others may be means or shares), one of them other
    than zero. A row that only calls itself so (a town named Total) stays data.
    """
    if rows < 2 or not any(_is_label(value) for value in values):  # noqa: PLR2004 - sums of something
        return False
    numbers = [
        (value, column.numbers)
        for value, column in zip(values, columns, strict=True)
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    sums = [
        value
        for value, above in numbers
        if above.count and math.isclose(value, above.sum, rel_tol=1e-9, abs_tol=0.005)
    ]
    return any(sums) and len(sums) * 2 >= len(numbers)


def _is_label(value: Value) -> bool:
    return isinstance(value, str) and _LABEL.match(value.strip()) is not None
