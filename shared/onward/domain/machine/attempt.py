"""An attempt ends: its tool returned or raised, or the driver lost it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from onward.domain.limits import SHORT_DELAY
from onward.domain.machine.claim import reopen
from onward.domain.machine.finish import charge, close, fail_step, said, skip_step, succeed_step
from onward.domain.machine.move import next_move
from onward.domain.model import EffectState, Failure, StepStatus, Usage, Wait, attempt_id
from onward.domain.protocol import AttemptClosed, Decision
from onward.domain.retry import Refusal, Retry, another

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import Effect, PlannedStep, Step
    from onward.domain.protocol import Complete, Fail, Recover, Report


def opened(turn: Turn, step_id: str, fence: int) -> tuple[Step, int] | None:
    """Return an open attempt and its lane; None when it is closed or was taken over (G5)."""
    lane = turn.run.open.get(step_id)
    if lane is None:
        return None
    row = turn.claimed(step_id)
    return (row, lane) if row.fence == fence else None


def complete(turn: Turn, command: Complete) -> Decision:
    """Commit a result and claim what is next in the same turn."""
    step, lane = _mine(turn, command.step_id, command.fence)
    succeed_step(turn, step, command.output, command.usage)
    return next_move(turn, lane)


def fail(turn: Turn, command: Fail) -> Decision:
    """Commit an error: try again, ask a person, skip the step or give it up."""
    step, lane = _mine(turn, command.step_id, command.fence)
    planned = turn.planned(step.plan_key)
    charge(turn, command.usage)
    step = replace(step, tries=step.tries + 1, usage=step.usage + command.usage)
    if command.failure.code == "outcome_unknown" and not resendable(turn, planned, step):
        ask(turn, step, command.failure)
        return next_move(turn, lane)
    answer = another(
        turn.run, planned.policy, step.tries, command.failure, turn.now, command.jitter
    )
    if isinstance(answer, Retry):
        back_off(turn, step, lane, command.failure, answer.delay)
    elif command.failure.code == "outcome_unknown" and planned.policy.writes:
        ask(turn, step, command.failure)
    else:
        give_up(turn, planned, step, command.failure, answer)
    return next_move(turn, lane)


def recover(turn: Turn, command: Recover) -> Decision:
    """Close a lost attempt if it is open; else the lane's open claim gets a raised fence.

    The second case: the worker committed, claimed the next step, and died before it answered.
    """
    lost = opened(turn, command.step_id, command.fence)
    if lost is not None:
        take_over(turn, lost[0], command.lane, command.cause, dead=command.dead)
        return next_move(turn, command.lane)
    for step_id, lane in list(turn.run.open.items()):
        if lane == command.lane:
            reopen(turn, turn.claimed(step_id), lane)
            _tell_taken_over(turn, turn.claimed(step_id), command.cause, dead=command.dead)
    return next_move(turn, command.lane)


def report(turn: Turn, command: Report) -> None:
    """Note how far an open attempt is."""
    step, _ = _mine(turn, command.step_id, command.fence)
    turn.emit(
        "step.progress",
        step_id=step.step_id,
        attempt=step.fence,
        fraction=command.fraction,
        note=command.note,
    )


def take_over(turn: Turn, step: Step, lane: int, cause: str, *, dead: bool) -> None:
    """Fence a lost attempt off and open the next one, if the budget and the tool allow it.

    A write that may have been sent is sent again only where its receiver honours the key (G3);
    any other is unknown, and a person is asked (G4).
    """
    planned = turn.planned(step.plan_key)
    failure = Failure("attempt_lost", f"the attempt was lost: {cause}", retryable=True)
    step = replace(step, tries=step.tries + 1)
    if was_sent(turn, planned, step) and not resendable(turn, planned, step):
        ask(turn, step, failure)
        return
    answer = another(turn.run, planned.policy, step.tries, failure, turn.now, 0.0)
    if isinstance(answer, Refusal):
        if was_sent(turn, planned, step):
            ask(turn, step, failure)
        else:
            give_up(turn, planned, step, failure, answer)
        return
    turn.set(retries_left=turn.run.retries_left - 1)
    reopen(turn, step, lane, tries=step.tries)
    _tell_taken_over(turn, turn.claimed(step.step_id), cause, dead=dead)


def back_off(turn: Turn, step: Step, lane: int, failure: Failure, delay: float) -> None:
    """Open the next attempt after a short delay in its lane, or leave a long one for a Park."""
    turn.set(retries_left=turn.run.retries_left - 1)
    rounded = float(math.ceil(delay) if failure.retry_after else round(delay))
    if rounded <= SHORT_DELAY:
        reopen(turn, replace(step, error=failure), lane, delay=rounded, tries=step.tries)
    else:
        until = turn.now + delay
        close(turn, step, StepStatus.BACKING_OFF, error=failure)
        turn.put(replace(turn.claimed(step.step_id), ended_at=None))
        waits = turn.run.waiting | {step.step_id: Wait(StepStatus.BACKING_OFF, until)}
        turn.set(waiting=waits)
    turn.emit(
        "step.retrying",
        step_id=step.step_id,
        attempt=step.fence,
        next_attempt=step.fence + 1,
        delay_seconds=delay,
        **said(failure),
    )


def give_up(
    turn: Turn, planned: PlannedStep, step: Step, failure: Failure, reason: Refusal
) -> None:
    """End a step that gets no further attempt."""
    if planned.policy.writes:
        _settle_effect(turn, step, failure)
    if planned.optional:
        skip_step(turn, step, failure)
    else:
        fail_step(turn, step, failure, reason.value)


def ask(turn: Turn, step: Step, failure: Failure) -> None:
    """Call an unknown outcome unknown and wait for a person, whatever the step's retries."""
    effect = turn.effect(step.step_id)
    if effect is not None:
        fenced = replace(effect, state=EffectState.UNKNOWN, fence=step.fence + 1)
        turn.put_effect(fenced)
    close(turn, step, StepStatus.NEEDS_RECONCILIATION, fence=step.fence + 1, error=failure)
    turn.put(replace(turn.claimed(step.step_id), ended_at=None))
    wait = Wait(StepStatus.NEEDS_RECONCILIATION)
    turn.set(waiting=turn.run.waiting | {step.step_id: wait})
    turn.emit(
        "step.needs_reconciliation", step_id=step.step_id, attempt=step.fence, **said(failure)
    )


def was_sent(turn: Turn, planned: PlannedStep, step: Step) -> bool:
    """Whether an action may have touched the world. An unmarked effect was never sent."""
    if not planned.policy.writes:
        return False
    effect = turn.effect(step.step_id)
    return effect is not None and effect.sent_fence is not None


def resendable(turn: Turn, planned: PlannedStep, step: Step) -> bool:
    """Whether a receiver honours this action's key still, so that a resend is no second write."""
    policy = planned.policy
    if not policy.writes:
        return True
    effect = turn.effect(step.step_id)
    if policy.idempotency != "native" or effect is None:
        return False
    sent_at = effect.sent_at if effect.sent_at is not None else turn.now
    return policy.key_ttl is None or turn.now < sent_at + policy.key_ttl


def _mine(turn: Turn, step_id: str, fence: int) -> tuple[Step, int]:
    held = opened(turn, step_id, fence)
    if held is None:
        raise AttemptClosed(attempt_id(step_id, fence))
    return held


def _settle_effect(turn: Turn, step: Step, failure: Failure) -> None:
    """Say of a given-up write what is known of it: nothing, unless it was never sent."""
    effect: Effect | None = turn.effect(step.step_id)
    if effect is None:
        return
    known = effect.sent_fence is None or failure.code != "attempt_lost"
    state = EffectState.NOT_APPLIED if known else EffectState.UNKNOWN
    turn.put_effect(replace(effect, state=state))


def _tell_taken_over(turn: Turn, step: Step, cause: str, *, dead: bool) -> None:
    turn.emit(
        "step.taken_over",
        step_id=step.step_id,
        attempt=step.fence,
        attempt_id=attempt_id(step.step_id, step.fence),
        cause=cause,
        dead_for_sure=dead,
    )
