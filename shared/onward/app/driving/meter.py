"""What a commit is worth counting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.domain.errors import PermissionDenied
from onward.domain.model import StepStatus
from onward.metrics import Metric, count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.domain.model import Event
    from onward.domain.protocol import Outcome

_COUNTED: Final[Mapping[str, Metric]] = {
    "run.started": Metric.RUNS_STARTED,
    "run.succeeded": Metric.RUNS_SUCCEEDED,
    "run.failed": Metric.RUNS_FAILED,
    "step.succeeded": Metric.STEPS_SUCCEEDED,
    "step.retrying": Metric.STEPS_RETRIED,
    "step.failed": Metric.STEPS_FAILED,
    "step.needs_reconciliation": Metric.NEEDS_RECONCILIATION,
    "effect.duplicate_suspected": Metric.DUPLICATES_SUSPECTED,
}

_STEP_ENDS: Final = frozenset({"step.failed", "step.skipped"})
_PLANNED_RESTARTS: Final = frozenset({"handoff", "resumed_by_operator"})


def meter(outcome: Outcome) -> None:
    """Count the events of a commit that was made, once: never of one that was refused.

    A commit finds one death, however many lanes that cut: it is one recovery.
    """
    if any(event.type == "step.taken_over" for event in outcome.events):
        count(Metric.RECOVERIES)
    for event in outcome.events:
        metric = _COUNTED.get(event.type)
        if metric is not None:
            count(metric)
        if event.type in _STEP_ENDS and event.data.get("code") == PermissionDenied.code:
            count(Metric.PERMISSION_FAILURES)
        if _is_restart(event):
            count(Metric.RESTARTS)
        if event.type == "run.waiting" and event.data.get("cause") == "stalled":
            count(Metric.NEEDS_RECONCILIATION)
    for _, step in outcome.steps:
        if step.status is StepStatus.SUCCEEDED and step.started_at and step.ended_at:
            count(Metric.STEP_SECONDS, round(step.ended_at - step.started_at, 3))


def _is_restart(event: Event) -> bool:
    """Whether a dead execution is replaced; long runs and operators change generations as well."""
    return event.start is not None and event.data.get("cause") not in _PLANNED_RESTARTS
