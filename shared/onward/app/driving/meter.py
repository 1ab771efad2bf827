"""What a commit is worth counting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.domain.errors import PermissionDenied
from onward.domain.events import STEP_ENDS, TYPES, RunWaiting, StepTakenOver
from onward.domain.model import StepStatus
from onward.metrics import Metric, count

if TYPE_CHECKING:
    from onward.domain.model import Event
    from onward.domain.protocol import Outcome

_PLANNED_RESTARTS: Final = frozenset({"handoff", "resumed_by_operator"})


def meter(outcome: Outcome) -> None:
    """Count the events of a commit that was made, once: never of one that was refused.

    A commit finds one death, however many lanes that cut: it is one recovery.
    """
    if any(event.type == StepTakenOver.type for event in outcome.events):
        count(Metric.RECOVERIES)
    for event in outcome.events:
        counts = TYPES[event.type].counts
        if counts is not None:
            count(Metric(counts))
        if event.type in STEP_ENDS and event.data.get("code") == PermissionDenied.code:
            count(Metric.PERMISSION_FAILURES)
        if _is_restart(event):
            count(Metric.RESTARTS)
        if event.type == RunWaiting.type and event.data.get("cause") == "stalled":
            count(Metric.NEEDS_RECONCILIATION)
    for _, step in outcome.steps:
        if step.status is StepStatus.SUCCEEDED and step.started_at and step.ended_at:
            count(Metric.STEP_SECONDS, round(step.ended_at - step.started_at, 3))


def _is_restart(event: Event) -> bool:
    """Whether a dead execution is replaced; long runs and operators change generations as well."""
    return event.start is not None and event.data.get("cause") not in _PLANNED_RESTARTS
