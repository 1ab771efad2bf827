"""A step comes to its end: what that makes ready, and how a run ends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

from onward.domain.errors import InvalidOutput
from onward.domain.events import (
    FanOutSucceeded,
    StepFailed,
    StepNeedsReconciliation,
    StepProgress,
    StepSkipped,
    StepSucceeded,
)
from onward.domain.limits import (
    CLOSING_ROWS,
    MAX_MESSAGE,
)
from onward.domain.machine import ledger
from onward.domain.machine.counting import complete_one, count_one, hold
from onward.domain.model import (
    Cursor,
    Failing,
    Failure,
    Fan,
    Payload,
    Step,
    StepStatus,
    Usage,
    Wait,
    attempt_id,
    part_of,
    plan_key,
)
from onward.domain.nesting import adder, is_added
from onward.domain.retry import Refusal

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import PlannedStep
    from onward.domain.protocol import Extension


def close(turn: Turn, step: Step, status: StepStatus, **changes: Any) -> None:
    """Put a claimed step into a status that it will not leave by itself; free its lane."""
    at = turn.closes_at
    turn.put(replace(step, status=status, ended_at=at, not_before=None, deadline=None, **changes))
    run = turn.run
    turn.set(
        open={s: lane for s, lane in run.open.items() if s != step.step_id},
        waiting={s: wait for s, wait in run.waiting.items() if s != step.step_id},
    )


def succeed_step(turn: Turn, step: Step, output: Payload, usage: Usage) -> None:
    """Commit a checkpoint: from here on the step never runs again (G2).

    What a write returned and JSON cannot carry is no checkpoint, and no doubt either: the ledger
    says `applied`, and the step fails.
    """
    planned = turn.planned(step.plan_key)
    ledger.applied(turn, planned, step, output)
    if output.refused is not None:
        _refuse_output(turn, planned, step, output.refused, usage)
        return
    close(turn, step, StepStatus.SUCCEEDED, output=output, usage=step.usage + usage, error=None)
    charge(turn, usage)
    turn.emit(
        StepSucceeded(
            step_id=step.step_id,
            attempt=step.attempt,
            attempt_id=attempt_id(step.step_id, step.fence),
            **spent(usage),
        )
    )
    finished(turn, planned, step)


def _refuse_output(turn: Turn, planned: PlannedStep, step: Step, why: str, usage: Usage) -> None:
    failure = bounded(Failure(InvalidOutput.code, why))
    charge(turn, usage)
    step = replace(step, usage=step.usage + usage)
    if planned.optional:
        skip_step(turn, step, failure)
    else:
        fail_step(turn, step, failure, Refusal.NOT_RETRYABLE.value)


def accept(turn: Turn, step: Step, receipt: Payload) -> None:
    """End a step with what its receiver answered a worker that could not commit it.

    Nothing is claimed in the same commit: inputs are made of committed outputs. A later attempt
    may be open, and its worker about to send the same action again: it may not any more.
    """
    succeed_step(turn, turn.resumed(step, None), receipt, Usage())
    ledger.close_off(turn, turn.planned(step.plan_key), step)
    turn.unread = True


def skip_step(turn: Turn, step: Step, failure: Failure) -> None:
    """Let the run go on without an optional step; what depends on it sees null."""
    close(turn, step, StepStatus.SKIPPED, error=failure)
    turn.emit(StepSkipped(step_id=step.step_id, attempt=step.attempt, **said(failure)))
    if step.index is None:
        turn.set(skipped=turn.run.skipped + 1)
    finished(turn, turn.planned(step.plan_key), step)


def fail_step(turn: Turn, step: Step, failure: Failure, reason: str) -> None:
    """Give a step up; the run fails as soon as its other open attempts have stopped."""
    close(turn, step, StepStatus.FAILED, error=failure)
    turn.emit(
        StepFailed(
            step_id=step.step_id, attempt=step.attempt, not_retried_because=reason, **said(failure)
        )
    )
    if turn.run.failing is None:
        turn.set(failing=Failing(failure, step.step_id))


def ask(turn: Turn, planned: PlannedStep, step: Step, failure: Failure) -> None:
    """Call an unknown outcome unknown and wait for a person, whatever the step's retries (G4).

    The raised fence refuses whatever the attempts so far may still want to commit or send.
    """
    ledger.close_off(turn, planned, step)
    close(turn, step, StepStatus.NEEDS_RECONCILIATION, fence=step.fence + 1, error=failure)
    rest(turn, step.step_id, Wait(StepStatus.NEEDS_RECONCILIATION))
    turn.emit(StepNeedsReconciliation(step_id=step.step_id, attempt=step.attempt, **said(failure)))


def rest(turn: Turn, step_id: str, wait: Wait) -> None:
    """Let a step that was closed wait: it has not ended."""
    turn.put(replace(turn.claimed(step_id), ended_at=None))
    turn.set(waiting=turn.run.waiting | {step_id: wait})


def extend(turn: Turn, step: Step, output: Payload, usage: Usage, extension: Extension) -> None:
    """Commit a checkpoint that adds steps: they are adopted with it, in the same commit.

    The step itself ends when they have, so that what depends on it may use what they made.
    """
    ledger.applied(turn, turn.planned(step.plan_key), step, output)
    charge(turn, usage)
    close(
        turn,
        step,
        StepStatus.EXECUTING,
        output=output,
        usage=step.usage + usage,
        error=None,
        added=extension.added,
    )
    turn.put(replace(turn.claimed(step.step_id), ended_at=None))
    run, count = turn.run, len(extension.added)
    turn.set(
        extensions=run.extensions + 1,
        steps_total=run.steps_total + count,
        ready=(*run.ready, Cursor(plan_key(extension.part, ""), 0, extension.roots)),
    )
    hold(turn, step.plan_key, Fan(count, next=count))
    turn.emit(
        StepProgress(
            step_id=step.step_id,
            attempt=step.attempt,
            fraction=1.0,
            note=f"added {count} steps",
            added=count,
        )
    )


def finished(turn: Turn, planned: PlannedStep, step: Step) -> None:
    """Count a step (or a fan-out's child) as done and free what waited for it."""
    if step.index is None:
        release(turn, planned)
        return
    fan = replace(turn.run.fans[planned.key], done=turn.run.fans[planned.key].done + 1)
    turn.set(fans=turn.run.fans | {planned.key: fan})
    if fan.done == fan.total and not turn.hurried:
        close_fan(turn, planned)


def close_fan(turn: Turn, planned: PlannedStep) -> None:
    """End a `for_each` or an extended step whose children or added steps have all ended.

    The output of a `for_each` is the list of its children's; its row names their manifest.
    """
    parent = turn.claimed(planned.step_id)
    turn.set(
        fans={key: fan for key, fan in turn.run.fans.items() if key != planned.key},
        extended={key: fan for key, fan in turn.run.extended.items() if key != planned.key},
    )
    if parent.children is not None:
        parent = replace(parent, output=turn.manifest(parent, parent.children))
    close(turn, parent, StepStatus.SUCCEEDED)
    turn.emit(
        FanOutSucceeded(
            step_id=parent.step_id,
            children=len(parent.added) if parent.children is None else parent.children,
        )
    )
    release(turn, planned)


def release(turn: Turn, planned: PlannedStep) -> None:
    """Make dependents ready: singles as one cursor, joins by counting down what they miss."""
    run = turn.run
    frontier = dict(run.frontier)
    for key, needs in planned.joins:
        frontier[key] = frontier.get(key, needs) - 1
    ready = run.ready
    if planned.singles:
        ready = (*ready, Cursor(planned.key, 0, len(planned.singles)))
    turn.set(done=run.done + 1, frontier=frontier, ready=ready)
    if is_added(planned.key):
        count_one(turn, adder(part_of(planned.key)))


def close_added(turn: Turn) -> None:
    """End steps whose added steps have all ended, as many as one commit has room for.

    Each may be the last one that another step added, and so on up. The rest is for the next
    commit: `unclosed` says whether there is any. A fan-out is among them only if there was no time
    to end it with its last child.
    """
    if turn.hurried:
        return
    while turn.rows < CLOSING_ROWS and (key := complete_one(turn.run)) is not None:
        close_fan(turn, turn.planned(key))


def unclosed(turn: Turn) -> bool:
    """Whether a step has not ended although those that it added, or its children, have."""
    return complete_one(turn.run) is not None


def charge(turn: Turn, usage: Usage) -> None:
    """Take tokens off the run's budget; it may overshoot by the attempts that are open."""
    left = turn.run.tokens_left
    turn.set(
        usage=turn.run.usage + usage,
        tokens_left=None if left is None else left - usage.total,
    )


def bounded(failure: Failure) -> Failure:
    """Cut a failure's message to what rows and events have room for."""
    return replace(failure, message=failure.message[:MAX_MESSAGE])


class Said(TypedDict):
    """A failure as event data."""

    code: str
    message: str


class Spent(TypedDict, total=False):
    """A bill as event data."""

    input_tokens: int
    output_tokens: int


def said(failure: Failure) -> Said:
    """Return a failure as event data."""
    return {"code": failure.code, "message": failure.message}


def spent(usage: Usage) -> Spent:
    """Return a bill as event data; nothing when nothing was spent."""
    if not usage.total:
        return {}
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
