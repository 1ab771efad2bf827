"""Gathering the points of a table's chart while its rows go by."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from documents.workbook.cells import BLANK, INTEGER, NUMBER, Value, as_text, identity, kind_of
from documents.workbook.columns import Tally
from documents.workbook.models import ChartData, ChartPlan, ChartPoint, Job

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
MAX_DATES: Final = 31
MIN_MONTHS: Final = 4
MAX_LABELS: Final = 5_000
MAX_LINE: Final = 200_000
MAX_BARS: Final = 15
MAX_POINTS: Final = 160
MAX_BINS: Final = 20
MAX_VALUES: Final = 2_000_000
LABEL_LENGTH: Final = 60

# Doubles reach from 5e-324 to 1.8e308; round limits around values near either end would not.
LARGEST: Final = 1e300
SMALLEST: Final = 1e-300
DIGITS: Final = 15


@dataclass
class ChartSeries:
    """The values of one chart; `groups` by label, or `values` for a histogram."""

    plan: ChartPlan
    value_name: str
    label_name: str
    groups: dict[str, Tally] = field(default_factory=dict)
    values: array[float] = field(default_factory=lambda: array("d"))
    overflow: bool = False
    beyond: int = 0

    @classmethod
    def of(cls, job: Job) -> ChartSeries | None:
        """The series of a job, or None if it has no chart."""
        if job.chart is None:
            return None
        names = [column.name for column in job.table.columns]
        label = "" if job.chart.label is None else names[job.chart.label]
        return cls(job.chart, names[job.chart.value], label)

    def add(self, values: Sequence[Value]) -> None:
        """Take in one row; rows without a number are not in the chart."""
        value = values[self.plan.value]
        kind = kind_of(value)
        if kind not in (INTEGER, NUMBER) or not isinstance(value, int | float):
            return
        if self.plan.label is None:
            self._add_value(value)
            return
        label = values[self.plan.label]
        if kind_of(label) == BLANK:
            return
        text = identity(as_text(label))
        if text not in self.groups:
            if len(self.groups) >= (MAX_LABELS if self.plan.kind == "bars" else MAX_LINE):
                self.overflow = True
                return
            self.groups[text] = Tally()
        self.groups[text].add(int(value) if kind == INTEGER else value)

    def _add_value(self, value: float) -> None:
        self.overflow = len(self.values) >= MAX_VALUES
        if abs(value) > LARGEST:
            self.beyond += 1
        elif not self.overflow:
            self.values.append(value)

    def data(self, percents: Sequence[bool]) -> ChartData | None:
        """The finished chart; None when there is nothing to draw or too much to draw truly.

        A value too large to be drawn to scale is left out, which the caption says.
        """
        if self.overflow:
            return None
        if self.plan.kind == "histogram":
            drawn = _has_scale(self.values)
            return self._histogram(percent=percents[self.plan.value]) if drawn else None
        if self.plan.kind == "line":
            self._gather_months()
        combined = [(label, self._combined(tally)) for label, tally in self.groups.items()]
        points = [point for point in combined if abs(point[1]) <= LARGEST]
        self.beyond = len(combined) - len(points)
        if not _has_scale([value for _, value in points]):
            return None
        shown = _largest(points) if self.plan.kind == "bars" else _thinned(_in_order(points))
        return ChartData(
            kind=self.plan.kind,
            caption=self._caption(len(points), len(shown)),
            value_name=self.value_name,
            label_name=self.label_name,
            percent=percents[self.plan.value],
            points=[ChartPoint(label=_short(label), value=value) for label, value in shown],
        )

    def _gather_months(self) -> None:
        """Many dates over a long time are gathered into months, which show more."""
        dates = [label for label in self.groups if _DATE.match(label)]
        months = {label[:7] for label in dates}
        if len(dates) < len(self.groups) or len(dates) <= MAX_DATES or len(months) < MIN_MONTHS:
            return
        gathered: dict[str, Tally] = {}
        for label, tally in self.groups.items():
            gathered[label[:7]] = gathered.get(label[:7], Tally()).merged(tally)
        self.groups = gathered
        self.label_name = f"{self.label_name} (months)"

    def _combined(self, tally: Tally) -> int | float:
        """One value a label; a single one stays as it is."""
        if self.plan.combine == "mean" and tally.count > 1:
            return tally.mean or 0
        return tally.sum

    def _caption(self, total: int, shown: int) -> str:
        several = any(tally.count > 1 for tally in self.groups.values())
        how = {"sum": "Sum of ", "mean": "Mean "}[self.plan.combine] if several else ""
        caption = f"{how}{self.value_name} by {self.label_name}{self._left_out()}"
        if shown == total:
            return caption
        if self.plan.kind == "bars":
            return f"{caption}: the {shown} largest of {total:,}"
        return f"{caption}: each point is the mean of up to {math.ceil(total / shown)} values"

    def _left_out(self) -> str:
        if not self.beyond:
            return ""
        values = "value" if self.beyond == 1 else "values"
        return f", without {self.beyond:,} {values} too large to be drawn"

    def _histogram(self, *, percent: bool) -> ChartData:
        """Count values in equal intervals with round limits, each without its upper one."""
        low, high = min(self.values), max(self.values)
        step = max(
            _round_step((high - low) / min(MAX_BINS, max(1, math.isqrt(len(self.values))))),
            # Limits that are closer to each other would have the same label.
            _round_step(max(-low, high) * 100 / 10**DIGITS),
        )
        first = _floor(low / step)
        counts = [0] * (_floor(high / step) - first + 1)
        for value in self.values:
            counts[_floor(value / step) - first] += 1
        digits = max(0, 1 - math.floor(math.log10(step)))  # one more for steps of 2.5
        points = [
            ChartPoint(label=f"{round((first + at) * step, digits):.{DIGITS}g}", value=count)
            for at, count in enumerate([*counts, 0])  # the end of the axis
        ]
        return ChartData(
            kind="histogram",
            caption=f"How often values of {self.value_name} occur, in intervals of {step:g}"
            + self._left_out(),
            value_name="Rows",
            label_name=self.value_name,
            percent=percent,
            points=points,
        )


def _has_scale(values: Sequence[float]) -> bool:
    """Whether there are values, all zero or far enough from it for an axis with round limits."""
    return bool(values) and not 0 < max(map(abs, values)) < SMALLEST


def _floor(quotient: float) -> int:
    """Rounded down; 0.3 / 0.1 counts as 3, although it is a little less in binary."""
    return math.floor(quotient + 1e-9)


def _round_step(width: float) -> float:
    """The least of 1, 2, 2.5, 5 × 10ⁿ that is not below `width`; 1 when all values are equal."""
    if width <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    return next(
        (power * factor for factor in (1, 2, 2.5, 5) if power * factor >= width), power * 10
    )


def _largest(points: list[tuple[str, int | float]]) -> list[tuple[str, int | float]]:
    return sorted(points, key=lambda point: -point[1])[:MAX_BARS]


def _in_order(points: list[tuple[str, int | float]]) -> list[tuple[str, int | float]]:
    """Along the labels: numbers by size, ISO dates by time."""
    try:
        return sorted(points, key=lambda point: float(point[0]))
    except ValueError:
        return sorted(points)


def _thinned(points: list[tuple[str, int | float]]) -> list[tuple[str, int | float]]:
    """At most `MAX_POINTS` points, each the mean of as many neighbours as that takes."""
    size = math.ceil(len(points) / MAX_POINTS)
    if size == 1:
        return points
    groups = [points[at : at + size] for at in range(0, len(points), size)]
    return [(group[0][0], math.fsum(value for _, value in group) / len(group)) for group in groups]


def _short(label: str) -> str:
    return label if len(label) <= LABEL_LENGTH else f"{label[: LABEL_LENGTH - 1]}…"
