"""Start the execution that a run's log asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.app.carry_out import carry_out
from onward.aws.engine import Execution
from onward.domain.protocol import Restart

if TYPE_CHECKING:
    from onward.app.carry_out import Drive
    from onward.aws.engine import Engine


def start_run(
    drive: Drive, engine: Engine, run_id: str, generation: int, until: float
) -> Execution:
    """Start a generation of a run's driver; safe to repeat.

    A generation whose execution is closed while its run has not ended is dead: the next one is
    queued in the same commit that fences it. A run that ended, or moved on to a later
    generation, changes nothing.
    """
    state = engine.start(run_id, generation)
    if state is Execution.CLOSED:
        carry_out(drive, run_id, generation, Restart("execution_closed"), until)
    return state
