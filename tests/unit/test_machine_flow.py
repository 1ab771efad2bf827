"""How runs flow without faults: chains, joins, fan-outs, lanes that pull, ends."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from onward.domain.limits import HANDOFF_DECISIONS, MAX_FANS, MAX_LANES
from onward.domain.model import Failure, RunStatus, StepStatus
from onward.domain.protocol import Do

from tests.builders import NOW, chain, compiled, fan, ref, step, store_of
from tests.driver_model import Drive, Worker
from tests.property.invariants import check_outcome, row_bytes

if TYPE_CHECKING:
    from onward.domain.model import Json
    from onward.domain.plan import CompiledPlan
    from onward.domain.protocol import Outcome

    from tests.memory_store import MemoryStore


def given(store: MemoryStore, step_id: str) -> Json:
    """What a step was given as its input."""
    held = store.steps[step_id].input
    value: Json = json.loads((held and held.text) or "null")
    return value


class Seen:
    """Checks every commit and keeps it."""

    def __init__(self, store: MemoryStore) -> None:
        """Watch a store."""
        self.outcomes: list[Outcome] = []
        store.watch = self

    def __call__(self, store: MemoryStore, outcome: Outcome) -> None:
        check_outcome(store, outcome)
        self.outcomes.append(outcome)


def test_a_chain_costs_one_decision_a_step() -> None:
    """Completing a step and claiming the next is one commit."""
    drive = Drive(store_of(chain(8)))
    store = drive.to_the_end()
    assert RunStatus.SUCCEEDED is store.run.status
    assert {Do.STEP: 8, Do.STOP: 1} == dict(drive.execution.transitions)
    assert (8, 8, 9) == (store.run.done, store.run.attempts, store.run.decisions)


def test_a_commit_in_the_middle_of_a_long_chain_is_as_small_as_any() -> None:
    """Rows, events and bytes a step do not grow with the plan (O(1), design section 6)."""
    store = store_of(chain(300))
    seen = Seen(store)
    Drive(store).to_the_end()
    sizes = {
        (len(o.steps), len(o.records), len(o.events), len(o.run.ready), len(o.run.frontier))
        for o in seen.outcomes[1:-1]
    }
    assert {(2, 0, 2, 0, 0)} == sizes
    early, late = row_bytes(seen.outcomes[10].run), row_bytes(seen.outcomes[290].run)
    assert late - early < 20


def test_300_children_are_pulled_by_ten_lanes() -> None:
    """One Map carries them all, and the run row stays below 1 KB."""
    store = store_of(fan(300))
    seen = Seen(store)
    drive = Drive(store)
    drive.to_the_end()
    assert RunStatus.SUCCEEDED is store.run.status
    assert 1 == drive.execution.transitions[Do.FANOUT]
    assert MAX_LANES == max(len(o.run.open) for o in seen.outcomes)
    assert max(row_bytes(o.run) for o in seen.outcomes) < 1600
    assert {"all": [f"each.{i}" for i in range(300)]} == given(store, "sum")


def test_an_empty_fan_out_gives_an_empty_list() -> None:
    """Its end is committed before the step that reads it is claimed."""
    store = Drive(store_of(fan(0))).to_the_end()
    assert RunStatus.SUCCEEDED is store.run.status
    assert {"all": []} == given(store, "sum")


def test_a_fan_out_beside_a_plain_step_loses_neither() -> None:
    """A cursor is consumed in order, whatever its steps are."""
    plan = compiled(
        step("a"), step("f", for_each=ref("input")), step("b"), step("end", after=["a", "f", "b"])
    )
    store = store_of(plan, [1, 2, 3])
    Seen(store)
    Drive(store).to_the_end()
    assert (RunStatus.SUCCEEDED, 4) == (store.run.status, store.run.done)


@pytest.mark.parametrize("items", [[], [1]])
def test_many_fan_outs_at_once_are_opened_a_few_at_a_time(items: list[Json]) -> None:
    """Neither the run row nor a transaction grows with their number."""
    steps = (step(f"f{i}", for_each=ref("input"), input={"x": ref("item")}) for i in range(60))
    store = store_of(compiled(*steps), items)
    seen = Seen(store)
    Drive(store).to_the_end()
    assert (RunStatus.SUCCEEDED, 60) == (store.run.status, store.run.done)
    assert max(len(o.run.fans) for o in seen.outcomes) <= MAX_FANS


def test_a_fan_out_over_no_list_fails_in_words() -> None:
    """The step is named, and nothing was attempted."""
    store = Drive(store_of(compiled(step("f", for_each=ref("input"))), {"a": 1})).to_the_end()
    assert store.run.failing is not None
    assert ("f", "for_each is no list") == (
        store.run.failing.step_id,
        store.run.failing.failure.message,
    )
    assert 0 == store.run.attempts


def diamond() -> CompiledPlan:
    """One step, two that need it, one that needs both."""
    return compiled(step("a"), step("b", after=["a"]), step("c", after=["a"]), _join("d", "b", "c"))


def _join(step_id: str, *needs: str) -> dict[str, Json]:
    return step(step_id, input={need: ref(f"steps.{need}") for need in needs})


def test_a_join_is_claimed_once_by_the_lane_that_meets_it() -> None:
    """The other lane ends."""
    drive = Drive(store_of(diamond()))
    store = drive.to_the_end()
    assert {Do.STEP: 2, Do.FANOUT: 1, Do.STOP: 2} == dict(drive.execution.transitions)
    assert {"a": 1, "b": 1, "c": 1, "d": 1} == {s: row.fence for s, row in store.steps.items()}


def failing(plan: CompiledPlan, step_id: str) -> MemoryStore:
    """A run of a plan, at its end, one step of which failed for good."""
    store = store_of(plan)
    worker = Worker(store, {step_id: [Failure("fatal", "no")]})
    return Drive(store, worker).to_the_end()


def test_an_optional_step_that_fails_is_null_to_its_dependents() -> None:
    """The run succeeds without it, and counts it."""
    plan = compiled(step("a", optional=True), step("b", input={"x": ref("steps.a.y")}))
    store = failing(plan, "a")
    assert (RunStatus.SUCCEEDED, 1) == (store.run.status, store.run.skipped)
    assert StepStatus.SKIPPED is store.steps["a"].status
    assert {"x": None} == given(store, "b")


def test_an_optional_step_with_an_impossible_input_is_null_too() -> None:
    """Its row is committed before its dependents read it."""
    plan = compiled(
        step("a", optional=True, input={"x": ref("input.missing")}),
        step("b", input={"x": ref("steps.a")}),
    )
    store = Drive(store_of(plan, {})).to_the_end()
    assert RunStatus.SUCCEEDED is store.run.status
    assert {"x": None} == given(store, "b")


def test_hundreds_of_impossible_children_are_skipped_in_small_commits() -> None:
    """A transaction holds 100 items."""
    broken = compiled(
        step("list", input={"size": 500}),
        step(
            "each",
            for_each=ref("steps.list.items"),
            input={"x": ref("input.missing")},
            optional=True,
        ),
    )
    store = store_of(broken)
    seen = Seen(store)
    Drive(store).to_the_end()
    assert RunStatus.SUCCEEDED is store.run.status
    assert max(len(o.steps) for o in seen.outcomes) <= MAX_LANES + 2


def test_a_failing_step_fails_the_run_after_the_other_lanes_have_stopped() -> None:
    """They finish what they run and claim nothing more."""
    plan = compiled(step("a"), step("b"), step("c", after=["b"]))
    store = failing(plan, "a")
    assert RunStatus.FAILED is store.run.status
    assert {"a": StepStatus.FAILED, "b": StepStatus.SUCCEEDED} == {
        s: row.status for s, row in store.steps.items()
    }
    assert ("run.failed", "a") == (store.events[-1].type, store.events[-1].data["step_id"])


def test_after_2000_decisions_the_run_is_handed_to_the_next_generation() -> None:
    """An execution's history ends at 25,000 events; the run does not notice."""
    store = store_of(fan(HANDOFF_DECISIONS + 200))
    Drive(store).to_the_end()
    assert (RunStatus.SUCCEEDED, 2) == (store.run.status, store.run.generation)
    starts = [event.start for event in store.events if event.start]
    assert [1, 2] == starts
    attempts = Counter(row.fence for row in store.steps.values() if row.children is None)
    assert {1: HANDOFF_DECISIONS + 202} == dict(attempts)


def test_the_log_of_a_run_reads_as_a_story() -> None:
    """Dense numbers, from queued to succeeded."""
    store = Drive(store_of(chain(1))).to_the_end()
    assert [
        (1, "run.queued"),
        (2, "run.started"),
        (3, "step.started"),
        (4, "step.succeeded"),
        (5, "run.succeeded"),
    ] == [(event.seq, event.type) for event in store.events]
    assert {NOW} == {event.at for event in store.events}
