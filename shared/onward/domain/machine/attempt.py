"""An attempt ends: its tool returned or raised."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from onward.domain.errors import OutcomeUnknown
from onward.domain.events import StepOutcomeUnknown, StepProgress, StepReconciled, StepRetrying
from onward.domain.limits import MAX_MESSAGE, SHORT_DELAY, THROTTLED_REST
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
from onward.domain.machine.gone import VERSION_GONE, is_gone
from onward.domain.machine.move import next_move
from onward.domain.model import StepStatus, Wait, attempt_id
from onward.domain.protocol import AttemptClosed, Decision, PartsMoved, Verdict
from onward.domain.retry import Refusal, Retry, another

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import Failure, PlannedStep, Step
    from onward.domain.protocol import Complete, Extension, Fail, Report


def complete(turn: Turn, command: Complete) -> Decision:
    """Commit a result and claim what is next in the same turn.

        one step adds "x"      read plan ─► validate ─────────────────► commit: the plan has moved
        another adds "x"           read plan ─► validate ─► commit

    Each fits to the run without the other; both would make a step whose claim conflicts with the
    other's for ever. So steps are adopted only by the plan that they were validated against.
    """
    step, lane = _mine(turn, command.step_id, command.fence)
    if command.extension is not None and command.extension.added:
        _check_unmoved(turn, command.extension)
    step = turn.resumed(step, command.started_at)
    if command.reconciled:
        tell_reconciled(turn, step, Verdict.APPLIED, "probe")
    if command.extension is not None and command.extension.added:
        extend(turn, step, command.output, command.usage, command.extension)
    else:
        succeed_step(turn, step, command.output, command.usage)
    return next_move(turn, lane)


def _check_unmoved(turn: Turn, extension: Extension) -> None:
    if extension.seen != turn.run.extensions:
        raise PartsMoved(f"{extension.part} was validated against another plan")


def fail(turn: Turn, command: Fail) -> Decision:
    """Commit an error: try again, ask a person, skip the step or give it up."""
    step, lane = _mine(turn, command.step_id, command.fence)
    planned = turn.planned(step.plan_key)
    if not command.called and command.failure.code == OutcomeUnknown.code:
        _ask_later(turn, planned, replace(step, unbegun=True), command.failure)
        return next_move(turn, lane)
    charge(turn, command.usage)
    step = replace(step, usage=step.usage + command.usage)
    if command.called:
        step = turn.resumed(step, command.started_at)
        step = replace(step, tries=step.tries + 1, freezes=0)
        failed(turn, planned, step, lane, bounded(command.failure), command.jitter)
    else:
        rest_unbegun(turn, planned, step, lane, command.failure, command.jitter)
    return next_move(turn, lane)


def _ask_later(turn: Turn, planned: PlannedStep, step: Step, failure: Failure) -> None:
    """Put a probe off that came too early by the clock of the worker that was to ask.

        settle, 5 min ahead   quiet at 13:00 ─► is over, it says ─► attempt
        worker                                            12:55 ─► asks nothing, sends nothing

    It costs nothing. Whoever opened the attempt counts from a clock that is ahead: by how much its
    deadline tells, and so much longer is waited by that clock.
    """
    ahead = (step.deadline or turn.now) - planned.policy.timeout - turn.now
    answer = Retry(ledger.unsettled(turn, planned, step) + max(0.0, ahead), costs=False)
    if turn.run.deadline is not None and turn.now + answer.delay >= turn.run.deadline:
        give_up(turn, planned, step, failure, Refusal.DEADLINE)
    else:
        wait_to_probe(turn, planned, step, failure, answer)


def rest_unbegun(
    turn: Turn, planned: PlannedStep, step: Step, lane: int, failure: Failure, jitter: float
) -> None:
    """Let a step rest whose attempt never reached its tool, at the cost of no budget.

    Its lane is left to others, and the run's deadline is all that bounds how often.
    """
    step = replace(step, unbegun=True)
    rested = replace(bounded(failure), retryable=True, retry_after=THROTTLED_REST * (1 + jitter))
    failed(turn, planned, step, lane, rested, jitter, costs=False)


def failed(
    turn: Turn,
    planned: PlannedStep,
    step: Step,
    lane: int,
    failure: Failure,
    jitter: float,
    *,
    costs: bool = True,
) -> None:
    """Close an attempt that failed, and open the next one or let its step rest, or give it up."""
    unclear = failure.code == OutcomeUnknown.code
    ledger.failed(turn, planned, step, unclear=unclear)
    worth = replace(failure, retryable=failure.retryable or unclear)
    answer = another_try(turn, planned, step, worth, jitter, costs=costs)
    sent = ledger.lost_unclear(turn, planned, step)
    step = turn.interrupt(step, failure.code, doubtful=unclear and sent)
    if isinstance(answer, Refusal):
        give_up(turn, planned, step, failure, answer)
    elif ledger.quiet_at(turn, planned, step) is not None:
        wait_to_probe(turn, planned, step, failure, answer)
    else:
        back_off(turn, step, lane, failure, answer)


def report(turn: Turn, command: Report) -> None:
    """Note how far an open attempt is."""
    step, _ = _mine(turn, command.step_id, command.fence)
    turn.emit(
        StepProgress(
            step_id=step.step_id,
            attempt=step.attempt,
            fraction=command.fraction,
            note=command.note[:MAX_MESSAGE],
        )
    )


def spend(turn: Turn, answer: Retry) -> None:
    """Take a retry off the run's, unless infrastructure is to blame."""
    turn.set(retries_left=turn.run.retries_left - answer.costs)


def wait_to_probe(
    turn: Turn, planned: PlannedStep, step: Step, failure: Failure, answer: Retry
) -> None:
    """Call an outcome unknown until its probe can be believed; nobody may send meanwhile.

    Sooner, a request of the lost attempt could still be on its way: "not applied" would be true
    when the probe asks and false when the resend arrives.
    """
    spend(turn, answer)
    until = turn.now + answer.delay
    ledger.close_off(turn, planned, step)
    close(turn, step, StepStatus.UNKNOWN, fence=step.fence + 1, error=failure)
    rest(turn, step.step_id, Wait(StepStatus.UNKNOWN, until))
    turn.emit(
        StepOutcomeUnknown(
            step_id=step.step_id, attempt=step.attempt, probed_at=until, **said(failure)
        )
    )


def back_off(turn: Turn, step: Step, lane: int, failure: Failure, answer: Retry) -> None:
    """Open the next attempt after a short delay in its lane, or leave a long one for a Park."""
    spend(turn, answer)
    delay = answer.delay
    # A lane waits whole seconds: a provider's wish is rounded up, our own jitter to the nearest.
    rounded = float(math.ceil(delay) if delay <= failure.retry_after else round(delay))
    if rounded <= SHORT_DELAY:
        reopen(turn, replace(step, error=failure), lane, delay=rounded)
    else:
        close(turn, step, StepStatus.BACKING_OFF, error=failure)
        rest(turn, step.step_id, Wait(StepStatus.BACKING_OFF, turn.now + delay))
    turn.emit(
        StepRetrying(
            step_id=step.step_id,
            attempt=step.attempt,
            next_attempt=step.next_attempt,
            delay_seconds=rounded if rounded <= SHORT_DELAY else delay,
            **said(failure),
        )
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


def another_try(
    turn: Turn,
    planned: PlannedStep,
    step: Step,
    failure: Failure,
    jitter: float,
    *,
    costs: bool,
) -> Retry | Refusal:
    """Ask the retry budget, and the ledger whether sending again is safe."""
    doubt = ledger.in_doubt(turn, planned, step)
    if turn.run.failing is not None and (turn.run.cancelled or not doubt):
        return Refusal.RUN_FAILING
    answer = another(turn.run, planned.policy, step.tries, failure, turn.now, jitter, costs=costs)
    if not doubt or isinstance(answer, Refusal):
        return answer
    quiet = ledger.quiet_at(turn, planned, step)
    if quiet is not None:
        answer = Retry(max(answer.delay, quiet - turn.now), costs)
    at = turn.now + answer.delay
    if turn.run.deadline is not None and at >= turn.run.deadline:
        return Refusal.DEADLINE
    return answer if ledger.resendable(turn, planned, step, at) else Refusal.NOT_RETRYABLE


def opened(turn: Turn, step_id: str, fence: int) -> tuple[Step, int] | None:
    """Return an open attempt and its lane; None when it is closed or was taken over (G5)."""
    lane = turn.run.open.get(step_id)
    if lane is None:
        return None
    row = turn.claimed(step_id)
    return (row, lane) if row.fence == fence else None


def _mine(turn: Turn, step_id: str, fence: int) -> tuple[Step, int]:
    held = opened(turn, step_id, fence)
    if held is None:
        raise AttemptClosed(attempt_id(step_id, fence))
    return held


def tell_reconciled(turn: Turn, step: Step, verdict: Verdict, by: str) -> None:
    """Say in the log what was found out about a doubtful write, and by whom.

    Where the question was another one, which: what had no version to run it has written nothing.
    """
    asked = VERSION_GONE.code if is_gone(step) else None
    turn.emit(StepReconciled(step_id=step.step_id, outcome=verdict.value, by=by, code=asked))
