"""Telling rows of totals from rows of data while a table goes by: adding them up doubles sums.

A row whose numbers are the sums of rows above it, since the beginning of the table or of a group,
is a total whatever it is called. Where neither its name nor a formula nor a missing label says so,
it is held back until the rest of the table has confirmed or refuted it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Final, NamedTuple

from documents.workbook.cells import NOT_CALCULATED, Value
from documents.workbook.columns import Column
from documents.workbook.formulas import Above
from documents.workbook.held import (
    GOOD,
    LEAST,
    MOST_BY_CHANCE,
    Held,
    Match,
    confirmed_at_end,
)
from documents.workbook.rates import derived, is_whole
from documents.workbook.rows_above import RowsAbove, length_of, number_of
from documents.workbook.totals import Label, evidence, is_close, label_of

MAX_GROUPS: Final = 64  # beginnings of groups that a total may reach back to
MAX_HELD: Final = 64
PROBED: Final = 3  # numbers of a row that are looked at to see whether it may be a total


class Group(NamedTuple):
    """Where a group may begin: the sums of the columns before it, and how many rows."""

    sums: list[float]
    rows: int


@dataclass
class Decision:
    """The rows that are no data, and those that were counted although they may be none."""

    totals: list[int] = field(default_factory=list)
    figures: list[int] = field(default_factory=list)
    doubtful: list[int] = field(default_factory=list)
    misnamed: list[int] = field(default_factory=list)


@dataclass
class Totals:
    """Judges the rows of one table in their order; `columns` hold what was taken for data."""

    columns: InitVar[Sequence[Column]]
    found: Decision = field(default_factory=Decision)
    late: bool = False  # whether a row that was taken, or not, turned out to be the other
    _above: RowsAbove = field(init=False)
    _groups: list[Group] = field(default_factory=list)
    _held: list[Held] = field(default_factory=list)
    _first: Held | None = None
    _closed: bool = False  # whether the row before was a total
    _trusted: bool = False
    _bare: bool = False  # whether a total lacks a label that all rows of data have

    def __post_init__(self, columns: Sequence[Column]) -> None:
        self._above = RowsAbove(columns)
        self._groups.append(Group([0] * len(columns), 0))

    def leaves_out(self, number: int, values: Sequence[Value], above: Mapping[int, Above]) -> bool:
        """Whether a row is no data, or held back because it may be none."""
        numbers = {at: v for at, value in enumerate(values) if (v := number_of(value)) is not None}
        if self._by_formula(number, values, numbers, above):
            return True
        label = label_of(values)
        if label:  # times of day add up by chance as often as not
            numbers |= {at: n for at, v in enumerate(values) if (n := length_of(v)) is not None}
        bare = self._above.is_bare(values)
        if self._above.is_figure(numbers, label, bare=bare, closed=self._closed):
            self.found.figures.append(number)
            return True
        if numbers and (label or self._may_match(numbers)):
            match = self._match(numbers, label)
            if match and self._accepts(match, label, values):
                self._close(number, match)
                self._bare = self._bare or bare
                return True
            if self._refutes_held(numbers, label):
                self._close(number, Match(0, self._above.rows, [], [], whole=True))
                return True
            if match and (match.rows > 1 or (bare and match.whole)):
                self._hold(number, numbers, match, values)
                return True
            if label == "total":
                self.found.misnamed.append(number)
        self._take(number, numbers)
        return False

    def settle(self) -> Decision:
        """What is known at the end of the table."""
        found = self.found
        if self._held:
            start = self._groups[self._held[-1].match.since].rows
            confirmed = confirmed_at_end(self._held, self._above.rows, start)
            if self._bare:
                confirmed += [h for h in self._held if h.match.rows == 1 and h not in confirmed]
            found.totals += [held.number for held in confirmed]
            rest = [held for held in self._held if held not in confirmed]
            self.late = self.late or bool(rest)
            found.doubtful += [held.number for held in rest if held.bits >= LEAST]
        if self._first and not found.totals and self._heads(self._first):
            self.late = True
            found.totals.append(self._first.number)
            found.misnamed = [number for number in found.misnamed if number != self._first.number]
        for rows in (found.totals, found.figures, found.doubtful, found.misnamed):
            rows.sort()
        return found

    def _take(self, number: int, numbers: dict[int, float]) -> None:
        if not self._above.rows:
            figures = list(numbers.values())
            whole = Match(0, 0, figures, figures, whole=True)
            self._first = Held(number, numbers, 0, whole, against=False, bare=False)
        self._above.take(numbers)
        self._closed = False

    def _may_match(self, numbers: dict[int, float]) -> bool:
        probes = [(at, value) for at, value in numbers.items() if value][:PROBED]
        for at, value in probes:
            total = self._above.sum(at)
            if any(is_close(value, total - group.sums[at]) for group in self._groups):
                return True
        held = self._held and any(numbers.values())
        return bool(held) and self._is_raw_sum(numbers, "")

    def _match(self, numbers: dict[int, float], label: Label) -> Match | None:
        """The shortest run of rows up to here that these are the sums of.

        At least half of the numbers must be, one of them other than zero; the others must lie
        among those above, as means and shares do. Of a row that is called a total either will do.
        """
        runs = range(len(self._groups) - 1, -1, -1)
        ways = (False, True) if label == "total" else (False,)
        found = (self._run(numbers, since, label, loose=loose) for loose in ways for since in runs)
        return next((match for match in found if match), None)

    def _run(
        self, numbers: dict[int, float], since: int, label: Label, *, loose: bool
    ) -> Match | None:
        above, group = self._above, self._groups[since]
        rows = above.rows - group.rows
        if rows < 1:
            return None
        around = rows if label == "total" else 0
        known = {at: above.sum(at) - group.sums[at] for at in numbers if above.tally(at).count}
        sums = [at for at in known if is_close(numbers[at], known[at], rows=around)]
        held = [numbers[at] for at in sums]
        shares = [at for at in known if at not in sums and is_whole(numbers[at], known[at], rows)]
        rest = [at for at in numbers if at not in sums and at not in shares]
        half = (len(sums) + len(shares)) * 2 >= len(numbers)
        among = all(above.lies_among(at, numbers[at]) for at in rest)
        fits = half or among if loose else half and among
        if not any(held) or not fits or (loose and evidence(held) < LEAST):
            return None
        units = [above.reduced(at, numbers[at]) for at in sums]
        latest = above.latest(rows)
        more = derived(latest, numbers, sums) if latest else 0.0
        return Match(since, rows, held, units, whole=not rest and not shares, derived=more)

    def _accepts(self, match: Match, label: Label, values: Sequence[Value]) -> bool:
        if label == "total":
            return match.rows > 1 or len(self._groups) > 1 or bool(self._held)
        if label or match.rows < 2:  # noqa: PLR2004 - a sum of something
            return False
        if self._above.is_bare(values):
            least = 2.0 if match.whole else GOOD
            return evidence(match.sums) >= least
        return self._trusted and match.whole

    def _by_formula(
        self,
        number: int,
        values: Sequence[Value],
        numbers: dict[int, float],
        above: Mapping[int, Above],
    ) -> bool:
        """A row of formulas over the cells above them, half of the numbers at least."""
        sums = [at for at, what in above.items() if what == "sum"]
        cells = {*numbers, *(at for at, value in enumerate(values) if value is NOT_CALCULATED)}
        if not above or not self._above.rows:
            return False
        if not sums:
            if cells <= above.keys():
                self.found.figures.append(number)
            return cells <= above.keys()
        rest = [at for at in cells if at not in above and at in numbers]
        among = all(self._above.lies_among(at, numbers[at]) for at in rest)
        if len(sums) * 2 < len(cells) or not among:
            return False
        self._close(number, self._match(numbers, "total"))
        return True

    def _close(self, number: int, match: Match | None) -> None:
        """A total ends its group, and confirms the totals that were held back within it."""
        self.found.totals.append(number)
        if match and self._held:
            start = self._groups[match.since].rows
            self.found.totals += [held.number for held in self._held if held.at > start]
            self._held = [held for held in self._held if held.at <= start]
        since = len(self._groups) - 1 if match is None else match.since
        del self._groups[since + 1 :]
        self._begin_group()
        self._closed = True

    def _begin_group(self) -> None:
        if len(self._groups) == MAX_GROUPS:
            del self._groups[1]
        self._groups.append(Group(self._above.sums(), self._above.rows))

    def _hold(
        self, number: int, numbers: dict[int, float], match: Match, values: Sequence[Value]
    ) -> None:
        against, bare = self._above.names_much(values), not self._above.named()
        at = self._above.rows
        self._held.append(Held(number, numbers, at, match, against=against, bare=bare))
        self._begin_group()
        if len(self._held) >= MAX_HELD:
            told = sum(held.bits for held in self._held if held.match.rows > 1)
            if told >= MAX_HELD * LEAST:
                self._trusted = True
                self.found.totals += [held.number for held in self._held]
                self._held = []
            else:
                self.found.doubtful += [held.number for held in self._held if held.bits >= LEAST]
                self._release()

    def _release(self) -> None:
        """What was held back is data after all: later sums cover it."""
        self.late = True
        for held in self._held:
            for at, value in held.values.items():
                self._above.extra[at] = self._above.extra.get(at, 0) + value
        self._above.rows += len(self._held)
        self._held = []
        del self._groups[1:]

    def _is_raw_sum(self, numbers: dict[int, float], label: Label) -> bool:
        around = self._above.rows if label == "total" else 0
        return all(
            is_close(
                value,
                self._above.sum(at) + sum(held.values.get(at, 0) for held in self._held),
                rows=around,
            )
            for at, value in numbers.items()
        )

    def _refutes_held(self, numbers: dict[int, float], label: Label) -> bool:
        """Whether a row is the sum of all rows above with those that were held back."""
        if not self._held or not any(numbers.values()) or not self._is_raw_sum(numbers, label):
            return False
        if label != "total" and evidence(numbers.values()) < LEAST:
            return False
        self._release()
        return True

    def _heads(self, first: Held) -> bool:
        """Whether the first row holds the sums of all others."""
        if self._above.rows <= MOST_BY_CHANCE + 1 or not any(first.values.values()):
            return False
        sums = all(is_close(v, self._above.sum(at) - v) for at, v in first.values.items())
        return sums and (first.number in self.found.misnamed or first.is_long(GOOD))
