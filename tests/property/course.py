"""How a run goes on when nothing goes wrong any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.domain.model import RunStatus

from tests.driver_model import At
from tests.property.workers import take_up

if TYPE_CHECKING:
    from tests.property.simulation import Simulation

MOVES = 2_000
RESUMES = 2


def go_on(sim: Simulation) -> bool:
    """Make one move that goes well; False: only a process could move, or nothing."""
    match sim.execution.at:
        case At.BEGIN | At.SETTLE:
            sim.decide_in_main()
        case At.PARK:
            sim.end_park()
        case At.RUN_STEP | At.LANES if sim.idle:
            process = take_up(sim, sim.idle[0])
            if process is not None:
                process.end(sim, "ok")
        case At.LANES if sim.execution.parked_lane is not None and not sim.run.open:
            sim.signal()
            if sim.execution.parked_lane is not None:
                sim.wake_lane()
        case _:
            return False
    return True


def finish(sim: Simulation) -> None:
    """Left alone, but for an operator who answers and resumes, a run comes to its end."""
    sim.ahead = sim.asks_ahead = 0.0
    resumes = RESUMES
    for _ in range(MOVES):
        if sim.run.status in {RunStatus.SUCCEEDED, RunStatus.CANCELLED}:
            break
        if sim.run.status.ended or sim.run.stalled:
            resumes -= 1
            if resumes < 0 or not sim.resume():
                break
        _move(sim)
    assert sim.run.status.ended, f"no end: {sim.run}"
    assert len(sim.store.events) == sim.run.seq
    for process in list(sim.processes):
        process.send(sim)
    sim.advance(10_000)


def _move(sim: Simulation) -> None:
    if sim.execution.at is At.PARK:
        for step_id in sim.doubts:
            sim.resolve(step_id)
        for step_id in sim.asked:
            sim.decide(step_id, "approve")
    if sim.execution.at is At.DONE and not sim.run.status.ended:
        sim.replace_execution(alive=False)
    if not go_on(sim):
        waited = [p for p in sim.processes if p.decision in sim.execution.lanes.values()]
        for process in waited[:1]:
            process.end(sim, "ok")
