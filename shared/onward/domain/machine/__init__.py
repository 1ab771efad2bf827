"""The state machine: the only place where a status changes."""

from __future__ import annotations

from onward.domain.machine.answer import resolve, resume
from onward.domain.machine.approve import decide_approval
from onward.domain.machine.attempt import complete, fail, report
from onward.domain.machine.cancel import cancel
from onward.domain.machine.drive import begin, restart, settle, wake_lane
from onward.domain.machine.lost import recover
from onward.domain.machine.move import stop
from onward.domain.machine.receipts import take_receipt
from onward.domain.machine.submit import submit
from onward.domain.machine.suspicion import suspect
from onward.domain.machine.turn import Turn
from onward.domain.protocol import (
    Begin,
    Cancel,
    Command,
    Complete,
    DecideApproval,
    Decision,
    Do,
    DriverCommand,
    Fail,
    Outcome,
    OutsideCommand,
    Recover,
    Report,
    Resolve,
    Restart,
    Resume,
    Settle,
    Suspect,
    TakeReceipt,
    View,
    WakeLane,
)

__all__ = ["decide", "submit"]


def decide(view: View, command: Command, generation: int | None, now: float) -> Outcome:
    """Decide what a command changes, what the log says of it, and what the driver does next.

    A command of another generation than the row's changes nothing and is told to stop; so is
    any command after the end but an operator's answer, a resume or a late receipt. These are of
    no generation (None).
    Raises RowsMissing for rows the view lacks, AttemptClosed when an attempt reports under a
    fence that is no longer its step's, NotWaiting and NotResumable for answers nobody asked for,
    PartsMoved for added steps that were validated against less than the run holds by now.
    """
    turn = Turn(view, now)
    if generation is not None and view.run.generation != generation:
        return turn.outcome(Decision(view.run.run_id, generation, Do.STOP))
    if isinstance(command, OutsideCommand):
        return turn.outcome(_answer(turn, command))
    if view.run.status.ended:
        return turn.outcome(stop(turn))
    decision = _apply(turn, command)
    if turn.run.generation == generation and not isinstance(command, Report | Restart):
        turn.set(decisions=turn.run.decisions + 1)
    return turn.outcome(decision)


def _answer(turn: Turn, command: OutsideCommand) -> Decision:
    match command:
        case Resolve():
            return resolve(turn, command)
        case TakeReceipt():
            return take_receipt(turn, command)
        case Suspect():
            return suspect(turn, command)
        case Cancel():
            return cancel(turn, command)
        case DecideApproval():
            return decide_approval(turn, command)
        case Resume():
            return resume(turn, command)


def _apply(turn: Turn, command: DriverCommand) -> Decision:  # noqa: PLR0911 - a line a command
    match command:
        case Begin():
            return begin(turn)
        case Settle():
            return settle(turn)
        case WakeLane():
            return wake_lane(turn, command.lane)
        case Complete():
            return complete(turn, command)
        case Fail():
            return fail(turn, command)
        case Recover():
            return recover(turn, command)
        case Restart():
            return restart(turn, command)
        case Report():
            report(turn, command)
            return stop(turn)
