"""The steps of `excel-report`. What reads workbooks is imported where it is used: it is heavy."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from documents.workbook.models import (
    AnalyseRequest,
    Analysis,
    AnalysisPlan,
    CodeReport,
    CodeRequest,
    Composed,
    ComposeRequest,
    Inspection,
    InspectRequest,
    PlanRequest,
    Published,
    PublishRequest,
)
from onward.sdk import InvalidInput, StepContext, tool

HTML: Final = "text/html; charset=utf-8"
JSON: Final = "application/json"
# Seconds kept back to say that the time was too short, instead of being ended without a word.
RESERVE: Final = 3.0
CODE_SECONDS: Final = 15


@tool(effect="read", timeout=120)
def inspect_workbook(ctx: StepContext, request: InspectRequest) -> Inspection:
    """Find the workbook's sheets, tables, columns and types."""
    from documents.workbook.inspection import inspect
    from documents.workbook.workbook import open_workbook

    ctx.progress(0.0, f"opening {request.file.name}")
    body = ctx.get_artifact(request.file)
    with open_workbook(body, tick=_in_time(ctx)) as workbook:
        found = inspect(workbook, said=lambda share, sheet: ctx.progress(share, f"reading {sheet}"))
    ctx.log.info("inspected", sheets=len(found.sheets), bytes=len(body))
    return found


@tool(effect="read", timeout=120, expands=True)
def plan_analysis(ctx: StepContext, request: PlanRequest) -> AnalysisPlan:
    """Order one analysis a table, and code to run on it: by a model where one is set."""
    from workflows.excel_report.extension import extend
    from workflows.excel_report.model_planner import plan_by_model
    from workflows.excel_report.planner import plan_by_rules

    if ctx.model is None:
        return extend(plan_by_rules(request.inspection), ctx.step_id, request.file)
    ctx.progress(0.0, f"asking {ctx.model.name}")
    draft = plan_by_model(ctx, ctx.model, request.inspection, [run_analysis])
    return extend(draft, ctx.step_id, request.file)


@tool(effect="read", timeout=120)
def analyse_table(ctx: StepContext, request: AnalyseRequest) -> Analysis:
    """Work out one table's figures and chart; the checkpoint points to them and to the sample."""
    from documents.workbook.analysis import analyse
    from documents.workbook.sample import Sample
    from documents.workbook.workbook import open_workbook

    table = request.job.table
    where = f"{table.sheet} {table.range}"
    ctx.progress(0.0, where)
    sample = Sample(table) if request.job.sample else None
    with open_workbook(ctx.get_artifact(request.file), tick=_in_time(ctx)) as workbook:
        report = analyse(
            workbook, request.job, sample, said=lambda share: ctx.progress(share, where)
        )
    body = ctx.put_artifact("analysis.json", report.model_dump_json().encode(), JSON)
    kept = ctx.put_artifact("sample.json", sample.encode(), JSON) if sample else None
    return Analysis(sheet=table.sheet, range=table.range, rows=report.rows, body=body, sample=kept)


@tool(effect="read", timeout=60)
def run_analysis(ctx: StepContext, request: CodeRequest) -> CodeReport:
    """Run code of the plan on a table's sample, in the sandbox; what it returns is checked."""
    from documents.workbook.insights import insights_of

    data = json.loads(ctx.get_artifact(request.sample))
    returned = ctx.sandbox(request.code, data | {"earlier": request.earlier}, timeout=CODE_SECONDS)
    return CodeReport(
        insights=insights_of(returned),
        rows=max((len(column["values"]) for column in data["columns"]), default=0),
        of_rows=data["rows"],
        hidden_columns=data["hidden_columns"],
    )


@tool(effect="read", timeout=120)
def compose_report(ctx: StepContext, request: ComposeRequest) -> Composed:
    """Write the report for people and the summary for programs."""
    from documents.workbook.gathering import gather

    from workflows.excel_report.report import render
    from workflows.excel_report.summary import build_summary, encode

    reports = gather(request.plan, request.added, ctx.get_artifact)
    title = request.title or request.file.name
    html = render(title, request.file.name, request.inspection, request.plan, reports)
    summary = build_summary(title, request.inspection, request.plan, reports)
    return Composed(
        html=ctx.put_artifact("report.html", html.encode(), HTML),
        summary=ctx.put_artifact("summary.json", encode(summary), JSON),
        tables=len(reports),
        rows=sum(report.rows for report in reports),
    )


@tool(effect="write", idempotency="native", timeout=30)
def publish_report(ctx: StepContext, request: PublishRequest) -> Published:
    """Publish both documents; a repeat finds what the first attempt published."""
    composed = request.composed
    return Published(
        report=ctx.publish_artifact("report.html", ctx.get_artifact(composed.html), HTML),
        summary=ctx.publish_artifact("summary.json", ctx.get_artifact(composed.summary), JSON),
        tables=composed.tables,
        rows=composed.rows,
    )


def _in_time(ctx: StepContext) -> Callable[[], None]:
    """Give up with a reason shortly before the deadline."""

    def tick() -> None:
        if ctx.remaining() < RESERVE:
            raise InvalidInput(
                "The workbook is too large to be read within this step's time. "
                "Split it into smaller workbooks."
            )

    return tick
