"""Rows of a run as the document that clients see."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Final

from onward.aws.codec import iso
from onward.domain.delivery import SyncStatus
from onward.domain.effects import EffectState
from onward.domain.model import RunStatus, StepStatus, step_of
from onward.domain.questions import open_questions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onward.documents.runs import (
        FailureView,
        OpenApprovalView,
        OpenQuestion,
        Snapshot,
        StepView,
    )
    from onward.domain.effects import Effect
    from onward.domain.model import Failing, Failure, PlannedStep, Run, Step
    from onward.domain.submission import Submission
    from onward.domain.waits import ApprovalRequest

OUTPUT_BYTES: Final = 1024 * 1024
"""Outputs that one snapshot carries; those after them are left out (a function's limit: 6 MB)."""

_HEARD: Final = frozenset({SyncStatus.NOT_APPLICABLE, SyncStatus.SYNCED})
_ENDED: Final = frozenset({StepStatus.SUCCEEDED, StepStatus.SKIPPED})


@dataclass(frozen=True, slots=True)
class Seen:
    """Rows of one moment. `steps` holds the claimed ones, perhaps with fan-outs' children."""

    run: Run
    submission: Submission | None
    plan: Sequence[PlannedStep]
    steps: Mapping[str, Step]
    effects: Sequence[Effect] = ()
    sync: SyncStatus = SyncStatus.NOT_APPLICABLE
    approvals: Sequence[ApprovalRequest] = ()


_STOPPED: Final = frozenset({RunStatus.FAILED, RunStatus.CANCEL_REQUESTED, RunStatus.CANCELLED})
"""Statuses that have a reason."""


def snapshot(seen: Seen, *, children: bool = False) -> Snapshot:
    """Return the snapshot without its result, which is to be loaded.

    Steps come in an order that their needs allow. Steps never claimed are `pending`. A fan-out
    is one step; with `children` theirs follow it.
    """
    run = seen.run
    labels = seen.submission.labels if seen.submission else {}
    effects = Counter(effect.state.value for effect in seen.effects)
    return {
        "run_id": run.run_id,
        "workflow": run.workflow,
        "status": run.status.value,
        "created_at": iso(run.created_at),
        "started_at": _time(run.started_at),
        "ended_at": _time(run.ended_at),
        "as_of_seq": run.seq,
        "generation": run.generation,
        "deadline_at": _time(run.deadline),
        "labels": labels,
        "steps": _steps(seen, children=children),
        "counts": {
            "total": run.steps_total,
            "done": run.done,
            "skipped": run.skipped,
            "attempts": run.attempts,
        },
        "usage": {
            "input_tokens": run.usage.input_tokens,
            "output_tokens": run.usage.output_tokens,
        },
        "downstream_synced": seen.sync in _HEARD,
        "sync_status": seen.sync.value,
        "open_approvals": [_asked(request) for request in seen.approvals],
        "open_questions": _questions(seen),
        "effects": {state.value: effects[state.value] for state in EffectState}
        | {"duplicates_suspected": sum(e.suspected_at is not None for e in seen.effects)},
        "result": None,
        "error": _why(run.failing) if run.status in _STOPPED else None,
    }


def _asked(request: ApprovalRequest) -> OpenApprovalView:
    return {
        "step_id": request.step_id,
        "tool": request.tool,
        "action_version": request.action_version,
        "groups": list(request.groups),
        "expires_at": _time(request.expires_at),
    }


def _questions(seen: Seen) -> list[OpenQuestion]:
    """Return the steps that wait for an operator's resolution, also where the run has ended."""
    questions: list[OpenQuestion] = []
    for step_id in open_questions(seen.run):
        row = seen.steps.get(step_id)
        question: OpenQuestion = {"step_id": step_id}
        if row is not None and row.error:
            question |= {"code": row.error.code, "message": row.error.message}
        questions.append(question)
    return questions


def _steps(seen: Seen, *, children: bool) -> list[StepView]:
    born: dict[str, list[Step]] = {}
    for step in seen.steps.values():
        if step.index is not None:
            born.setdefault(step_of(step.plan_key), []).append(step)
    listed: list[StepView] = []
    room = OUTPUT_BYTES
    for planned in _in_order(seen.plan):
        mine = sorted(born.get(planned.step_id, []), key=lambda step: step.index or 0)
        rows = [seen.steps.get(planned.step_id), *(mine if children else [])]
        for row in rows:
            view, room = _with_output(_view(seen, planned, row, mine), row, room)
            listed.append(view)
    return listed


def _view(seen: Seen, planned: PlannedStep, step: Step | None, born: Sequence[Step]) -> StepView:
    if step is None:
        return {
            "id": planned.step_id,
            "tool": planned.tool,
            "status": StepStatus.PENDING.value,
            "attempts": 0,
            "started_at": None,
            "ended_at": None,
        }
    view: StepView = {
        "id": step.step_id,
        "tool": planned.tool,
        "status": _status(seen.run, step).value,
        "attempts": step.attempt,
        "started_at": _time(step.started_at),
        "ended_at": _time(step.ended_at),
    }
    wait = seen.run.waiting.get(step.step_id)
    if wait is not None and wait.until is not None:
        view["waits_until"] = iso(wait.until)
    if step.step_id in seen.run.open:
        view["lane"] = seen.run.open[step.step_id]
    if step.error is not None:
        view["error"] = _said(step.error)
    if step.children is not None:
        view["children"] = {"total": step.children, "done": _done(seen.run, step, born)}
    return view


def _status(run: Run, step: Step) -> StepStatus:
    """Return where a step stands; what was under way is cancelled with its run.

    Rows of fan-outs and of steps that added others are not written when their run fails.
    """
    stopped = run.status.ended and step.status is StepStatus.EXECUTING
    return StepStatus.CANCELLED if stopped else step.status


def _done(run: Run, parent: Step, born: Sequence[Step]) -> int:
    """Return how many children of a fan-out have ended: what the run row counts, while it does."""
    fan = run.fans.get(parent.plan_key)
    if fan is not None:
        return fan.done
    if parent.status is StepStatus.SUCCEEDED:
        return parent.children or 0
    return sum(1 for child in born if child.status in _ENDED)


def _with_output(view: StepView, step: Step | None, room: int) -> tuple[StepView, int]:
    """Add the output that a row holds, or its reference, or word that it is left out."""
    if step is None or step.output is None or step.children is not None:
        return view, room  # what a fan-out's row holds is where its children's outputs are
    if step.output.ref is not None:
        return view | {"output_ref": step.output.ref}, room
    text = step.output.text or "null"
    if len(text) > room:
        return view | {"output_omitted": True}, room
    return view | {"output": json.loads(text)}, room - len(text)


def _in_order(plan: Sequence[PlannedStep]) -> list[PlannedStep]:
    """Sort steps so that needs come first; those on a level by name."""
    by_key = {step.key: step for step in plan}
    sorter = TopologicalSorter({step.key: step.needs for step in plan})
    sorter.prepare()
    ordered: list[PlannedStep] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        ordered += [by_key[key] for key in ready if key in by_key]
        sorter.done(*ready)
    return ordered


def _why(failing: Failing | None) -> FailureView | None:
    if failing is None:
        return None
    return _said(failing.failure) | {"step": failing.step_id}


def _said(failure: Failure) -> FailureView:
    return {"code": failure.code, "message": failure.message}


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else iso(seconds)
