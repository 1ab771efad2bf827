"""The driver itself: an execution begins, settles, hands over or is replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.domain.limits import DUE_AFTER, HANDOFF_DECISIONS
from onward.domain.machine.attempt import take_over
from onward.domain.machine.move import next_move, stop
from onward.domain.model import MAIN_LANE, RunStatus
from onward.domain.protocol import Decision, Do

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.protocol import Restart


def begin(turn: Turn) -> Decision:
    """Start driving. What a dead execution left open is perhaps still running: fence it."""
    if turn.run.status is RunStatus.QUEUED:
        started = turn.run.started_at is None
        turn.set(status=RunStatus.RUNNING, started_at=turn.run.started_at or turn.now)
        turn.emit("run.started" if started else "run.resumed", generation=turn.run.generation)
    return settle(turn, cause="execution_lost")


def settle(turn: Turn, cause: str = "lane_lost") -> Decision:
    """Decide for the main lane. No lane runs now, so whatever is open has lost its driver.

    That is no failure of the steps, so it takes nothing off their attempts, only off the run's
    retries: the claim may never have been run at all, when the reply that told of it was lost.
    """
    run = turn.run
    if run.decisions >= HANDOFF_DECISIONS:
        next_generation(turn, "handoff")
        return stop(turn)
    rows = turn.steps(run.open)
    turn.planned_all(row.plan_key for row in rows if row is not None)
    for row in rows:
        if row is not None:
            take_over(turn, row, MAIN_LANE, cause, dead=False)
    return next_move(turn, MAIN_LANE)


def restart(turn: Turn, command: Restart) -> Decision:
    """Replace an execution that is dead. This fences; the next generation's Begin claims."""
    next_generation(turn, command.cause)
    return Decision(turn.run.run_id, turn.run.generation, Do.STOP)


def next_generation(turn: Turn, cause: str) -> None:
    """Fence every decision of this generation off and ask for the next one's execution."""
    generation = turn.run.generation + 1
    turn.set(
        generation=generation,
        decisions=0,
        park_token=None,
        due_at=int(turn.now) + DUE_AFTER,
    )
    turn.emit("run.resumed", start=generation, generation=generation, cause=cause)
