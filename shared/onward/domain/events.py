"""Every type of event, once: what it carries, what it ends, what it counts as.

A class is one shape of one type's `data`. Members without a default are always there, perhaps as
null; those that default to None are left out when nothing is known. The state machine builds
events of these and of nothing else, so a member that is wrong or missing is an error of types.
Meters, filters, screens, clients and drills read the sets at the end. They do so on cold paths and
without the service, so this module imports nothing else, and no class costs more than its line.
"""

from __future__ import annotations

from typing import Any, Final

from onward.domain import wait_events
from onward.domain.event_data import EventData

NAMESPACE: Final = "onward."
"""What a CloudEvent's `type` begins with; the rows of the log do without."""


class RunQueued(EventData):
    """A run was accepted."""

    type = "run.queued"
    shows = "queued"
    workflow: str
    steps: int


class RunStarted(EventData):
    """Its first execution drives it."""

    type = "run.started"
    shows = "running"
    counts = "RunsStarted"
    generation: int


class RunWaiting(EventData):
    """Nothing goes on until a wait is over; `stalled`: until an operator resumes it."""

    type = "run.waiting"
    interrupts = True
    status: str
    steps: list[Any]
    cause: str | None = None


class RunResumed(EventData):
    """It goes on: a wait is over, or generation `generation` drives it from here on."""

    type = "run.resumed"
    interrupts = True
    generation: int
    cause: str | None = None
    by: str | None = None


class RunSucceeded(EventData):
    """Every step has ended; the result is the output of this step."""

    type = "run.succeeded"
    shows = "succeeded"
    ends = True
    counts = "RunsSucceeded"
    result_from: str


class RunFailed(EventData):
    """It was given up, for the sake of this step or (null) of a limit of its own."""

    type = "run.failed"
    shows = "failed"
    ends = True
    counts = "RunsFailed"
    step_id: str | None
    code: str
    message: str


class RunCancelRequested(EventData):
    """Somebody cancelled it: nothing more begins, and it ends once its last attempt has."""

    type = "run.cancel_requested"
    shows = "cancel_requested"
    by: str
    reason: str


class RunCancelled(EventData):
    """It was cancelled; the ledger says what had happened by then."""

    type = "run.cancelled"
    shows = "cancelled"
    ends = True
    generation: int


class StepStarted(EventData):
    """A first attempt began; a retry and a takeover tell of the others."""

    type = "step.started"
    shows = "executing"
    step_id: str
    attempt: int
    attempt_id: str
    tool: str


class FanOutStarted(EventData):
    """A `for_each` knows its items; its children tell of themselves."""

    type = StepStarted.type
    shows = StepStarted.shows
    step_id: str
    children: int


class StepProgress(EventData):
    """An attempt says how far it is (0 to 1); `added`: it ended, and waits for steps it added."""

    type = "step.progress"
    step_id: str
    attempt: int
    fraction: float
    note: str
    added: int | None = None


class StepSucceeded(EventData):
    """A checkpoint was committed: the step never runs again."""

    type = "step.succeeded"
    shows = "succeeded"
    ends = True
    counts = "StepsSucceeded"
    step_id: str
    attempt: int
    attempt_id: str
    input_tokens: int | None = None
    output_tokens: int | None = None


class FanOutSucceeded(EventData):
    """All children of a `for_each`, or all steps that a step added, have ended."""

    type = StepSucceeded.type
    shows = StepSucceeded.shows
    ends = StepSucceeded.ends
    counts = StepSucceeded.counts
    step_id: str
    children: int


class StepRetrying(EventData):
    """An attempt failed; the next one begins after `delay_seconds`."""

    type = "step.retrying"
    shows = "backing_off"
    counts = "StepsRetried"
    interrupts = True
    step_id: str
    attempt: int
    next_attempt: int
    delay_seconds: float
    code: str
    message: str


class StepTakenOver(EventData):
    """An attempt was lost, perhaps (`dead_for_sure`: certainly) dead; this one replaces it."""

    type = "step.taken_over"
    shows = "executing"
    interrupts = True
    step_id: str
    attempt: int
    attempt_id: str
    cause: str
    dead_for_sure: bool


class StepFailed(EventData):
    """A step was given up; its run fails once its open attempts have stopped."""

    type = "step.failed"
    shows = "failed"
    ends = True
    counts = "StepsFailed"
    step_id: str
    attempt: int
    not_retried_because: str
    code: str
    message: str


class StepSkipped(EventData):
    """An optional step was given up; what depends on it sees null."""

    type = "step.skipped"
    shows = "skipped"
    ends = True
    step_id: str
    attempt: int
    code: str
    message: str


class StepOutcomeUnknown(EventData):
    """Whether a write happened is unknown; its probe is asked at `probed_at` (epoch seconds)."""

    type = "step.outcome_unknown"
    shows = "unknown"
    interrupts = True
    step_id: str
    attempt: int
    probed_at: float
    code: str
    message: str


class StepNeedsReconciliation(EventData):
    """Nobody but a person can tell whether a write happened, or how the step goes on."""

    type = "step.needs_reconciliation"
    shows = "needs_reconciliation"
    counts = "NeedsReconciliation"
    interrupts = True
    step_id: str
    attempt: int
    code: str
    message: str


class StepReconciled(EventData):
    """A doubt was settled by its probe or a person; `code` names a doubt about something else."""

    type = "step.reconciled"
    shows = "executing"
    interrupts = True
    step_id: str
    outcome: str
    by: str
    code: str | None = None


class EffectDuplicateSuspected(EventData):
    """A write that was sent again was found twice, under these two keys."""

    type = "effect.duplicate_suspected"
    counts = "DuplicatesSuspected"
    step_id: str
    key: str
    other_key: str


SHAPES: Final = tuple(
    sorted(EventData.__subclasses__(), key=lambda s: s.__module__ == wait_events.__name__)
)
"""Every shape, those of waits last; a type may have two."""

TYPES: Final = {shape.type: shape for shape in SHAPES}
"""What each type means; two shapes of one type mean the same."""

ENDS: Final = frozenset(s.type for s in SHAPES if s.ends and s.type.startswith("run."))
"""Types with which a run ends."""

STEP_ENDS: Final = frozenset(s.type for s in SHAPES if s.ends and s.type.startswith("step."))
"""Types with which a step ends."""

INTERRUPTIONS: Final = tuple(kind for kind in TYPES if TYPES[kind].interrupts)
"""Types that tell of work that did not go straight on, in this module's order."""


def matches(pattern: str, event_type: str) -> bool:
    """Whether a filter lets a type through: `run.failed`, a beginning like `run.*`, or `*`."""
    if pattern.endswith("*"):
        return event_type.startswith(pattern[:-1])
    return pattern == event_type
