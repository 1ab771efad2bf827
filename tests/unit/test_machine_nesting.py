"""Steps that add steps that add steps: every commit of such a run fits one transaction."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from onward.domain.limits import MAX_NESTING
from onward.domain.model import Failure, RunStatus, StepStatus, plan_key
from onward.domain.nesting import level
from onward.domain.plan import compile_plan
from onward.domain.protocol import (
    Begin,
    Complete,
    Do,
    Extension,
    Fail,
    Outcome,
    PartsMoved,
    Recover,
    Resume,
    Settle,
)

from tests.builders import NOW, TOOLS, chain, compiled, payload, send, step, store_of

if TYPE_CHECKING:
    from onward.domain.model import Json
    from onward.domain.protocol import Decision

    from tests.memory_store import MemoryStore

FATAL = Failure("invalid_input", "no")


def fits(_store: MemoryStore, outcome: Outcome) -> None:
    """DynamoDB takes 100 items a transaction."""
    rows = len(outcome.steps) + len(outcome.effects)
    assert 1 + rows + len(outcome.events) + len(outcome.incidents) <= 100


def add(store: MemoryStore, step_id: str, *added: dict[str, Json]) -> Decision:
    """End a step's attempt with steps that it adds."""
    part = f"{step_id}.1"
    plan = compile_plan({"steps": list(added)}, TOOLS, part=part)
    store.plan |= {planned.key: planned for planned in (*plan.steps, plan.roots)}
    ids = tuple(str(s["id"]) for s in added)
    extension = Extension(part, ids, len(plan.roots.singles), store.run.parts)
    return send(store, Complete(step_id, 1, payload(None), extension=extension))


def nested(levels: int, **submit: float) -> MemoryStore:
    """A run whose open step `s<levels>` is so many levels deep."""
    store = store_of(chain(1), **submit)
    store.watch = fits
    send(store, Begin())
    for number in range(levels):
        add(store, f"s{number}", step(f"s{number + 1}"))
    return store


def test_levels_are_counted_from_the_submitted_plan() -> None:
    """By who added whom."""
    store = nested(3)
    keys = [plan_key("0", "s0"), plan_key("s0.1", "s1"), plan_key("s2.1", "s3")]
    assert [0, 1, 3] == [level(store.run, key) for key in keys]


def test_the_last_added_step_ends_all_that_wait_for_it() -> None:
    """In the same commit, and the run with them."""
    store = nested(5)
    assert Do.STOP is send(store, Complete("s5", 1, payload(1))).do
    assert (RunStatus.SUCCEEDED, 6) == (store.run.status, store.run.done)
    assert {StepStatus.SUCCEEDED} == {row.status for row in store.steps.values()}


def test_more_levels_than_a_commit_has_room_for_end_in_the_next_ones() -> None:
    """Settle goes on with them."""
    store = nested(60)
    decision = send(store, Complete("s60", 1, payload(1)))
    while decision.do is Do.HANDOFF:
        decision = send(store, Settle())
    assert (RunStatus.SUCCEEDED, 61) == (store.run.status, store.run.done)


def test_a_lane_leaves_the_levels_above_it_to_settle() -> None:
    """Another lane's commit may end some of them meanwhile; the run succeeds once, at the end."""
    store = nested(MAX_NESTING)
    fanout = add(store, f"s{MAX_NESTING}", step("a"), step("b"))
    assert 2 == len(fanout.lanes)
    assert Do.STOP is send(store, Complete("a", 1, payload(1))).do
    assert Do.STOP is send(store, Complete("b", 1, payload(1))).do
    assert store.run.status is RunStatus.RUNNING
    assert Do.STOP is send(store, Settle()).do
    assert (RunStatus.SUCCEEDED, 33) == (store.run.status, store.run.done)


def test_what_waited_for_nested_steps_is_claimed_ten_at_once() -> None:
    """With the levels that ended in the same commit it has room."""
    after = [step(f"w{n}", "native", after=["s0"]) for n in range(12)]
    store = store_of(compiled(step("s0"), *after))
    store.watch = fits
    send(store, Begin())
    for number in range(24):
        add(store, f"s{number}", step(f"s{number + 1}"))
    decision = send(store, Complete("s24", 1, payload(1)))
    while decision.do is Do.HANDOFF:
        decision = send(store, Settle())
    assert 10 == len(decision.lanes)


def test_steps_are_adopted_by_the_parts_that_they_were_validated_against() -> None:
    """Another step added steps in between: the same id may be among them."""
    store = store_of(compiled(step("a"), step("b")))
    send(store, Begin())
    add(store, "a", step("x"))
    before = store.run
    late = Extension("b.1", ("x",), 1, ("0",))
    with pytest.raises(PartsMoved):
        send(store, Complete("b", 1, payload(None), extension=late))
    assert before == store.run


def ten_writes(**submit: float) -> tuple[MemoryStore, tuple[Decision, ...]]:
    """A run with as many levels as may be, and ten writes in lanes below them; all are sent."""
    store = nested(MAX_NESTING - 1, **submit)
    writes = [step(f"w{n}", "probe") for n in range(10)]
    lanes = add(store, f"s{MAX_NESTING - 1}", *writes).lanes
    assert all(store.mark_sent(lane.step_id, 1, NOW) for lane in lanes)
    return store, lanes


def test_a_run_that_fails_at_its_deepest_level_ends_in_one_commit() -> None:
    """Nine writes wait to be probed and are called unknown with it; thirty levels are cancelled."""
    store, (first, *others) = ten_writes()
    for lane in others:
        send(store, Recover(lane.step_id, 1, lane.lane, "lost", dead=True))
    send(store, Fail(first.step_id, 1, FATAL))
    ended = Counter(row.status for row in store.steps.values())
    assert RunStatus.FAILED is store.run.status
    assert {"needs_reconciliation": 9, "failed": 1, "cancelled": 30} == ended


def test_ten_lost_writes_and_the_end_are_two_commits() -> None:
    """The run is past its deadline when settle finds its lanes open."""
    store, _ = ten_writes(deadline_seconds=50)
    decision = send(store, Settle(), NOW + 51)
    assert (Do.HANDOFF, RunStatus.RUNNING) == (decision.do, store.run.status)
    send(store, Settle(), NOW + 51)
    ended = Counter(row.status for row in store.steps.values())
    assert RunStatus.FAILED is store.run.status
    assert {"needs_reconciliation": 10, "cancelled": 30} == ended


@pytest.mark.parametrize("lanes", [1, 10])
def test_levels_that_the_last_commit_has_no_room_for_can_be_resumed(lanes: int) -> None:
    """They are not called cancelled; the run goes on with them, and with all lanes that failed."""
    store = nested(119)
    below = [f"b{number}" for number in range(lanes)]
    add(store, "s119", *map(step, below))
    for step_id in below:
        send(store, Fail(step_id, 1, FATAL))
    assert RunStatus.FAILED is store.run.status
    send(store, Resume("op", tuple(below)))
    send(store, Begin())
    for step_id in below:
        send(store, Complete(step_id, store.steps[step_id].fence, payload(1)))
    while not store.run.status.ended:
        send(store, Settle())
    assert (RunStatus.SUCCEEDED, 120 + lanes) == (store.run.status, store.run.done)
