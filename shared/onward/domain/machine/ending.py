"""A run ends: with nothing left to do, or because it cannot go on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onward.domain.events import RunCancelled, RunFailed, RunSucceeded
from onward.domain.limits import DUE_AFTER
from onward.domain.machine import ledger
from onward.domain.machine.finish import accept, ask, said
from onward.domain.machine.waiting import withdraw
from onward.domain.model import Failing, Failure, RunStatus, StepStatus

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn


def end_failed(turn: Turn, failing: Failing) -> None:
    """End the run as failed, or as cancelled; steps that waited are cancelled with it.

    A write whose outcome nobody knows is not called cancelled: its step goes on waiting for a
    person (G4), unless its receipt was put down, which is a checkpoint; it takes no longer for
    that. The rows of steps that have no attempt of their own, because they fanned out or added
    steps, stay as they are: there may be hundreds, and a resume goes on with them. They are under
    way as long as their run is.
    """
    waiting = [row for row in turn.steps(turn.run.waiting) if row is not None]
    plans = turn.planned_all(row.plan_key for row in waiting)
    for row, planned in zip(waiting, plans, strict=True):
        receipt = ledger.receipt(turn, planned, row)
        if receipt is not None:
            accept(turn, row, receipt)
        elif row.status is StepStatus.NEEDS_RECONCILIATION:
            turn.put(replace(row, ended_at=turn.now))
        elif ledger.in_doubt(turn, planned, row):
            unknown = Failure("outcome_unknown", "the run failed before the outcome was known")
            ask(turn, planned, row, row.error or unknown)
            turn.put(replace(turn.claimed(row.step_id), ended_at=turn.now))
        else:
            withdraw(turn, row)
    if turn.run.cancelled:
        _end(turn, RunStatus.CANCELLED)
        turn.emit(RunCancelled(generation=turn.run.generation))
        return
    _end(turn, RunStatus.FAILED)
    turn.emit(RunFailed(step_id=failing.step_id, **said(failing.failure)))


def end_done(turn: Turn) -> None:
    """End a run with nothing left to do: as succeeded, if every planned step has ended.

    A step that was left behind, by a resume that did not name it, is no success.
    """
    if turn.run.done < turn.run.steps_total:
        end_failed(turn, Failing(Failure("steps_missing", "steps were left behind by a resume")))
        return
    _end(turn, RunStatus.SUCCEEDED)
    turn.emit(RunSucceeded(result_from=turn.run.result_from))


def _end(turn: Turn, status: RunStatus) -> None:
    # Somebody looks once more: whether the end was heard, and when the log may go.
    # What was ready stays written down: an operator may let a failed run go on from there.
    # So does what still waits: writes in doubt, for which a person can answer at any time.
    # A driver that sleeps is woken by its token, after the commit.
    due_at = int(turn.now) + DUE_AFTER
    turn.set(status=status, ended_at=turn.now, due_at=due_at)
