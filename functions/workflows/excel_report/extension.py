"""The steps that the planner adds to its run.

Exact figures never depend on code of a plan: each table has a step of ours, and beside it, if there
is code, an optional one that runs it on the table's sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from documents.workbook.models import AnalysisPlan, CodePlan, Job, PlanStep
from onward.sdk import Artifact, ref

MOST_SINGLE: Final = 200
"""Tables with steps of their own: with their codes they stay well below a run's 500 steps."""

RULES: Final = "rules"
ANALYSE: Final = "analyse_table"
RUN: Final = "run_analysis"
REST: Final = "analyse-rest"


@dataclass(frozen=True)
class Code:
    """Code for the table of a job (by offset); it gets what the steps in `after` found."""

    step: str
    job: int
    author: str
    source: str
    tool: str = RUN
    after: Sequence[str] = ()


@dataclass
class Draft:
    """What a planner decided, before it becomes steps."""

    planner: str
    jobs: list[Job]
    codes: list[Code]
    notes: list[str] = field(default_factory=list)


def extend(draft: Draft, step_id: str, file: Artifact) -> AnalysisPlan:
    """The plan with its steps, for the step `step_id` to return."""
    coded = {code.job for code in draft.codes}
    jobs = [job.model_copy(update={"sample": at in coded}) for at, job in enumerate(draft.jobs)]
    single, rest = jobs[:MOST_SINGLE], jobs[MOST_SINGLE:]
    source = {"file": file.model_dump()}
    mine = f"steps.{step_id}"
    steps = [
        PlanStep(id=analyse_id(at), tool=ANALYSE, input=source | {"job": ref(f"{mine}.jobs.{at}")})
        for at in range(len(single))
    ]
    if rest:
        each = {"$ref": f"{mine}.rest"}
        steps.append(
            PlanStep(id=REST, tool=ANALYSE, input=source | {"job": ref("item")}, for_each=each)
        )
    return AnalysisPlan(
        planner=draft.planner,
        jobs=single,
        rest=rest,
        codes=[CodePlan(step=c.step, job=c.job, author=c.author) for c in draft.codes],
        steps=[*steps, *map(code_step, draft.codes)],
        notes=[*draft.notes, *_about_rest(rest)],
    )


def analyse_id(job: int) -> str:
    """The step of a job, by the table's number from 1."""
    return f"analyse-{job + 1}"


def code_step(code: Code) -> PlanStep:
    """The step that runs a piece of code; it may fail without failing the run."""
    earlier = {step: ref(f"steps.{step}.insights") for step in code.after}
    given = {"sample": ref(f"steps.{analyse_id(code.job)}.sample"), "code": code.source}
    return PlanStep(id=code.step, tool=code.tool, input=given | {"earlier": earlier}, optional=True)


def _about_rest(rest: Sequence[Job]) -> list[str]:
    if not rest:
        return []
    return [f"Code was run on the first {MOST_SINGLE} tables only."]
