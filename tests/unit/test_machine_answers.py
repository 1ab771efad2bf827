"""Operators answer for writes in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from onward.domain.effects import EffectState
from onward.domain.errors import NotWaiting
from onward.domain.limits import DUE_AFTER, FUNCTION_SECONDS
from onward.domain.model import Failure, RunStatus, StepStatus
from onward.domain.protocol import (
    Begin,
    Complete,
    Decision,
    Do,
    Fail,
    Recover,
    Resolve,
    Settle,
    Verdict,
)

from tests.builders import NOW, compiled, payload, ref, send, step, store_of

if TYPE_CHECKING:
    from onward.domain.model import Json

    from tests.memory_store import MemoryStore

UNKNOWN = Failure("outcome_unknown", "read timed out")
FATAL = Failure("fatal", "no")
QUIET = NOW + 30.0
ANSWERS = [
    (Verdict.APPLIED, StepStatus.SUCCEEDED, EffectState.APPLIED),
    (Verdict.NOT_APPLIED, StepStatus.BACKING_OFF, EffectState.NOT_APPLIED),
    (Verdict.ABANDON, StepStatus.FAILED, EffectState.UNKNOWN),
]


def answer(
    store: MemoryStore, verdict: Verdict, at: float = QUIET, step_id: str = "s0"
) -> Decision:
    """Answer for a step; no generation of the driver is asking."""
    command = Resolve(step_id, verdict, "olga", payload("by hand"))
    return store.carry_out(command, None, at).decision


def in_doubt(*others: dict[str, Json], tool: str = "none", optional: bool = False) -> MemoryStore:
    """A run whose step `s0` sent a write that nobody knows the outcome of."""
    store = store_of(compiled(step("s0", tool, optional=optional), *others))
    send(store, Begin())
    store.mark_sent("s0", 1, NOW)
    send(store, Fail("s0", 1, UNKNOWN))
    return store


@pytest.mark.parametrize(("verdict", "status", "state"), ANSWERS)
def test_an_answer_puts_the_run_back_into_the_queue(
    verdict: Verdict, status: StepStatus, state: EffectState
) -> None:
    """Its driver goes on when it hears of it; until then the patrol looks after it."""
    store = in_doubt()
    assert Do.STOP is answer(store, verdict).do
    assert (RunStatus.QUEUED, status, state) == (
        store.run.status,
        store.steps["s0"].status,
        store.effects["s0"].state,
    )
    assert int(QUIET) + DUE_AFTER == store.run.due_at
    reconciled = next(event for event in store.events if event.type == "step.reconciled")
    assert {"step_id": "s0", "outcome": verdict.value, "by": "olga"} == reconciled.data


@pytest.mark.parametrize("verdict", list(Verdict))
def test_an_answer_leaves_the_token_for_its_signal(verdict: Verdict) -> None:
    """It is read after the commit; only a driver that goes on takes it away."""
    store = in_doubt()
    store.keep_token(store.run.seq, 1, "token")
    answer(store, verdict)
    assert "token" == store.run.park_token
    send(store, Settle(), QUIET)
    assert store.run.park_token is None


def test_an_applied_write_is_a_checkpoint() -> None:
    """Its dependents are given what the operator says it returned."""
    store = in_doubt(step("next", input={"x": ref("steps.s0")}))
    answer(store, Verdict.APPLIED, NOW)
    assert "next" == send(store, Settle()).step_id
    assert payload({"x": "by hand"}) == store.steps["next"].input


def test_a_write_that_was_not_applied_is_sent_under_a_new_key() -> None:
    """With all its attempts before it, though this was its last."""
    store = in_doubt()
    answer(store, Verdict.NOT_APPLIED)
    assert ("~1", 0) == (store.effects["s0"].key[-2:], store.steps["s0"].tries)
    decision = send(store, Settle(), QUIET)
    assert (Do.STEP, StepStatus.EXECUTING) == (decision.do, store.steps["s0"].status)
    assert store.mark_sent("s0", decision.fence, QUIET)


@pytest.mark.parametrize("tool", ["none", "probe"])
def test_not_applied_is_refused_while_the_write_may_still_land(tool: str) -> None:
    """What an operator does not find may arrive after the resend: two effects (G3)."""
    store = in_doubt(tool=tool)
    before = store.run
    with pytest.raises(NotWaiting, match="may still arrive for 1 seconds"):
        answer(store, Verdict.NOT_APPLIED, QUIET - 1)
    assert before is store.run
    answer(store, Verdict.NOT_APPLIED, QUIET)


def test_not_applied_waits_for_a_sender_that_perhaps_lives() -> None:
    """As a probe does."""
    store = store_of(compiled(step("s0", "none")))
    send(store, Begin())
    store.mark_sent("s0", 1, NOW)
    send(store, Recover("s0", 1, 0, "States.Timeout", dead=False))
    with pytest.raises(NotWaiting):
        answer(store, Verdict.NOT_APPLIED, QUIET)
    answer(store, Verdict.NOT_APPLIED, QUIET + FUNCTION_SECONDS)


@pytest.mark.parametrize("verdict", [Verdict.NOT_APPLIED, Verdict.ABANDON])
def test_a_receipt_that_came_knows_better_than_an_operator(verdict: Verdict) -> None:
    """Whatever denies it is refused; `applied` without a result takes the receipt."""
    store = in_doubt()
    store.keep_receipt("s0", 1, payload("receipt"))
    with pytest.raises(NotWaiting, match="it was applied"):
        answer(store, verdict)
    store.carry_out(Resolve("s0", Verdict.APPLIED, "olga"), None, QUIET)
    assert payload("receipt") == store.steps["s0"].output


@pytest.mark.parametrize("again", list(Verdict))
def test_the_first_answer_counts(again: Verdict) -> None:
    """Whatever the second one says, nothing changes."""
    store = in_doubt()
    answer(store, Verdict.NOT_APPLIED)
    before = store.run
    with pytest.raises(NotWaiting):
        answer(store, again)
    assert before is store.run


@pytest.mark.parametrize("step_id", ["b", "later", "nobody"])
def test_only_a_step_in_doubt_can_be_answered_for(step_id: str) -> None:
    """Not one that runs, not one that has no row."""
    store = in_doubt(step("b"), step("later", after=["b"]))
    with pytest.raises(NotWaiting):
        answer(store, Verdict.APPLIED, step_id=step_id)


def test_an_answer_while_other_lanes_run_is_taken_up_by_them() -> None:
    """The run was not waiting, so it is not queued: a lane pulls what the answer frees."""
    store = in_doubt(step("b"), step("next", after=["s0"]))
    answer(store, Verdict.APPLIED)
    assert RunStatus.RUNNING is store.run.status
    assert "next" == send(store, Complete("b", 1, payload(1))).step_id


def test_an_answer_to_one_of_two_doubts_is_heard_too() -> None:
    """The driver looks, and goes back to waiting for the other."""
    plan = compiled(step("s0", "none"), step("s1", "none"), step("next", after=["s0"]))
    store = store_of(plan)
    send(store, Begin())
    for lane, step_id in enumerate(("s0", "s1"), start=1):
        store.mark_sent(step_id, 1, NOW)
        send(store, Recover(step_id, 1, lane, "lost", dead=True))
    send(store, Settle())
    answer(store, Verdict.APPLIED)
    assert RunStatus.QUEUED is store.run.status
    step_lane, parked = send(store, Settle(), QUIET).lanes
    assert ("next", Do.WAIT) == (step_lane.step_id, parked.do)
    assert Do.STOP is send(store, Complete("next", 1, payload(1)), QUIET).do
    assert Do.WAIT is send(store, Settle(), QUIET).do
    assert RunStatus.NEEDS_RECONCILIATION is store.run.status


def test_an_answer_for_a_failing_run_is_kept() -> None:
    """The checkpoint stands, and the run fails when its other lanes have stopped."""
    store = in_doubt(step("b"), step("c"))
    send(store, Fail("b", 1, FATAL))
    answer(store, Verdict.APPLIED)
    send(store, Complete("c", 1, payload(1)), QUIET)
    assert (RunStatus.FAILED, StepStatus.SUCCEEDED) == (
        store.run.status,
        store.steps["s0"].status,
    )


def test_an_abandoned_step_fails_its_run_and_the_ledger_stays_unknown() -> None:
    """Nobody said that it did not happen."""
    store = in_doubt()
    answer(store, Verdict.ABANDON)
    send(store, Settle(), QUIET)
    assert (RunStatus.FAILED, "abandoned") == (store.run.status, store.events[-1].data["code"])
    assert NOW == store.effects["s0"].unknown_since


def test_an_abandoned_optional_step_is_skipped_because_a_person_said_so() -> None:
    """The run goes on without it."""
    store = in_doubt(step("next", input={"x": ref("steps.s0")}), optional=True)
    answer(store, Verdict.ABANDON)
    assert "next" == send(store, Settle(), QUIET).step_id
    assert EffectState.UNKNOWN is store.effects["s0"].state


def test_a_child_of_a_fan_out_can_be_answered_for() -> None:
    """It counts for its parent like any other."""
    store = store_of(compiled(step("each", "none", for_each=ref("input"))), [1])
    send(store, Begin())
    store.mark_sent("each.0", 1, NOW)
    send(store, Fail("each.0", 1, UNKNOWN))
    answer(store, Verdict.APPLIED, step_id="each.0")
    assert StepStatus.SUCCEEDED is store.steps["each"].status
    send(store, Settle(), QUIET)
    assert RunStatus.SUCCEEDED is store.run.status
