"""Rows that may be totals: what is known of them, and when it is enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from documents.workbook.totals import evidence

MOST_BY_CHANCE: Final = 2  # rows of which a third one is often the sum

# Bits of evidence, by the length of the numbers: see `evidence`.
LEAST: Final = 4.0  # for the last row, over three rows or more
FAIR: Final = 8.0  # for groups that each end in their sum
CLEAR: Final = 3.0  # for each of them: shorter numbers are often sums
GOOD: Final = 10.0  # over two rows, or where some numbers are no sums
STRONG: Final = 14.0  # for a row that names as much as a row of data
CERTAIN: Final = 20.0  # for a row among others


@dataclass(frozen=True)
class Match:
    """A row that holds sums of the rows since a group's beginning: `since` counts rows.

    `derived`: the bits of evidence that its numbers which are no sums hold.
    """

    since: int
    rows: int
    sums: list[float]
    reduced: list[float]
    whole: bool
    derived: float = 0.0


@dataclass(frozen=True)
class Held:
    """A row that is a total by its numbers only, with `at` rows of data above it.

    `against`: it names as much as a row of data. `bare`: no row of the table has a name.
    """

    number: int
    values: dict[int, float]
    at: int
    match: Match
    against: bool
    bare: bool

    @property
    def bits(self) -> float:
        """What speaks against chance."""
        return evidence(self.match.sums)

    def is_long(self, least: float) -> bool:
        """Whether the numbers are long enough in units of what divides them all."""
        return evidence(self.match.reduced) >= least

    @property
    def is_enough(self) -> bool:
        """Whether a table's last row is a total by this alone."""
        if self.against:
            return self.is_long(STRONG)
        if self.match.derived and self.bits + self.match.derived >= GOOD:
            return True
        if self.match.rows <= MOST_BY_CHANCE or self.bare:
            return self.is_long(GOOD)
        return self.bits >= (LEAST if self.match.whole else GOOD)


def confirmed_at_end(held: Sequence[Held], rows: int, start: int) -> list[Held]:
    """The held rows of a table of so many rows of data that are totals.

    The last one confirms those among the rows that it covers, which begin behind row `start`.
    """
    last = held[-1]
    is_last = last.at == rows
    sums = any(row.match.rows > 1 for row in held)
    several = is_last and len(held) > 1 and sums and not last.against
    if several and sum(row.bits for row in held) >= FAIR and min(r.bits for r in held) >= CLEAR:
        return list(held)
    covers = is_last and last.is_enough
    return [row for row in held if row.is_long(CERTAIN) or (covers and row.at > start)]
