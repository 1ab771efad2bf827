"""One table's figures, preview and chart, in a single pass over its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from onward.sdk import InvalidInput

from documents.page.figures import figure
from documents.workbook.cells import BLANK, INTEGER, NUMBER, Value, as_text, kind_of
from documents.workbook.columns import Column, distinct_words
from documents.workbook.formulas import Above
from documents.workbook.groups import Decision, Totals
from documents.workbook.models import Job, TableFacts, TableReport
from documents.workbook.sample import Sample
from documents.workbook.series import ChartSeries
from documents.workbook.workbook import ROWS_PER_TICK, Workbook

PREVIEW_COLUMNS: Final = 40
PREVIEW_LENGTH: Final = 80
NAMES_SHOWN: Final = 3
ROWS_SHOWN: Final = 10


@dataclass
class Reading:
    """What has been gathered of one table so far."""

    job: Job
    columns: list[Column]
    series: ChartSeries | None
    percents: list[bool | None]
    sample: Sample | None = None
    preview: list[list[str]] = field(default_factory=list)
    rows: int = 0
    left_out: int = 0

    @classmethod
    def of(cls, job: Job, sample: Sample | None) -> Reading:
        """Nothing gathered yet."""
        names = [facts.name for facts in job.table.columns]
        most = distinct_words(len(names))
        columns = [Column(name, most) for name in names]
        return cls(job, columns, ChartSeries.of(job), [None] * len(columns), sample)

    def add(self, row: DataRow, workbook: Workbook) -> None:
        """Take in one row of data."""
        self.rows += 1
        for at, value in enumerate(row.values):
            kind = self.columns[at].add(value)
            if self.percents[at] is None and kind in (INTEGER, NUMBER):
                self.percents[at] = workbook.is_percent(row.styles[at])
        if len(self.preview) < self.job.preview_rows:
            shown = zip(row.values[:PREVIEW_COLUMNS], row.styles, strict=False)
            self.preview.append([_short(v, percent=workbook.is_percent(s)) for v, s in shown])
        if self.series:
            self.series.add(row.values)
        if self.sample:
            self.sample.add(row.values)

    def report(self, decision: Decision) -> TableReport:
        """All that is to be said about the table, and about the rows that were left out of it."""
        table = self.job.table
        report = TableReport(
            range=table.range, rows=self.rows, columns=[], preview=self.preview, notes=table.notes
        )
        said: dict[str, list[str]] = {}
        percents = [bool(percent) for percent in self.percents]
        for column, percent in zip(self.columns, percents, strict=True):
            figures, notes = column.report(self.rows, percent=percent)
            report.columns.append(figures)
            for note in notes:
                said.setdefault(note, []).append(column.name)
        noted = [*table.notes, *_about_totals(decision), *_about_columns(said)]
        report.notes = [*self.job.remarks, *noted]
        report.chart = self.series.data(percents) if self.series else None
        return report


class DataRow(NamedTuple):
    """A row of a table, with the value and style of every column."""

    number: int
    values: list[Value]
    styles: list[int]
    above: dict[int, Above]


def analyse(
    workbook: Workbook,
    job: Job,
    sample: Sample | None = None,
    *,
    said: Callable[[float], None] = lambda _share: None,
) -> TableReport:
    """Read the job's table again and report on it; `said` is told the share that is done.

    `sample` is given the same rows of data.

    Raises:
        InvalidInput: the table no longer has the rows that inspection counted.
    """
    reading = Reading.of(job, sample)
    totals = Totals(reading.columns)
    _read(workbook, reading, totals.leaves_out, said)
    decision = totals.settle()
    if totals.late:
        # What the first reading took for data, or for none, was told only by later rows.
        if sample:
            sample.restart()
        reading = Reading.of(job, sample)
        numbers = {*decision.totals, *decision.figures}
        _read(workbook, reading, lambda number, _values, _above: number in numbers, said)
    read = reading.rows + reading.left_out
    if read != job.table.rows:
        raise InvalidInput(
            f"Table {job.table.range} of “{job.table.sheet}” has {read} rows now and had "
            f"{job.table.rows} when it was inspected: the workbook changed in between."
        )
    return reading.report(decision)


def _read(
    workbook: Workbook,
    reading: Reading,
    leaves_out: Callable[[int, Sequence[Value], Mapping[int, Above]], bool],
    said: Callable[[float], None],
) -> None:
    table = reading.job.table
    for at, row in enumerate(_data_rows(workbook, table), start=1):
        if leaves_out(row.number, row.values, row.above):
            reading.left_out += 1
        else:
            reading.add(row, workbook)
        if at % ROWS_PER_TICK == 0:
            said((row.number - table.top) / (table.bottom - table.top + 1))


def _data_rows(workbook: Workbook, table: TableFacts) -> Iterator[DataRow]:
    """The rows of data, without blank and skipped ones."""
    width = table.right - table.left + 1
    skip = set(table.skip)
    for row in workbook.rows(workbook.sheet(table.sheet), last=table.bottom, formulas=True):
        if row.number < table.top or row.number in skip:
            continue
        values: list[Value] = [None] * width
        styles = [0] * width
        above: dict[int, Above] = {}
        for cell in row.cells:
            if table.left <= cell.column <= table.right:
                values[cell.column - table.left] = cell.value
                styles[cell.column - table.left] = cell.style
                if cell.above:
                    above[cell.column - table.left] = cell.above
        if any(kind_of(value) != BLANK for value in values):
            yield DataRow(row.number, values, styles, above)


def _short(value: Value, *, percent: bool) -> str:
    """As it is read, but for long fractions and percentages; numbers may be years or codes."""
    kind = kind_of(value)
    if isinstance(value, int | float) and percent and kind in (INTEGER, NUMBER):
        return figure(value, percent=True)
    text = f"{value:.10g}" if kind == NUMBER and isinstance(value, float) else as_text(value)
    return text if len(text) <= PREVIEW_LENGTH else f"{text[: PREVIEW_LENGTH - 1]}…"


def _about_totals(decision: Decision) -> list[str]:
    notes = []
    if rows := _rows(decision.totals):
        notes.append(f"The totals in {rows} are not data and were left out.")
    if rows := _rows(decision.figures):
        notes.append(f"The means and other figures in {rows} are not data and were left out.")
    if rows := _rows(decision.doubtful):
        notes.append(
            f"The numbers in {rows} are the sums of rows above, which may be chance: "
            "counted as data."
        )
    if rows := _rows(decision.misnamed):
        notes.append(
            f"What is called a total in {rows} does not hold the sums of the rows above: "
            "counted as data."
        )
    return notes


def _rows(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    more = f" … ({len(numbers):,} rows)" if len(numbers) > ROWS_SHOWN else ""
    return f"rows {', '.join(map(str, numbers[:ROWS_SHOWN]))}{more}" if numbers else ""


def _about_columns(said: dict[str, list[str]]) -> list[str]:
    """Each note once, with the columns that it is about."""
    notes = []
    for note, names in said.items():
        more = len(names) - NAMES_SHOWN
        end = f" and {more} more {'column' if more == 1 else 'columns'}, each" if more > 0 else ""
        notes.append(f"{', '.join(names[:NAMES_SHOWN])}{end}: {note}")
    return notes
