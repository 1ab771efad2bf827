"""A run is born."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.domain.events import RunQueued
from onward.domain.limits import DEFAULT_RUN_RETRIES, DUE_AFTER, RunLimits
from onward.domain.model import FIRST_PART, Cursor, Event, Run, RunStatus, plan_key

if TYPE_CHECKING:
    from onward.domain.plan import CompiledPlan
    from onward.domain.trace import Trace


def submit(  # noqa: PLR0913 - a birth has as many facts as the row
    *,
    run_id: str,
    tenant: str,
    workflow: str,
    worker: str,
    plan: CompiledPlan,
    now: float,
    deadline_seconds: float | None = None,
    retries: int | None = None,
    tokens: int | None = None,
    trace: Trace | None = None,
    limits: RunLimits | None = None,
) -> tuple[Run, Event]:
    """Return the run row and its first event, which asks for generation 1 to be started."""
    roots, most = plan.roots.singles, limits or RunLimits()
    run = Run(
        run_id=run_id,
        tenant=tenant,
        workflow=workflow,
        status=RunStatus.QUEUED,
        worker=worker,
        steps_total=len(plan.steps),
        result_from=plan.result_from,
        created_at=now,
        seq=1,
        ready=(Cursor(plan_key(FIRST_PART, ""), 0, len(roots)),),
        retries_left=DEFAULT_RUN_RETRIES if retries is None else retries,
        tokens_left=tokens,
        max_steps=most.steps,
        max_children=most.children,
        bytes_left=most.bytes,
        deadline=None if deadline_seconds is None else now + deadline_seconds,
        due_at=int(now) + DUE_AFTER,
        traceparent=trace.parent if trace else "",
        tracestate=trace.state if trace else "",
    )
    queued = RunQueued(workflow=workflow, steps=len(plan.steps))
    return run, Event(1, queued.type, now, queued.members, start=1)
