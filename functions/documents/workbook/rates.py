"""What numbers of a total that are no sums say for it: shares, and rates over the rows above.

Shares, prices and growth do not add up, but a total's follow from the others by a rule that no row
of data keeps: its rate is the mean of the rows weighted by a column that does add up, and every
row's share is its part of such a column.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import islice, pairwise
from typing import Final

from documents.workbook.totals import last_place

WHOLES: Final = (1, 100)  # what shares add up to
MAX_BITS: Final = 20.0  # that one column can say
MAX_BASES: Final = 8  # columns of sums that others are compared with
MAX_RATES: Final = 64
FINEST: Final = 1e-9

Numbers = Mapping[int, float]


def is_whole(value: float, total: float, rows: int) -> bool:
    """Whether a number is 100 % and so many shares add up to it, but for their rounding."""
    return value in WHOLES and abs(value - total) <= value * rows * 0.005


def derived(rows: Sequence[Numbers], numbers: Numbers, sums: Collection[int]) -> float:
    """How many bits of evidence `numbers` hold beside the sums of rows in the columns `sums`."""
    some = islice(sums, MAX_BASES)
    bases = [by for by in some if numbers[by] > 0 and all(row.get(by, 0) >= 0 for row in rows)]
    return sum(
        max((_bits(rows, numbers, at, by) for by in bases if by != at), default=0.0)
        for at in islice(numbers, MAX_RATES)
        if all(at in row for row in rows)
    )


def _bits(rows: Sequence[Numbers], numbers: Numbers, at: int, by: int) -> float:
    value = numbers[at]
    shares, parts = [row[at] for row in rows], [row.get(by, 0) for row in rows]
    unit = _unit([value, *shares])
    if value in WHOLES:
        expected = [part / numbers[by] * value for part in parts]
        return _told(value, unit) if _agree(shares, expected, unit) and _differ(parts) else 0.0
    mean = sum(a * b for a, b in zip(shares, parts, strict=True)) / numbers[by]
    spread = max(shares) - min(shares)
    return _told(spread, unit) if _agree([value], [mean], unit) else 0.0


def _agree(stored: Sequence[float], expected: Sequence[float], unit: float) -> bool:
    """Whether numbers are those, as they are rounded."""
    return all(abs(a - b) <= unit * 0.501 for a, b in zip(stored, expected, strict=True))


def _differ(parts: Sequence[float]) -> bool:
    """Whether they are no steps of one length: 1, 2 and 3 of 3 are often a third, two and all."""
    steps = {round(after - before, 9) for before, after in pairwise([0, *parts])}
    return len(steps) > 1


def _unit(numbers: Sequence[float]) -> float:
    """The last decimal place that any of them has, and that arithmetic leaves of it."""
    return max(FINEST, float(min(map(last_place, numbers))))


def _told(spread: float, unit: float) -> float:
    """The evidence of a number that might have been any other one in a range."""
    return min(MAX_BITS, math.log2(1 + spread / unit))
