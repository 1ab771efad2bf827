"""Lost attempts, replaced executions and commands that come late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from onward.domain.errors import Conflict
from onward.domain.model import MAIN_LANE, Failure, RunStatus
from onward.domain.protocol import (
    AttemptClosed,
    Begin,
    Complete,
    Decision,
    Do,
    Fail,
    Recover,
    Report,
    Restart,
    Settle,
)

from tests.builders import NOW, chain, compiled, fan, payload, step, store_of
from tests.driver_model import At, Drive

if TYPE_CHECKING:
    from onward.domain.protocol import Command

    from tests.memory_store import MemoryStore

FLAKY = Failure("transient", "flaky", retryable=True)


def send(store: MemoryStore, command: Command, generation: int = 1, at: float = NOW) -> Decision:
    """Carry a command out and return the driver's next move."""
    return store.carry_out(command, generation, at).decision


def begun(tool: str = "read", **submit: float) -> MemoryStore:
    """A run of one step `s0` whose first attempt is open."""
    store = store_of(chain(1, tool), **submit)
    send(store, Begin())
    return store


def lost(step_id: str, fence: int, lane: int = MAIN_LANE) -> Recover:
    """The driver lost this attempt."""
    return Recover(step_id, fence, lane, "Runtime.ExitError", dead=True)


def test_a_lost_attempt_is_taken_over_under_a_raised_fence() -> None:
    """It counts as a try; the old attempt can change nothing (G5)."""
    store = begun()
    decision = send(store, lost("s0", 1))
    assert (Do.STEP, 2) == (decision.do, decision.fence)
    assert 1 == store.steps["s0"].tries
    before = store.run
    for late in (Complete("s0", 1, payload("late")), Fail("s0", 1, FLAKY), Report("s0", 1, 0.5)):
        with pytest.raises(AttemptClosed, match="s0#1"):
            send(store, late)
    assert before is store.run


def test_a_worker_that_died_after_its_commit_is_not_taken_over() -> None:
    """Its lane's next claim gets a raised fence; nothing is counted, nothing runs twice (G2)."""
    store = store_of(chain(2))
    send(store, Begin())
    send(store, Complete("s0", 1, payload("out")))
    decision = send(store, lost("s0", 1))
    assert ("s1", 2) == (decision.step_id, decision.fence)
    assert (0, 1) == (store.steps["s1"].tries, store.steps["s0"].fence)


def test_a_lost_fan_out_is_answered_again() -> None:
    """The worker claimed ten children for the Map and died before it could say so."""
    store = store_of(fan(30))
    send(store, Begin())
    first = send(store, Complete("list", 1, payload({"items": list(range(30))})))
    again = send(store, lost("list", 1))
    assert [lane.step_id for lane in first.lanes] == [lane.step_id for lane in again.lanes]
    assert {2} == {lane.fence for lane in again.lanes}


def test_a_lost_reply_of_settle_costs_a_step_no_attempt() -> None:
    """A tool with one attempt may have to be claimed twice before it is run at all."""
    store = store_of(chain(1, "once"))
    send(store, Begin())
    decision = send(store, Begin())
    assert (Do.STEP, 2, 0) == (decision.do, decision.fence, store.steps["s0"].tries)
    Drive(store).to_the_end()
    assert RunStatus.SUCCEEDED is store.run.status


def test_a_map_that_died_is_settled() -> None:
    """Its open attempts are fenced and fanned out afresh."""
    drive = Drive(store_of(fan(5)))
    while drive.execution.at is not At.LANES:
        drive.move()
    drive.execution.at, drive.execution.lanes = At.SETTLE, {}
    drive.move()
    assert {2} == {lane.fence for lane in drive.execution.lanes.values()}
    assert RunStatus.SUCCEEDED is drive.to_the_end().run.status


def test_the_first_of_two_lanes_to_commit_wins() -> None:
    """The other reads again, decides again, and then claims what both wanted."""
    plan = compiled(step("a"), step("b"), step("c", after=["a", "b"]))
    store = store_of(plan)
    send(store, Begin())
    first = store.decided(Complete("a", 1, payload(1)), 1, NOW)
    second = store.decided(Complete("b", 1, payload(2)), 1, NOW)
    store.commit(second)
    with pytest.raises(Conflict):
        store.commit(first)
    assert "c" == send(store, Complete("a", 1, payload(1))).step_id


@pytest.mark.parametrize(
    "command",
    [Begin(), Settle(), Complete("s0", 1, payload(1)), Fail("s0", 1, FLAKY), lost("s0", 1)],
)
def test_an_old_generation_is_told_to_stop(command: Command) -> None:
    """Whatever it asks, nothing changes."""
    store = begun()
    send(store, Restart("execution_aborted"))
    before = store.run
    decision = send(store, command, generation=1)
    assert (Do.STOP, 1) == (decision.do, decision.generation)
    assert before is store.run


def test_a_restart_asks_for_the_next_generation_and_claims_nothing() -> None:
    """Its Begin takes over what is open."""
    store = begun()
    send(store, Restart("execution_aborted"))
    assert ("run.resumed", 2) == (store.events[-1].type, store.events[-1].start)
    assert {"s0": 0} == store.run.open
    assert 2 == send(store, Begin(), generation=2).fence


def test_a_run_before_its_first_begin_can_be_restarted() -> None:
    """The start got lost; it is still the run's start."""
    store = store_of(chain(1))
    send(store, Restart("never_started"))
    send(store, Begin(), generation=2)
    assert ["run.queued", "run.resumed", "run.started", "step.started"] == [
        event.type for event in store.events
    ]


def test_an_ended_run_takes_no_command() -> None:
    """Terminal statuses absorb."""
    store = Drive(store_of(chain(1))).to_the_end()
    before = store.run
    for command in (Begin(), Settle(), lost("s0", 1), Restart("x"), Complete("s0", 1, payload(1))):
        assert Do.STOP is send(store, command).do
    assert before is store.run
