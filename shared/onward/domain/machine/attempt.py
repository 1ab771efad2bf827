"""An attempt ends: its tool returned or raised, or the driver lost it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from onward.domain.errors import OutcomeUnknown
from onward.domain.limits import MAX_MESSAGE, SHORT_DELAY
from onward.domain.machine import ledger
from onward.domain.machine.claim import reopen
from onward.domain.machine.finish import (
    ask,
    bounded,
    charge,
    close,
    fail_step,
    rest,
    said,
    skip_step,
    succeed_step,
)
from onward.domain.machine.move import next_move
from onward.domain.model import MAIN_LANE, Failure, StepStatus, Usage, Wait, attempt_id
from onward.domain.protocol import AttemptClosed, Decision
from onward.domain.retry import Refusal, Retry, another

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import PlannedStep, Step
    from onward.domain.protocol import Complete, Fail, Recover, Report


def complete(turn: Turn, command: Complete) -> Decision:
    """Commit a result and claim what is next in the same turn."""
    step, lane = _mine(turn, command.step_id, command.fence)
    succeed_step(turn, step, command.output, command.usage)
    return next_move(turn, lane)


def fail(turn: Turn, command: Fail) -> Decision:
    """Commit an error: try again, ask a person, skip the step or give it up."""
    step, lane = _mine(turn, command.step_id, command.fence)
    planned = turn.planned(step.plan_key)
    failure = bounded(command.failure)
    charge(turn, command.usage)
    step = replace(step, tries=step.tries + 1, usage=step.usage + command.usage)
    unclear = failure.code == OutcomeUnknown.code
    ledger.failed(turn, planned, step, unclear=unclear)
    worth = replace(failure, retryable=failure.retryable or unclear)
    answer = _another(turn, planned, step, worth, command.jitter)
    if isinstance(answer, Retry):
        back_off(turn, step, lane, failure, answer.delay)
    else:
        give_up(turn, planned, step, failure, answer)
    return next_move(turn, lane)


def recover(turn: Turn, command: Recover) -> Decision:
    """Close a lost attempt if it is open; else the lane's open claims get a raised fence.

    The second case: the worker committed, claimed what is next, and died before it answered.
    """
    cause, dead = command.cause[:MAX_MESSAGE], command.dead
    lost = _opened(turn, command.step_id, command.fence)
    if lost is not None:
        step = replace(lost[0], tries=lost[0].tries + 1)
        take_over(turn, step, command.lane, cause, dead=dead)
        return next_move(turn, command.lane)
    claims = [s for s, lane in turn.run.open.items() if command.lane in {MAIN_LANE, lane}]
    for step in map(turn.claimed, claims):
        planned = turn.planned(step.plan_key)
        if ledger.lost_unclear(turn, planned, step):
            take_over(turn, step, command.lane, cause, dead=dead)
        else:
            reopen(turn, step, command.lane)
            _tell_taken_over(turn, step.step_id, cause, dead=dead)
    return next_move(turn, command.lane)


def report(turn: Turn, command: Report) -> None:
    """Note how far an open attempt is."""
    step, _ = _mine(turn, command.step_id, command.fence)
    turn.emit(
        "step.progress",
        step_id=step.step_id,
        attempt=step.fence,
        fraction=command.fraction,
        note=command.note[:MAX_MESSAGE],
    )


def take_over(turn: Turn, step: Step, lane: int, cause: str, *, dead: bool) -> None:
    """Fence a lost attempt off and open the next one, if the budget and the tool allow it.

    A write that may have been sent is done when its worker kept the receipt; else it is sent
    again only where its receiver honours the key (G3); else it is unknown and a person asked (G4).
    """
    planned = turn.planned(step.plan_key)
    failure = Failure("attempt_lost", f"the attempt was lost: {cause}", retryable=True)
    unclear = ledger.lost_unclear(turn, planned, step)
    receipt = ledger.receipt(turn, planned, step)
    if receipt is not None:
        succeed_step(turn, step, receipt, Usage())
        return
    ledger.failed(turn, planned, step, unclear=unclear)
    answer = _another(turn, planned, step, failure, 0.0)
    if isinstance(answer, Refusal):
        give_up(turn, planned, step, failure, answer)
        return
    turn.set(retries_left=turn.run.retries_left - 1)
    reopen(turn, step, lane)
    _tell_taken_over(turn, step.step_id, cause, dead=dead)


def back_off(turn: Turn, step: Step, lane: int, failure: Failure, delay: float) -> None:
    """Open the next attempt after a short delay in its lane, or leave a long one for a Park."""
    turn.set(retries_left=turn.run.retries_left - 1)
    # A lane waits whole seconds: a provider's wish is rounded up, our own jitter to the nearest.
    rounded = float(math.ceil(delay) if delay <= failure.retry_after else round(delay))
    if rounded <= SHORT_DELAY:
        reopen(turn, replace(step, error=failure), lane, delay=rounded)
    else:
        close(turn, step, StepStatus.BACKING_OFF, error=failure)
        rest(turn, step.step_id, Wait(StepStatus.BACKING_OFF, turn.now + delay))
    turn.emit(
        "step.retrying",
        step_id=step.step_id,
        attempt=step.fence,
        next_attempt=step.fence + 1,
        delay_seconds=rounded if rounded <= SHORT_DELAY else delay,
        **said(failure),
    )


def give_up(
    turn: Turn, planned: PlannedStep, step: Step, failure: Failure, reason: Refusal
) -> None:
    """End a step that gets no further attempt; an unknown outcome is never called an end (G4)."""
    receipt = ledger.receipt(turn, planned, step)
    if receipt is not None:
        succeed_step(turn, step, receipt, Usage())
        return
    if ledger.in_doubt(turn, planned, step):
        ask(turn, planned, step, failure)
        return
    ledger.close_off(turn, planned, step)
    if planned.optional:
        skip_step(turn, step, failure)
    else:
        fail_step(turn, step, failure, reason.value)


def _another(
    turn: Turn, planned: PlannedStep, step: Step, failure: Failure, jitter: float
) -> Retry | Refusal:
    """Ask the retry budget, and the ledger whether sending again is safe."""
    doubt = ledger.in_doubt(turn, planned, step)
    if turn.run.failing is not None and not doubt:
        return Refusal.RUN_FAILING
    answer = another(turn.run, planned.policy, step.tries, failure, turn.now, jitter)
    if doubt and isinstance(answer, Retry):
        at = turn.now + answer.delay
        if not ledger.resendable(turn, planned, step, at):
            return Refusal.NOT_RETRYABLE
    return answer


def _opened(turn: Turn, step_id: str, fence: int) -> tuple[Step, int] | None:
    """Return an open attempt and its lane; None when it is closed or was taken over (G5)."""
    lane = turn.run.open.get(step_id)
    if lane is None:
        return None
    row = turn.claimed(step_id)
    return (row, lane) if row.fence == fence else None


def _mine(turn: Turn, step_id: str, fence: int) -> tuple[Step, int]:
    held = _opened(turn, step_id, fence)
    if held is None:
        raise AttemptClosed(attempt_id(step_id, fence))
    return held


def _tell_taken_over(turn: Turn, step_id: str, cause: str, *, dead: bool) -> None:
    step = turn.claimed(step_id)
    turn.emit(
        "step.taken_over",
        step_id=step.step_id,
        attempt=step.fence,
        attempt_id=attempt_id(step.step_id, step.fence),
        cause=cause,
        dead_for_sure=dead,
    )
