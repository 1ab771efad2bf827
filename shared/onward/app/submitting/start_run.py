"""Start the executions that logs ask for, as many of a tenant's at a time as it may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onward.app.driving.carry_out import carry_out
from onward.aws.engine import Execution
from onward.domain.protocol import Restart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.app.access.admission import Share
    from onward.app.driving.carry_out import Drive
    from onward.aws.engine import Engine


@dataclass(frozen=True, slots=True)
class Starter:
    """What starting executions takes."""

    drive: Drive
    engine: Engine
    share: Share


def take_message(starter: Starter, message: Mapping[str, Any], until: float) -> int:
    """Do what a message of the start queue says; return how many executions it was about.

    `{run_id, generation, tenant}`: start a generation. The first one of a run stays queued while
    its tenant has its share of running runs; all others drive on what runs already.
    `{tenant}`: one of its runs is not driven any more, so start queued ones that there is room for.
    """
    if "run_id" not in message:
        chosen = starter.share.next(message["tenant"])
        for run_id in chosen:
            start_run(starter.drive, starter.engine, run_id, 1, until)
        return len(chosen)
    run_id, generation = message["run_id"], message["generation"]
    if generation == 1 and starter.share.holds_back(message.get("tenant", ""), run_id):
        return 0
    start_run(starter.drive, starter.engine, run_id, generation, until)
    return 1


def start_run(
    drive: Drive, engine: Engine, run_id: str, generation: int, until: float
) -> Execution:
    """Start a generation of a run's driver; safe to repeat.

    A generation whose execution is closed while its run has not ended is dead: the next one is
    queued in the same commit that fences it. A run that ended, or moved on to a later
    generation, changes nothing.
    """
    state = engine.start(run_id, generation)
    if state.over:
        command = Restart("execution_closed", by_itself=state is Execution.CLOSED)
        carry_out(drive, run_id, generation, command, until)
    return state
