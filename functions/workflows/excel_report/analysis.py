"""One table's figures, preview and chart, in a single pass over its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from onward.sdk import InvalidInput

from workflows.excel_report.cells import BLANK, INTEGER, NUMBER, Value, as_text, kind_of
from workflows.excel_report.columns import Column
from workflows.excel_report.figures import figure
from workflows.excel_report.models import Job, TableFacts, TableReport
from workflows.excel_report.sample import Sample
from workflows.excel_report.series import ChartSeries
from workflows.excel_report.totals import is_total_row
from workflows.excel_report.workbook import ROWS_PER_TICK, Workbook

PREVIEW_COLUMNS: Final = 40
PREVIEW_LENGTH: Final = 80
NAMES_SHOWN: Final = 3
TOTALS_SHOWN: Final = 10


@dataclass
class Reading:
    """What has been gathered of one table so far."""

    job: Job
    columns: list[Column]
    series: ChartSeries | None
    percents: list[bool | None]
    sample: Sample | None = None
    preview: list[list[str]] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    rows: int = 0

    @classmethod
    def of(cls, job: Job, sample: Sample | None) -> Reading:
        """Nothing gathered yet."""
        columns = [Column(facts.name) for facts in job.table.columns]
        return cls(job, columns, ChartSeries.of(job), [None] * len(columns), sample)

    def add(self, row: DataRow, workbook: Workbook) -> None:
        """Take in one row, unless it holds totals of those before it."""
        if is_total_row(row.values, self.columns, self.rows):
            self.totals.append(row.number)
            return
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

    def report(self) -> TableReport:
        """All that is to be said about the table."""
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
        noted = [*table.notes, *_totals(self.totals), *_about_columns(said)]
        report.notes = [*self.job.remarks, *noted]
        report.chart = self.series.data(percents) if self.series else None
        return report


class DataRow(NamedTuple):
    """A row of a table, with the value and style of every column."""

    number: int
    values: list[Value]
    styles: list[int]


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
    for row in _data_rows(workbook, job.table):
        reading.add(row, workbook)
        if reading.rows % ROWS_PER_TICK == 0:
            said((row.number - job.table.top) / (job.table.bottom - job.table.top + 1))
    read = reading.rows + len(reading.totals)
    if read != job.table.rows:
        raise InvalidInput(
            f"Table {job.table.range} of “{job.table.sheet}” has {read} rows now and had "
            f"{job.table.rows} when it was inspected: the workbook changed in between."
        )
    return reading.report()


def _data_rows(workbook: Workbook, table: TableFacts) -> Iterator[DataRow]:
    """The rows of data, without blank and skipped ones."""
    width = table.right - table.left + 1
    skip = set(table.skip)
    for row in workbook.rows(workbook.sheet(table.sheet), last=table.bottom):
        if row.number < table.top or row.number in skip:
            continue
        values: list[Value] = [None] * width
        styles = [0] * width
        for cell in row.cells:
            if table.left <= cell.column <= table.right:
                values[cell.column - table.left] = cell.value
                styles[cell.column - table.left] = cell.style
        if any(kind_of(value) != BLANK for value in values):
            yield DataRow(row.number, values, styles)


def _short(value: Value, *, percent: bool) -> str:
    """As it is read, but for long fractions and percentages; numbers may be years or codes."""
    kind = kind_of(value)
    if isinstance(value, int | float) and percent and kind in (INTEGER, NUMBER):
        return figure(value, percent=True)
    text = f"{value:.10g}" if kind == NUMBER and isinstance(value, float) else as_text(value)
    return text if len(text) <= PREVIEW_LENGTH else f"{text[: PREVIEW_LENGTH - 1]}…"


def _totals(numbers: list[int]) -> list[str]:
    if not numbers:
        return []
    where = ", ".join(map(str, numbers[:TOTALS_SHOWN])) + " …" * (len(numbers) > TOTALS_SHOWN)
    rows = "row" if len(numbers) == 1 else "rows"
    return [f"The totals in {rows} {where} are not data and were left out."]


def _about_columns(said: dict[str, list[str]]) -> list[str]:
    """Each note once, with the columns that it is about."""
    notes = []
    for note, names in said.items():
        more = len(names) - NAMES_SHOWN
        end = f" and {more} more {'column' if more == 1 else 'columns'}, each" if more > 0 else ""
        notes.append(f"{', '.join(names[:NAMES_SHOWN])}{end}: {note}")
    return notes
