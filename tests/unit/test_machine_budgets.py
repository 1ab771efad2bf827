"""What infrastructure does to a run takes nothing off its budgets, and is told once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from onward.domain.limits import MAX_FREEZES, MAX_STALLS
from onward.domain.model import MAIN_LANE, Failure, RunStatus, Usage
from onward.domain.protocol import Begin, Complete, Do, Fail, Recover, Restart

from tests.builders import NOW, chain, compiled, fan, payload, send, step, store_of
from tests.driver_model import Drive

if TYPE_CHECKING:
    from tests.memory_store import MemoryStore

FLAKY = Failure("transient", "flaky", retryable=True)


def die(store: MemoryStore, times: int = 1) -> None:
    """The execution dies this often, each time just after it began."""
    for _ in range(times):
        send(store, Restart("execution_dead", by_itself=False))
        send(store, Begin())


def lost(cause: str, fence: int, *, frozen: bool = False, called: bool = True) -> Recover:
    """The driver lost this attempt at `s0`."""
    return Recover("s0", fence, MAIN_LANE, cause, dead=False, frozen=frozen, called=called)


def spent(store: MemoryStore) -> tuple[int, set[int]]:
    """The run's retries and the tries of its steps."""
    return store.run.retries_left, {row.tries for row in store.steps.values()}


@pytest.mark.parametrize("tool", ["once", "read", "native"])
def test_a_death_of_the_execution_costs_a_run_without_retries_nothing(tool: str) -> None:
    """Nothing of a step failed."""
    store = store_of(chain(1, tool), retries=0)
    send(store, Begin())
    if tool == "native":
        store.mark_sent("s0", 1, NOW)
    die(store)
    assert (RunStatus.RUNNING, 0, 0) == (
        store.run.status,
        store.run.retries_left,
        store.steps["s0"].tries,
    )
    assert RunStatus.SUCCEEDED is Drive(store).to_the_end().run.status


def test_eleven_deaths_with_ten_lanes_cost_nothing() -> None:
    """110 attempts are repeated, more than the run has retries."""
    store = store_of(compiled(*(step(f"s{i}") for i in range(10))))
    send(store, Begin())
    before = spent(store)
    die(store, 11)
    assert (before, 10) == (spent(store), len(store.run.open))
    assert RunStatus.SUCCEEDED is Drive(store).to_the_end().run.status


def test_executions_that_are_cut_off_before_they_begin_are_no_stall() -> None:
    """Refused until their history was full, or stopped by hand; those that fail by themselves are.

    Whatever came between them.
    """
    store = store_of(chain(1))
    for _ in range(2 * MAX_STALLS):
        send(store, Restart("execution_dead", by_itself=False))
    assert not store.run.stalled
    for failed in range(1, MAX_STALLS + 1):
        send(store, Restart("execution_dead"))
        send(store, Restart("execution_dead", by_itself=False))
        assert (failed == MAX_STALLS) == store.run.stalled


def test_freezes_take_nothing_off_until_the_third_in_a_row() -> None:
    """A tool that always stops its process goes on for ever otherwise."""
    store = store_of(chain(1))
    send(store, Begin())
    for fence in range(1, MAX_FREEZES):
        send(store, lost("States.Timeout", fence, frozen=True))
        assert (100, {0}) == spent(store)
    send(store, lost("States.Timeout", MAX_FREEZES, frozen=True))
    assert (99, {1}) == spent(store)


def test_an_attempt_that_ended_otherwise_breaks_a_row_of_freezes() -> None:
    """Its process ran."""
    store = store_of(chain(1))
    send(store, Begin())
    for fence in range(1, MAX_FREEZES):
        send(store, lost("States.Timeout", fence, frozen=True))
    send(store, Fail("s0", MAX_FREEZES, FLAKY))
    for fence in range(MAX_FREEZES + 1, 2 * MAX_FREEZES):
        send(store, lost("States.Timeout", fence, frozen=True))
    assert (99, {1}) == spent(store)


def test_a_tool_that_always_freezes_is_given_up() -> None:
    """From the third freeze on each is a try."""
    store = store_of(chain(1))
    decision = send(store, Begin())
    for _ in range(MAX_FREEZES - 1 + 4):
        assert Do.STEP is decision.do
        decision = send(store, lost("States.Timeout", decision.fence, frozen=True))
    assert RunStatus.FAILED is store.run.status


@pytest.mark.parametrize("cause", ["NoAnswer", "InFlight", "NotBegun"])
def test_what_never_reached_its_tool_rests_at_no_cost(cause: str) -> None:
    """Today's four attempts would be gone within half a second."""
    store = store_of(chain(1, "once"), retries=0)
    decision, now = send(store, Begin()), NOW
    for _ in range(4):
        wait = send(store, lost(cause, decision.fence, called=False), now)
        assert (Do.WAIT, RunStatus.BACKING_OFF) == (wait.do, store.run.status)
        now += wait.seconds
        decision = send(store, Begin(), now)
    assert (0, {0}) == spent(store)


def test_one_death_is_one_incident_that_saves_what_had_been_paid() -> None:
    """However many lanes it cut."""
    store = store_of(fan(8))
    send(store, Begin())
    items = payload({"items": list(range(8))})
    send(store, Complete("list", 1, items, Usage(900, 100)))
    send(store, Restart("execution_dead"), NOW + 1)
    lanes = send(store, Begin(), NOW + 2).lanes
    for lane in lanes:
        send(store, Complete(lane.step_id, lane.fence, payload(1), Usage(1, 0)), NOW + 3)
    assert [(None, "execution_dead", 1000)] == [
        (i.step_id, i.interruption.cause, i.interruption.tokens) for i in store.incidents
    ]


def test_a_second_write_that_a_death_did_not_make_is_counted_with_it() -> None:
    """Only where the first had been sent; its row is a part of the incident, and saves nothing."""
    store = store_of(compiled(step("a", "native"), step("b", "native")))
    send(store, Begin())
    store.mark_sent("a", 1, NOW)
    send(store, Restart("execution_dead"))
    for lane in send(store, Begin()).lanes:
        send(store, Complete(lane.step_id, lane.fence, payload(1)))
    told = [(i.step_id, i.interruption.doubtful, i.interruption.part) for i in store.incidents]
    assert [(None, False, False), ("a", True, True)] == told


def test_a_worker_that_died_over_a_fan_out_is_one_incident() -> None:
    """It had claimed eight children for the Map."""
    store = store_of(fan(8))
    send(store, Begin())
    send(store, Complete("list", 1, payload({"items": list(range(8))}), Usage(9, 0)))
    lanes = send(store, Recover("list", 1, MAIN_LANE, "Runtime.ExitError", dead=True)).lanes
    for lane in lanes:
        send(store, Complete(lane.step_id, lane.fence, payload(1)))
    assert [9] == [i.interruption.tokens for i in store.incidents]


def test_an_unclear_outcome_of_a_write_that_was_not_sent_prevents_no_second_one() -> None:
    """There was no first one."""
    store = store_of(chain(1, "native"))
    send(store, Begin())
    decision = send(store, Fail("s0", 1, Failure("outcome_unknown", "no probe")))
    send(store, Complete("s0", decision.fence, payload(1)), NOW + 1)
    assert [False] == [i.interruption.doubtful for i in store.incidents]
