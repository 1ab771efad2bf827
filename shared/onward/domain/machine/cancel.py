"""Somebody cancels a run: what was not sent by then is never sent any more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onward.domain.errors import AlreadyTerminal
from onward.domain.events import RunCancelRequested
from onward.domain.limits import DUE_AFTER, ENDING_ROWS
from onward.domain.machine import ledger
from onward.domain.machine.drive import next_generation
from onward.domain.machine.ending import end_failed
from onward.domain.machine.finish import ask, bounded, close
from onward.domain.machine.move import stop
from onward.domain.model import Failing, Failure, RunStatus, StepStatus

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import Step
    from onward.domain.protocol import Cancel, Decision

UNKNOWN = Failure("outcome_unknown", "the run was cancelled before the outcome was known")


def cancel(turn: Turn, command: Cancel) -> Decision:
    """Begin nothing more, and end the run as soon as nothing of it can be under way outside.

        worker   read its row ─────────────► mark the send ─► refused: never sent
        cancel             raise the fence of what is not marked ─► commit

    The effect row's condition orders the two. A write that was marked goes on to its outcome, which
    is kept; one in doubt goes on asking a person (G4). Everything else is given up at once, a
    question to a person too. Safe to repeat; raises AlreadyTerminal after another end.
    """
    run = turn.run
    if run.cancelled:
        return stop(turn)
    if run.status.ended:
        raise AlreadyTerminal(f"run {run.run_id} is {run.status.value} already")
    said = bounded(Failure("cancelled", command.reason or f"cancelled by {command.by}"))
    failing = Failing(said, cancelled=True)
    turn.set(status=RunStatus.CANCEL_REQUESTED, failing=failing, due_at=int(turn.now) + DUE_AFTER)
    turn.emit(RunCancelRequested(by=command.by, reason=command.reason))
    rows = [row for row in turn.steps(run.open) if row is not None]
    turn.planned_all(row.plan_key for row in rows)
    for row in rows:
        _give_up(turn, row)
    if not turn.run.open and turn.rows <= ENDING_ROWS:
        end_failed(turn, failing)
    elif run.stalled:  # nobody drives it to its end
        turn.set(stalls=0)
        next_generation(turn, "cancelled")
    return stop(turn)


def _give_up(turn: Turn, step: Step) -> None:
    """Close an open attempt, unless its write may be on its way."""
    planned = turn.planned(step.plan_key)
    if ledger.lost_unclear(turn, planned, step):
        return
    if ledger.in_doubt(turn, planned, step):
        ask(turn, planned, step, step.error or UNKNOWN)
        return
    ledger.failed(turn, planned, step, unclear=False)
    ledger.close_off(turn, planned, step)
    close(turn, replace(step, fence=step.fence + 1), StepStatus.CANCELLED)
