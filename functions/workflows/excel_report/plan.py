"""The workflow `excel-report`."""

from __future__ import annotations

from documents.workbook.models import ReportRequest
from onward.sdk import Step, Workflow, ref

from workflows.excel_report.tools import (
    compose_report,
    inspect_workbook,
    plan_analysis,
    publish_report,
)

excel_report = Workflow(
    "excel-report",
    version=1,
    input=ReportRequest,
    steps=[
        Step("inspect", inspect_workbook, {"file": ref("input.file")}),
        Step(
            "plan", plan_analysis, {"file": ref("input.file"), "inspection": ref("steps.inspect")}
        ),
        Step(
            "compose",
            compose_report,
            {
                "file": ref("input.file"),
                "title": ref("input.title"),
                "inspection": ref("steps.inspect"),
                "plan": ref("steps.plan"),
                "added": ref("steps.plan.added"),
            },
        ),
        Step("publish", publish_report, {"composed": ref("steps.compose")}),
    ],
)
