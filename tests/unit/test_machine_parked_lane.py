"""A run that waits and works at once: one lane of its Map waits with the waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.domain.machine.move import rouses
from onward.domain.model import Failure, RunStatus
from onward.domain.protocol import Begin, Complete, DecideApproval, Do, Fail, Settle, WakeLane

from tests.builders import NOW, compiled, payload, send, step, store_of

if TYPE_CHECKING:
    from onward.domain.protocol import Command, Outcome

    from tests.memory_store import MemoryStore


def working_and_waiting(**wait: Any) -> MemoryStore:
    """A run whose step `works` is open in lane 1 while lane 2 waits with its step `waits`."""
    plan = compiled(step("works"), {"id": "waits", **wait}, step("then", after=["waits"]))
    store = store_of(plan)
    decision = send(store, Begin())
    assert Do.FANOUT is decision.do
    works, parked = decision.lanes
    assert (Do.STEP, "works", 1) == (works.do, works.step_id, works.lane)
    assert (Do.WAIT, 2) == (parked.do, parked.lane)
    return store


def carried_out(store: MemoryStore, command: Command, at: float = NOW) -> Outcome:
    """Carry a command out in the run's generation and return all it changed."""
    return store.carry_out(command, store.run.generation, at)


def test_a_sleep_ends_at_its_time_beside_a_tool_that_runs_on() -> None:
    """The lane parks for as long as the sleep lasts; what comes after is claimed by settle."""
    store = working_and_waiting(sleep=10)
    assert Do.WAIT is send(store, WakeLane(2), NOW + 9).do
    assert 2 == store.run.parked
    assert Do.STOP is send(store, WakeLane(2), NOW + 10).do
    assert 1 == store.run.done
    assert ["works"] == list(store.run.open)


def test_an_approved_action_is_claimed_by_the_parked_lane() -> None:
    """Not when some other tool happens to end."""
    store = working_and_waiting(tool="native", approval={})
    version = store.approvals["waits"].action_version
    decision = DecideApproval("waits", approve=True, action_version=version, by="olga")
    store.carry_out(decision, None, NOW + 1)
    decided = send(store, WakeLane(2), NOW + 1)
    assert (Do.STEP, "waits", 2) == (decided.do, decided.step_id, decided.lane)
    assert {"works": 1, "waits": 2} == store.run.open


def test_a_lane_whose_reply_was_lost_is_told_its_claim_again() -> None:
    """It is parked no more; its claim is its own, and nothing is claimed twice."""
    store = working_and_waiting(tool="native", approval={})
    version = store.approvals["waits"].action_version
    store.carry_out(
        DecideApproval("waits", approve=True, action_version=version, by="olga"), None, NOW + 1
    )
    first = send(store, WakeLane(2), NOW + 1)
    assert first == send(store, WakeLane(2), NOW + 1)


def test_the_last_open_attempt_wakes_the_parked_lane() -> None:
    """Which ends with it; then settle parks the driver for what still waits."""
    store = working_and_waiting(sleep=10)
    outcome = carried_out(store, Complete("works", 1, payload(1)), NOW + 1)
    assert (Do.STOP, True) == (outcome.decision.do, rouses(outcome.before, outcome.run))
    assert Do.STOP is send(store, WakeLane(2), NOW + 1).do
    decision = send(store, Settle(), NOW + 1)
    assert (Do.WAIT, 0, 9) == (decision.do, decision.lane, decision.seconds)


def test_a_lane_that_ends_takes_the_wait_over_where_nobody_has_it() -> None:
    """So one lane waits as long as any works."""
    store = working_and_waiting(sleep=10)
    send(store, WakeLane(2), NOW + 10)
    assert store.run.parked is None


def test_a_wait_that_begins_beside_others_shortens_the_park() -> None:
    """The lane that parks would sleep past its end."""
    plan = compiled(
        step("a"),
        step("b"),
        step("pay", "native", approval={}),
        {"id": "nap", "after": ["a"], "sleep": 5},
    )
    store = store_of(plan)
    send(store, Begin())
    outcome = carried_out(store, Complete("a", 1, payload(1)))
    assert {"pay", "nap"} == set(store.run.waiting)
    assert rouses(outcome.before, outcome.run)
    assert 5 == send(store, WakeLane(3)).seconds


def test_a_run_that_fails_lets_its_parked_lane_end() -> None:
    """Nothing more begins; the lane is told so when it is woken."""
    store = working_and_waiting(tool="native", approval={})
    outcome = carried_out(store, Fail("works", 1, Failure("fatal", "no")))
    assert rouses(outcome.before, outcome.run)
    assert RunStatus.FAILED is store.run.status
    assert Do.STOP is send(store, WakeLane(2)).do
