"""An attempt ends: its tool returned or raised, or the driver lost it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onward.domain.errors import OutcomeUnknown
from onward.domain.limits import FUNCTION_SECONDS, MAX_MESSAGE, SHORT_DELAY, THROTTLED_REST
from onward.domain.machine import ledger
from onward.domain.machine.claim import reopen
from onward.domain.machine.finish import (
    accept,
    ask,
    bounded,
    charge,
    close,
    extend,
    fail_step,
    rest,
    said,
    skip_step,
    succeed_step,
)
from onward.domain.machine.gone import VERSION_GONE, is_gone, question
from onward.domain.machine.move import next_move
from onward.domain.model import MAIN_LANE, Failure, StepStatus, Wait, attempt_id
from onward.domain.protocol import AttemptClosed, Decision, PartsMoved, Verdict
from onward.domain.retry import Refusal, Retry, another

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import PlannedStep, Step
    from onward.domain.protocol import Complete, Extension, Fail, Recover, Report


def complete(turn: Turn, command: Complete) -> Decision:
    """Commit a result and claim what is next in the same turn.

        one step adds "x"      read parts ─► validate ─────────────────► commit: the parts moved
        another adds "x"           read parts ─► validate ─► commit

    Each fits to the run without the other; both would make a step whose claim conflicts with the
    other's for ever. So steps are adopted only by the parts that they were validated against.
    """
    step, lane = _mine(turn, command.step_id, command.fence)
    if command.extension is not None and command.extension.added:
        _check_parts(turn, command.extension)
    step = turn.resumed(step, command.started_at)
    if command.reconciled:
        tell_reconciled(turn, step, Verdict.APPLIED, "probe")
    if command.extension is not None and command.extension.added:
        extend(turn, step, command.output, command.usage, command.extension)
    else:
        succeed_step(turn, step, command.output, command.usage)
    return next_move(turn, lane)


def _check_parts(turn: Turn, extension: Extension) -> None:
    if extension.seen != turn.run.parts:
        raise PartsMoved(f"{extension.part} was validated against other parts")


def fail(turn: Turn, command: Fail) -> Decision:
    """Commit an error: try again, ask a person, skip the step or give it up."""
    step, lane = _mine(turn, command.step_id, command.fence)
    planned = turn.planned(step.plan_key)
    charge(turn, command.usage)
    step = turn.resumed(step, command.started_at)
    tries = step.tries + command.called
    step = replace(step, tries=tries, usage=step.usage + command.usage)
    _failed(turn, planned, step, lane, bounded(command.failure), command.jitter)
    return next_move(turn, lane)


def _failed(
    turn: Turn, planned: PlannedStep, step: Step, lane: int, failure: Failure, jitter: float
) -> None:
    """Close an attempt that failed, and open the next one or let its step rest, or give it up."""
    unclear = failure.code == OutcomeUnknown.code
    ledger.failed(turn, planned, step, unclear=unclear)
    worth = replace(failure, retryable=failure.retryable or unclear)
    answer = _another(turn, planned, step, worth, jitter)
    step = turn.interrupt(step, failure.code, doubtful=unclear and planned.policy.writes)
    if isinstance(answer, Refusal):
        give_up(turn, planned, step, failure, answer)
    elif ledger.quiet_at(turn, planned, step) is not None:
        wait_to_probe(turn, planned, step, failure, turn.now + answer.delay)
    else:
        back_off(turn, step, lane, failure, answer.delay)


def recover(turn: Turn, command: Recover) -> Decision:
    """Close a lost attempt if it is open; else the lane's open claims get a raised fence.

    The second case: the worker committed, claimed what is next, and died before it answered.
    """
    cause, dead = command.cause[:MAX_MESSAGE], command.dead
    lost = _opened(turn, command.step_id, command.fence)
    if lost is not None and _never_began(turn, command, *lost):
        return next_move(turn, command.lane)
    if lost is not None:
        step = replace(lost[0], tries=lost[0].tries + 1)
        take_over(turn, step, command.lane, cause, dead=dead)
        return next_move(turn, command.lane)
    claims = [s for s, lane in turn.run.open.items() if command.lane in {MAIN_LANE, lane}]
    for step in map(turn.claimed, claims):
        planned = turn.planned(step.plan_key)
        if ledger.lost_unclear(turn, planned, step):
            # Whoever sent this write is not the process that was lost.
            take_over(turn, step, command.lane, cause, dead=False)
        else:
            reopen(turn, turn.interrupt(step, cause), command.lane)
            _tell_taken_over(turn, step.step_id, cause, dead=dead)
    return next_move(turn, command.lane)


def _never_began(turn: Turn, command: Recover, step: Step, lane: int) -> bool:
    """Close an attempt that ran nothing, if that is sure; False: it is taken over like any other.

    It takes nothing off its step's attempts. What had no room rests and is tried again; where the
    worker's version is gone a person has to bring it back, or answer for the step (G10).
    """
    planned = turn.planned(step.plan_key)
    if command.called or ledger.lost_unclear(turn, planned, step):
        return False
    if command.gone and turn.run.failing is None:
        why = question(turn, planned, step)
        ask(turn, planned, turn.interrupt(step, command.cause), why)
        return True
    seconds = THROTTLED_REST * (1 + command.jitter)
    told = bounded(Failure("not_begun", f"the attempt was never begun: {command.cause}"))
    failure = replace(told, retryable=True, retry_after=seconds)
    _failed(turn, planned, step, lane, failure, command.jitter)
    return True


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
    again at once where its receiver honours the key or the fence (G3), probed once nothing of it
    can still arrive, or called unknown, and a person is asked (G4).
    """
    planned = turn.planned(step.plan_key)
    failure = Failure("attempt_lost", f"the attempt was lost: {cause}", retryable=True)
    unclear = ledger.lost_unclear(turn, planned, step)
    step = turn.interrupt(step, cause, doubtful=unclear)
    receipt = ledger.receipt(turn, planned, step)
    if receipt is not None:
        accept(turn, step, receipt)
        return
    ledger.failed(turn, planned, step, unclear=unclear, lives=0.0 if dead else FUNCTION_SECONDS)
    answer = _another(turn, planned, step, failure, 0.0)
    if isinstance(answer, Refusal):
        give_up(turn, planned, step, failure, answer)
    elif ledger.quiet_at(turn, planned, step) is not None and answer.delay > 0:
        wait_to_probe(turn, planned, step, failure, turn.now + answer.delay)
    else:
        turn.set(retries_left=turn.run.retries_left - 1)
        reopen(turn, step, lane)
        _tell_taken_over(turn, step.step_id, cause, dead=dead)


def wait_to_probe(
    turn: Turn, planned: PlannedStep, step: Step, failure: Failure, until: float
) -> None:
    """Call an outcome unknown until its probe can be believed; nobody may send meanwhile.

    Sooner, a request of the lost attempt could still be on its way: "not applied" would be true
    when the probe asks and false when the resend arrives.
    """
    turn.set(retries_left=turn.run.retries_left - 1)
    ledger.close_off(turn, planned, step)
    close(turn, step, StepStatus.UNKNOWN, fence=step.fence + 1, error=failure)
    rest(turn, step.step_id, Wait(StepStatus.UNKNOWN, until))
    turn.emit(
        "step.outcome_unknown",
        step_id=step.step_id,
        attempt=step.fence,
        probed_at=until,
        **said(failure),
    )


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
        accept(turn, step, receipt)
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
    if not doubt or isinstance(answer, Refusal):
        return answer
    quiet = ledger.quiet_at(turn, planned, step)
    if quiet is not None:
        answer = Retry(max(answer.delay, quiet - turn.now))
    at = turn.now + answer.delay
    if turn.run.deadline is not None and at >= turn.run.deadline:
        return Refusal.DEADLINE
    return answer if ledger.resendable(turn, planned, step, at) else Refusal.NOT_RETRYABLE


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


def tell_reconciled(turn: Turn, step: Step, verdict: Verdict, by: str) -> None:
    """Say in the log what was found out about a doubtful write, and by whom.

    Where the question was another one, which: what had no version to run it has written nothing.
    """
    asked: dict[str, Any] = {"code": VERSION_GONE.code} if is_gone(step) else {}
    turn.emit("step.reconciled", step_id=step.step_id, outcome=verdict.value, by=by, **asked)


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
