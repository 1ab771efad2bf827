"""The workflow `excel-report`."""

from __future__ import annotations

from onward.sdk import Step, Workflow, ref

from workflows.excel_report.models import ReportRequest
from workflows.excel_report.tools import (
    analyse_table,
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
        Step("plan", plan_analysis, {"inspection": ref("steps.inspect")}),
        Step(
            "analyse",
            analyse_table,
            {"file": ref("input.file"), "job": ref("item")},
            for_each=ref("steps.plan.jobs"),
        ),
        Step(
            "compose",
            compose_report,
            {
                "file": ref("input.file"),
                "title": ref("input.title"),
                "inspection": ref("steps.inspect"),
                "plan": ref("steps.plan"),
                "analyses": ref("steps.analyse"),
            },
        ),
        Step("publish", publish_report, {"composed": ref("steps.compose")}),
    ],
)
