"""Workbooks for tests: honest ones from rows, and files that are none."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

from documents.workbook.analysis import analyse
from documents.workbook.inspection import inspect
from documents.workbook.workbook import open_workbook
from onward.sdk import Artifact
from openpyxl import Workbook
from workflows.excel_report.extension import extend
from workflows.excel_report.planner import plan_by_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from documents.workbook.models import AnalysisPlan, Inspection, TableReport

FILE = Artifact(ref="art_1", name="book.xlsx", size=1)


def workbook(**sheets: Sequence[Sequence[Any]]) -> bytes:
    """A workbook with these rows on these sheets; None is a blank cell."""
    book = Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    return saved(book)


def saved(book: Workbook) -> bytes:
    """The bytes of a workbook."""
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def rewritten(body: bytes, change: Callable[[str, bytes], bytes | None]) -> bytes:
    """The same package with its parts changed; a part that becomes None is left out."""
    target = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(body)) as source,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as changed,
    ):
        for part in source.namelist():
            content = change(part, source.read(part))
            if content is not None:
                changed.writestr(part, content)
    return target.getvalue()


def strict(_part: str, old: bytes) -> bytes:
    """A part in the namespaces of ISO 29500 Strict."""
    for usual, other in (
        (b"http://schemas.openxmlformats.org/spreadsheetml/2006/main", b"spreadsheetml/main"),
        (
            b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
            b"officeDocument/relationships",
        ),
    ):
        old = old.replace(usual, b"http://purl.oclc.org/ooxml/" + other)
    return old


def archive(**parts: bytes) -> bytes:
    """A zip archive with a part a keyword; double underscores stand for slashes."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name.replace("__", "/"), content)
    return target.getvalue()


def inspected(body: bytes) -> Inspection:
    """What inspection finds."""
    with open_workbook(body) as book:
        return inspect(book)


def planned(inspection: Inspection) -> AnalysisPlan:
    """The rules' plan, as the step `plan` returns it."""
    return extend(plan_by_rules(inspection), "plan", FILE)


def reported(body: bytes) -> list[TableReport]:
    """The reports of all tables, planned by the rules."""
    reports = []
    for job in plan_by_rules(inspected(body)).jobs:
        with open_workbook(body) as book:
            reports.append(analyse(book, job))
    return reports


def figures(report: TableReport) -> dict[str, tuple[Any, ...]]:
    """Name → type, sum, min, max, missing."""
    return {c.name: (c.type, c.sum, c.min, c.max, c.missing) for c in report.columns}
