"""Putting together what the added steps found, in the order of the tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onward.sdk import Artifact
from workflows.excel_report.extension import REST, RULES, analyse_id

from documents.workbook.models import (
    Analysis,
    AnalysisPlan,
    CodePlan,
    CodeReport,
    Finding,
    TableReport,
)


def gather(
    plan: AnalysisPlan, added: dict[str, Any], read: Callable[[Artifact], bytes]
) -> list[TableReport]:
    """One report a table with what code found in it; code that failed is told in its notes."""
    found = [added[analyse_id(at)] for at in range(len(plan.jobs))] + (added.get(REST) or [])
    reports = [
        TableReport.model_validate_json(read(Analysis.model_validate(analysis).body))
        for analysis in found
    ]
    sources = {step.id: step.input.get("code", "") for step in plan.steps}
    for code in plan.codes:
        report, returned = reports[code.job], added.get(code.step)
        if returned is None:  # an optional step that failed was skipped
            report.notes = [*report.notes, _failed(code)]
            continue
        shown = "" if code.author == RULES else sources[code.step]
        report.findings.append(
            Finding(
                step=code.step,
                author=code.author,
                code=shown,
                report=CodeReport.model_validate(returned),
            )
        )
    return reports


def _failed(code: CodePlan) -> str:
    by_rules = code.author == RULES
    who = "the rules ordered" if by_rules else f"the language model {code.author} wrote"
    return (
        f"The code that {who} beside these figures failed; they do not depend on it. "
        f"Step {code.step} of the run says why."
    )
