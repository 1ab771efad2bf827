"""Steps that add steps that add steps: every commit of such a run fits one transaction."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from onward.app.reading.snapshot import Seen, snapshot
from onward.aws.codec import run_item
from onward.domain.errors import Conflict
from onward.domain.limits import MAX_COUNTED
from onward.domain.machine import counting
from onward.domain.model import Failure, RunStatus, StepStatus
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


DEEP = 40
ROW_BYTES = 1_500


def fits(_store: MemoryStore, outcome: Outcome) -> None:
    """DynamoDB takes 100 items a transaction; the run row stays small whatever the plan.

    A cursor more for each part with steps that nobody has claimed yet, which are no levels.
    """
    rows = len(outcome.steps) + len(outcome.records)
    assert 1 + rows + len(outcome.events) + len(outcome.incidents) <= 100
    row = run_item(replace(outcome.run, ready=outcome.run.ready[-10:]))
    size = sum(len(name) + len(str(*value.values())) for name, value in row.items())
    assert size < ROW_BYTES


def add(store: MemoryStore, step_id: str, *added: dict[str, Json], fence: int = 1) -> Decision:
    """End a step's attempt with steps that it adds."""
    part = f"{step_id}.{fence}"
    plan = compile_plan({"steps": list(added)}, TOOLS, part=part)
    store.plan |= {planned.key: planned for planned in (*plan.steps, plan.roots)}
    ids = tuple(str(s["id"]) for s in added)
    extension = Extension(part, ids, len(plan.roots.singles), store.run.extensions)
    return send(store, Complete(step_id, fence, payload(None), extension=extension))


def nested(levels: int, **submit: float) -> MemoryStore:
    """A run whose open step `s<levels>` is so many levels deep."""
    store = store_of(chain(1), **submit)
    store.watch = fits
    send(store, Begin())
    for number in range(levels):
        add(store, f"s{number}", step(f"s{number + 1}"))
    return store


def settle(store: MemoryStore) -> None:
    """Let the main lane go on until the run ended."""
    for _ in range(100):
        if not store.run.status.ended:
            send(store, Settle())
    assert store.run.status.ended


def test_the_last_added_step_ends_all_that_wait_for_it() -> None:
    """In the same commit, and the run with them."""
    store = nested(5)
    assert Do.STOP is send(store, Complete("s5", 1, payload(1))).do
    assert (RunStatus.SUCCEEDED, 6) == (store.run.status, store.run.done)
    assert {StepStatus.SUCCEEDED} == {row.status for row in store.steps.values()}


def test_more_levels_than_a_commit_has_room_for_end_in_the_next_ones() -> None:
    """Settle goes on with them."""
    store = nested(60)
    send(store, Complete("s60", 1, payload(1)))
    settle(store)
    assert (RunStatus.SUCCEEDED, 61) == (store.run.status, store.run.done)


def test_a_lane_leaves_the_levels_above_it_to_settle() -> None:
    """Another lane's commit may end some of them meanwhile; the run succeeds once, at the end."""
    store = nested(DEEP)
    fanout = add(store, f"s{DEEP}", step("a"), step("b"))
    assert 2 == len(fanout.lanes)
    assert Do.STOP is send(store, Complete("a", 1, payload(1))).do
    assert Do.STOP is send(store, Complete("b", 1, payload(1))).do
    assert store.run.status is RunStatus.RUNNING
    assert Do.STOP is send(store, Settle()).do
    assert (RunStatus.SUCCEEDED, DEEP + 3) == (store.run.status, store.run.done)


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


def test_steps_are_adopted_by_the_plan_that_they_were_validated_against() -> None:
    """Another step added steps in between: the same id may be among them."""
    store = store_of(compiled(step("a"), step("b")))
    send(store, Begin())
    add(store, "a", step("x"))
    before = store.run
    late = Extension("b.1", ("x",), 1, 0)
    with pytest.raises(PartsMoved):
        send(store, Complete("b", 1, payload(None), extension=late))
    assert before == store.run


def ten_writes(**submit: float) -> tuple[MemoryStore, tuple[Decision, ...]]:
    """A run of many levels, and ten writes in lanes below them; all are sent."""
    store = nested(DEEP - 1, **submit)
    writes = [step(f"w{n}", "probe") for n in range(10)]
    lanes = add(store, f"s{DEEP - 1}", *writes).lanes
    assert all(store.mark_sent(lane.step_id, 1, NOW) for lane in lanes)
    return store, lanes


def test_a_run_that_fails_at_its_deepest_level_ends_in_one_commit() -> None:
    """Nine writes wait to be probed and are called unknown with it; the levels' rows stay."""
    store, (first, *others) = ten_writes()
    for lane in others:
        send(store, Recover(lane.step_id, 1, lane.lane, "lost", dead=True))
    send(store, Fail(first.step_id, 1, FATAL))
    ended = Counter(row.status for row in store.steps.values())
    assert RunStatus.FAILED is store.run.status
    assert {"needs_reconciliation": 9, "failed": 1, "executing": DEEP} == ended


def test_ten_lost_writes_and_the_end_are_two_commits() -> None:
    """The run is past its deadline when settle finds its lanes open."""
    store, _ = ten_writes(deadline_seconds=50)
    decision = send(store, Settle(), NOW + 51)
    assert (Do.HANDOFF, RunStatus.RUNNING) == (decision.do, store.run.status)
    send(store, Settle(), NOW + 51)
    ended = Counter(row.status for row in store.steps.values())
    assert RunStatus.FAILED is store.run.status
    assert {"needs_reconciliation": 10, "executing": DEEP} == ended


def test_a_resumed_run_goes_on_below_all_its_levels() -> None:
    """With all lanes that failed; the levels above end when what they added has ended."""
    store = nested(119)
    below = [f"b{number}" for number in range(10)]
    add(store, "s119", *map(step, below))
    for step_id in below:
        send(store, Fail(step_id, 1, FATAL))
    assert RunStatus.FAILED is store.run.status
    send(store, Resume("op", tuple(below)))
    send(store, Begin())
    for step_id in below:
        send(store, Complete(step_id, store.steps[step_id].fence, payload(1)))
    settle(store)
    assert (RunStatus.SUCCEEDED, 130) == (store.run.status, store.run.done)


@pytest.mark.parametrize(
    ("beside", "rounds"),
    [((), 200), (("after",), 200), (("before",), 200), (("before", "after"), 160)],
    ids=["alone", "a step after it", "a step before it", "both"],
)
def test_a_loop_takes_two_hundred_turns(beside: tuple[str, ...], rounds: int) -> None:
    """Each turn adds the next one, and perhaps a step that follows it or that it follows."""
    store = store_of(chain(1))
    store.watch = fits
    send(store, Begin())
    for number in range(rounds):
        after = f"s{number + 1}"
        added = [step(after, after=[f"b{number}"] if "before" in beside else [])]
        added += [step(f"a{number}", after=[after])] if "after" in beside else []
        added += [step(f"b{number}")] if "before" in beside else []
        decision = add(store, f"s{number}", *added)
        if "before" in beside:
            assert f"b{number}" == decision.step_id
            send(store, Complete(f"b{number}", 1, payload(1)))
    decision = send(store, Complete(f"s{rounds}", 1, payload(1)))
    while not store.run.status.ended:
        done = Complete(decision.step_id, decision.fence, payload(1))
        decision = send(store, done if decision.do is Do.STEP else Settle())
    assert (RunStatus.SUCCEEDED, len(store.steps)) == (store.run.status, store.run.done)
    assert {StepStatus.SUCCEEDED} == {row.status for row in store.steps.values()}
    assert {} == store.run.extended


def test_a_loop_that_fails_at_turn_150_of_200_is_resumed() -> None:
    """What is above the failed turn was under way, and is again; the snapshot says so."""
    store = nested(150)
    send(store, Fail("s150", 1, FATAL))
    assert RunStatus.FAILED is store.run.status
    assert {"cancelled": 150, "failed": 1} == shown(store)
    send(store, Resume("op", ("s150",)))
    assert {"executing": 150, "backing_off": 1} == shown(store)
    send(store, Begin())
    for number in range(150, 200):
        add(store, f"s{number}", step(f"s{number + 1}"), fence=store.steps[f"s{number}"].fence)
    send(store, Complete("s200", 1, payload(1)))
    settle(store)
    assert (RunStatus.SUCCEEDED, 201) == (store.run.status, store.run.done)
    assert {"succeeded": 201} == shown(store)


def shown(store: MemoryStore) -> Counter[str]:
    """The statuses of a snapshot's steps."""
    plan = [planned for planned in store.plan.values() if planned.step_id]
    return Counter(s["status"] for s in snapshot(Seen(store.run, None, plan, store.steps))["steps"])


@pytest.mark.parametrize("seed", range(10))
def test_a_tree_of_planners_ends(seed: int) -> None:
    """More numbers than the run row holds are counted: none is lost, and none counted twice."""
    store, chance = store_of(chain(1)), Random(seed)
    store.watch = fits
    lanes, room, held = [send(store, Begin())], 400, 0
    while not store.run.status.ended:
        if not lanes:
            lanes = _attempts(send(store, Settle()))
            continue
        lane, width = lanes.pop(chance.randrange(len(lanes))), chance.choice([0, 1, 2, 2, 3, 4])
        if width and room >= width:
            room -= width
            added = [step(f"n{room}-{number}") for number in range(width)]
            lanes += _attempts(add(store, lane.step_id, *added))
        else:
            lanes += _attempts(send(store, Complete(lane.step_id, 1, payload(1))))
        held = max(held, len(store.run.extended))
    assert (RunStatus.SUCCEEDED, len(store.steps)) == (store.run.status, store.run.done)
    assert {StepStatus.SUCCEEDED} == {row.status for row in store.steps.values()}
    assert held <= MAX_COUNTED + 10


def _attempts(decision: Decision) -> list[Decision]:
    return list(decision.lanes) or ([decision] if decision.do is Do.STEP else [])


def test_a_number_that_the_run_row_let_go_of_is_read_at_its_newest(monkeypatch: Any) -> None:
    """A read is no snapshot: a row from before it was noted down refuses the commit."""
    store = store_of(chain(1))
    send(store, Begin())
    add(store, "s0", step("a"), step("b"), step("c"))
    older = store.steps["s0"]
    send(store, Complete("a", 1, payload(1)))
    monkeypatch.setattr(counting, "MAX_COUNTED", 1)
    add(store, "b", *map(step, "defg"))
    assert (1, ["s0.1#b"]) == (store.steps["s0"].counted, list(store.run.extended))
    newest = store.steps["s0"]
    store.steps["s0"] = older
    outcome = store.decided(Complete("c", 1, payload(1)), 1, NOW)
    store.steps["s0"] = newest
    with pytest.raises(Conflict):
        store.commit(outcome)
