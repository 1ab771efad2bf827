"""The summary for programs: the report's figures as JSON."""

from __future__ import annotations

import json
from typing import Any

from documents.workbook.models import AnalysisPlan, Inspection, TableReport


def build_summary(
    title: str, inspection: Inspection, plan: AnalysisPlan, reports: list[TableReport]
) -> dict[str, Any]:
    """All sheets in workbook order; `reports` are in the order of the plan's jobs."""
    found = iter(reports)
    sheets = [
        {
            "name": sheet.name,
            "tables": [_table(next(found)) for _ in sheet.tables],
            "notes": sheet.notes,
        }
        for sheet in inspection.sheets
    ]
    return {
        "title": title,
        "planner": plan.planner,
        "sheets": sheets,
        "notes": [*inspection.notes, *plan.notes],
    }


def encode(summary: dict[str, Any]) -> bytes:
    """UTF-8 JSON without NaN or infinities, the same bytes for the same summary."""
    return json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=1).encode()


def _table(report: TableReport) -> dict[str, Any]:
    columns = [
        column.model_dump(include={"name", "type", "sum", "min", "max", "mean", "missing"})
        for column in report.columns
    ]
    table = {"range": report.range, "rows": report.rows, "columns": columns, "notes": report.notes}
    insights = [
        insight.model_dump() | {"by": finding.author, "rows_read": finding.report.rows}
        for finding in report.findings
        for insight in finding.report.insights
    ]
    return table | ({"insights": insights} if insights else {})
