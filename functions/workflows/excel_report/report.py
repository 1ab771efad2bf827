"""The report for people: one HTML file without scripts or anything loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from documents.page.chart import draw
from documents.page.figures import MEAN_DIGITS, figure
from documents.page.html import counted, notes, page
from documents.workbook.findings import STYLE, findings
from documents.workbook.models import (
    NUMERIC,
    AnalysisPlan,
    ColumnReport,
    Inspection,
    SheetFacts,
    TableReport,
)


def render(
    title: str,
    file_name: str,
    inspection: Inspection,
    plan: AnalysisPlan,
    reports: Sequence[TableReport],
) -> str:
    """The whole page; everything that comes from the workbook is escaped."""
    left = iter(reports)
    sheets = [(sheet, [next(left) for _ in sheet.tables]) for sheet in inspection.sheets]
    tables = sum(len(found) for _, found in sheets)
    rows = sum(report.rows for report in reports)
    body = "".join(_sheet(at, sheet, found) for at, (sheet, found) in enumerate(sheets, start=1))
    lead = "" if title == file_name else f"{escape(file_name)} · "
    counts = f"{counted(len(sheets), 'sheet')}, {counted(tables, 'table')}, {counted(rows, 'row')}"
    return page(
        title,
        f"<header><p class=kicker>Workbook report</p><h1>{escape(title)}</h1>"
        f"<p class=lead>{lead}{counts}</p>{_contents(sheets)}</header>"
        f"{body}<footer>{notes([*inspection.notes, *plan.notes])}</footer>",
        STYLE,
    )


def _contents(sheets: Sequence[tuple[SheetFacts, list[TableReport]]]) -> str:
    if len(sheets) < 2:  # noqa: PLR2004 - nothing to choose from
        return ""
    links = "".join(
        f'<li><a href="#s{at}">{escape(sheet.name)}</a> <span>{_size(reports)}</span></li>'
        for at, (sheet, reports) in enumerate(sheets, start=1)
    )
    return f"<nav aria-label=Sheets><ol>{links}</ol></nav>"


def _size(reports: Sequence[TableReport]) -> str:
    if not reports:
        return "no tables"
    rows = counted(sum(report.rows for report in reports), "row")
    return rows if len(reports) == 1 else f"{counted(len(reports), 'table')}, {rows}"


def _sheet(at: int, sheet: SheetFacts, reports: Sequence[TableReport]) -> str:
    tables = "".join(_table(f"s{at}t{number}", report) for number, report in enumerate(reports))
    empty = "" if reports else "<p class=none>No table was found on this sheet.</p>"
    return (
        f'<section id="s{at}"><h2>{escape(sheet.name)}</h2>'
        f"{tables}{empty}{notes(sheet.notes)}</section>"
    )


def _table(key: str, report: TableReport) -> str:
    columns = counted(len(report.columns), "column")
    return (
        f"<article><h3>{escape(report.range)} <small>{counted(report.rows, 'row')}, {columns}"
        f"</small></h3>{_chart(key, report)}{_columns(report.columns)}"
        f"{findings(report.findings)}{notes(report.notes)}{_preview(report)}</article>"
    )


def _chart(key: str, report: TableReport) -> str:
    if report.chart is None:
        return ""
    caption = escape(report.chart.caption)
    return f"<figure><figcaption>{caption}</figcaption>{draw(report.chart, key)}</figure>"


def _columns(columns: Sequence[ColumnReport]) -> str:
    heads = "".join(
        f"<th scope=col{' class=n' if at > 1 else ''}>{head}</th>"
        for at, head in enumerate(("Column", "Type", "Sum", "Min", "Mean", "Max", "Missing"))
    )
    rows = "".join(_column(column) for column in columns)
    return (
        "<div class=scroll><table><caption>Columns</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _column(column: ColumnReport) -> str:
    name = f"<th scope=row>{escape(column.name)}</th><td class=type>{column.type}</td>"
    missing = f"<td class=n>{figure(column.missing or None)}</td>"
    if column.sum is None and column.min is None:
        return f"<tr>{name}<td colspan=4 class=detail>{escape(column.detail)}</td>{missing}</tr>"
    percent = column.display == "percent"
    cells = (
        figure(column.sum),
        figure(column.min, percent=percent),
        figure(column.mean, percent=percent, digits=MEAN_DIGITS),
        figure(column.max, percent=percent),
    )
    return (
        f"<tr>{name}{''.join(f'<td class=n>{escape(cell)}</td>' for cell in cells)}{missing}</tr>"
    )


def _preview(report: TableReport) -> str:
    if not report.preview:
        return ""
    shown = report.columns[: len(report.preview[0])]
    numeric = [column.type in NUMERIC for column in shown]
    heads = "".join(
        f"<th scope=col{' class=n' if is_number else ''}>{escape(column.name)}</th>"
        for column, is_number in zip(shown, numeric, strict=True)
    )
    rows = "".join(_preview_row(row, numeric) for row in report.preview)
    hidden = len(report.columns) - len(shown)
    more = f", {counted(hidden, 'more column')} not shown" if hidden else ""
    first = f"First {counted(len(report.preview), 'row')} of {report.rows:,}{more}"
    if len(report.preview) == report.rows:
        first = f"All {counted(report.rows, 'row')}{more}"
    return (
        f"<details open><summary>{first}</summary><div class=scroll><table class=preview>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def _preview_row(row: Sequence[str], numeric: Sequence[bool]) -> str:
    cells = "".join(
        f"<td{' class=n' if is_number else ''}>{escape(cell)}</td>"
        for cell, is_number in zip(row, numeric, strict=True)
    )
    return f"<tr>{cells}</tr>"
