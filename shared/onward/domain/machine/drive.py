"""The driver itself: an execution begins, settles, hands over or is replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.domain.events import RunResumed, RunStarted, RunWaiting
from onward.domain.incidents import Interruption
from onward.domain.limits import DUE_AFTER, HANDOFF_DECISIONS, MAX_STALLS
from onward.domain.machine.lost import take_over
from onward.domain.machine.move import held, next_move, stop
from onward.domain.machine.receipts import accept_waiting
from onward.domain.model import MAIN_LANE, RunStatus

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.protocol import Decision, Restart


def begin(turn: Turn) -> Decision:
    """Start driving. What a dead execution left open is perhaps still running: fence it."""
    return settle(turn, cause="execution_lost")


def _go_on(turn: Turn) -> None:
    """A queued run runs: for the first time, or because a wait was answered.

    An execution that replaces a dead one says so even where the run only waits: this commit
    is what tells a driver that works from one that dies before it can do anything.
    """
    run = turn.run
    if run.status is RunStatus.QUEUED or run.stalled:
        turn.set(status=RunStatus.RUNNING, started_at=run.started_at or turn.now, park_token=None)
    elif run.lost is None:
        return
    if run.stalled:
        turn.set(stalls=0, due_at=int(turn.now) + DUE_AFTER)
    turn.run_resumed()
    event = RunStarted if run.started_at is None else RunResumed
    turn.emit(event(generation=run.generation))


def settle(turn: Turn, cause: str = "lane_lost") -> Decision:
    """Decide for the main lane. No lane runs now, so whatever is open has lost its driver.

    That is no failure of the steps, so it takes nothing off any budget: the claim may never have
    been run at all, when the reply that told of it was lost.
    """
    _go_on(turn)
    turn.set(parked=None)
    run = turn.run
    if run.decisions >= HANDOFF_DECISIONS:
        next_generation(turn, "handoff")
        return stop(turn)
    rows = turn.steps(run.open)
    turn.planned_all(row.plan_key for row in rows if row is not None)
    for row in rows:
        if row is not None:
            take_over(turn, row, MAIN_LANE, cause, dead=False, costs=False)
    accept_waiting(turn)
    return next_move(turn, MAIN_LANE)


def wake_lane(turn: Turn, lane: int) -> Decision:
    """Decide for the parked lane of a Map: it takes up a wait that has ended, or parks again.

    It ends with the last open attempt, so that settle can go on. One that is parked no more was
    woken before, and the reply was lost: what it claimed then is its own.
    """
    if turn.run.parked == lane:
        turn.set(parked=None, park_token=None)
        return next_move(turn, lane)
    return held(turn, lane) or stop(turn)


def restart(turn: Turn, command: Restart) -> Decision:
    """Replace an execution that is dead. This fences; the next generation's Begin claims.

    Generations that die one after the other without a single commit would go on for ever:
    after three of them none is started any more, and a person is asked. One that did not end by
    itself is not counted.
    """
    run = turn.run
    if run.stalled:
        return stop(turn)
    stalls = 0 if run.decisions else run.stalls + command.by_itself
    lost = run.lost or Interruption(command.cause, turn.now, run.usage.total)
    turn.set(stalls=stalls, lost=lost)
    if stalls < MAX_STALLS or not command.by_itself:
        next_generation(turn, command.cause)
        return stop(turn)
    _fence(turn)
    turn.set(status=RunStatus.NEEDS_RECONCILIATION, due_at=None)
    turn.emit(RunWaiting(status=turn.run.status.value, cause="stalled", steps=[]))
    return stop(turn)


def next_generation(turn: Turn, cause: str, by: str | None = None) -> None:
    """Fence every decision of this generation off and ask for the next one's execution."""
    _fence(turn)
    turn.set(due_at=int(turn.now) + DUE_AFTER)
    generation = turn.run.generation
    turn.emit(RunResumed(generation=generation, cause=cause, by=by), start=generation)


def _fence(turn: Turn) -> None:
    turn.set(generation=turn.run.generation + 1, decisions=0, park_token=None)
