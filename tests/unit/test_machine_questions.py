"""Runs that fail while a write is in doubt: the question stays, and nothing is resumed (G4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from onward.domain.effects import EffectState
from onward.domain.errors import NotWaiting
from onward.domain.limits import DUE_AFTER, FUNCTION_SECONDS
from onward.domain.model import MAIN_LANE, Failure, RunStatus, StepStatus
from onward.domain.protocol import (
    Begin,
    Complete,
    Fail,
    Recover,
    Resolve,
    Resume,
    Settle,
    TakeReceipt,
    Verdict,
)

from tests.builders import NOW, compiled, payload, ref, send, step, store_of
from tests.driver_model import Drive

if TYPE_CHECKING:
    from onward.domain.model import Json

    from tests.memory_store import MemoryStore

UNKNOWN = Failure("outcome_unknown", "read timed out")
FATAL = Failure("fatal", "no")
LATER = NOW + 5_000.0


def failed(tool: str = "none", *, deadline: bool = False, **keys: Json) -> MemoryStore:
    """A failed run whose write `s0` is in doubt; `next` takes what it returned."""
    plan = compiled(step("s0", tool, **keys), step("b"), step("next", input={"x": ref("steps.s0")}))
    store = store_of(plan, deadline_seconds=20.0 if deadline else None)
    send(store, Begin())
    store.mark_sent("s0", 1, NOW)
    send(store, Fail("s0", 1, UNKNOWN, jitter=0.5), NOW + 1)
    if deadline:
        send(store, Complete("b", 1, payload(1)), NOW + 21)
    else:
        send(store, Fail("b", 1, FATAL), NOW + 21)
    if not store.run.status.ended:
        send(store, Settle(), NOW + 21)
    assert RunStatus.FAILED is store.run.status
    return store


def answer(store: MemoryStore, verdict: Verdict, at: float = LATER) -> None:
    """Answer for `s0`; no generation of the driver is asking."""
    store.carry_out(Resolve("s0", verdict, "olga", payload("by hand")), None, at)


@pytest.mark.parametrize("deadline", [False, True])
@pytest.mark.parametrize("tool", ["none", "probe"])
def test_a_run_that_fails_keeps_its_question(tool: str, deadline: bool) -> None:
    """Also of a write that only waited for its probe; its step takes no longer for it."""
    store = failed(tool, deadline=deadline)
    row = store.steps["s0"]
    assert {"s0"} == store.run.waiting.keys()
    assert (StepStatus.NEEDS_RECONCILIATION, NOW + 21) == (row.status, row.ended_at)


@pytest.mark.parametrize("tool", ["none", "probe"])
@pytest.mark.parametrize(
    ("verdict", "status", "state"),
    [
        (Verdict.APPLIED, StepStatus.SUCCEEDED, EffectState.APPLIED),
        (Verdict.NOT_APPLIED, StepStatus.CANCELLED, EffectState.NOT_APPLIED),
        (Verdict.ABANDON, StepStatus.FAILED, EffectState.UNKNOWN),
    ],
)
def test_an_answer_executes_nothing(
    tool: str, verdict: Verdict, status: StepStatus, state: EffectState
) -> None:
    """The ledger learns it, the run stays failed and is looked after until all have heard."""
    store = failed(tool)
    before = store.run
    answer(store, verdict)
    assert (status, state) == (store.steps["s0"].status, store.effects["s0"].state)
    assert (RunStatus.FAILED, {}, {}) == (store.run.status, store.run.open, store.run.waiting)
    assert (before.generation, before.attempts) == (store.run.generation, store.run.attempts)
    assert "next" not in store.steps
    assert int(LATER) + DUE_AFTER == store.run.due_at
    assert "step.reconciled" in [event.type for event in store.events[before.seq :]]
    assert not [event for event in store.events[before.seq :] if event.start is not None]


def test_an_answer_days_later_makes_no_step_take_days() -> None:
    """Neither its own time nor the time that its recovery took."""
    store = failed()
    answer(store, Verdict.APPLIED)
    (incident,) = [i for i in store.incidents if i.step_id == "s0"]
    assert (NOW + 21, NOW + 21) == (store.steps["s0"].ended_at, incident.resumed_at)


@pytest.mark.parametrize("again", list(Verdict))
def test_the_first_answer_counts_after_the_end_too(again: Verdict) -> None:
    store = failed()
    answer(store, Verdict.NOT_APPLIED)
    before = store.run
    with pytest.raises(NotWaiting):
        answer(store, again)
    assert before is store.run


def test_not_applied_is_refused_after_the_end_too_while_the_write_may_land() -> None:
    """A resume would send it again."""
    store = failed()
    with pytest.raises(NotWaiting, match="may still arrive"):
        answer(store, Verdict.NOT_APPLIED, NOW + 30)


@pytest.mark.parametrize(
    ("verdict", "fence", "key"),
    [(Verdict.APPLIED, 2, ""), (Verdict.NOT_APPLIED, 3, "~1")],
)
def test_a_resume_goes_on_from_the_answer(verdict: Verdict, fence: int, key: str) -> None:
    """What was applied never runs again (G2); what was not is sent under a new key."""
    store = failed()
    answer(store, verdict)
    stopped = {StepStatus.FAILED, StepStatus.CANCELLED, StepStatus.NEEDS_RECONCILIATION}
    named = tuple(s for s, row in store.steps.items() if row.status in stopped)
    store.carry_out(Resume("olga", named), None, LATER)
    Drive(store, now=LATER).to_the_end()
    assert RunStatus.SUCCEEDED is store.run.status
    assert fence == store.steps["s0"].fence
    assert store.effects["s0"].key.endswith(key)


def test_a_resume_without_an_answer_asks_again() -> None:
    """Also where the operator's list does not name the step."""
    store = failed()
    store.carry_out(Resume("olga", ("b",)), None, LATER)
    Drive(store, now=LATER).to_the_end(limit=50)
    assert RunStatus.NEEDS_RECONCILIATION is store.run.status
    answer(store, Verdict.APPLIED)
    Drive(store, now=LATER).to_the_end()
    assert RunStatus.SUCCEEDED is store.run.status


def test_the_last_doubt_of_a_fan_out_that_was_cancelled_ends_it() -> None:
    """A resume goes on behind it."""
    store = store_of(compiled(step("each", "none", for_each=ref("input")), step("b")), [1])
    send(store, Begin())
    store.mark_sent("each.0", 1, NOW)
    send(store, Fail("each.0", 1, UNKNOWN))
    send(store, Fail("b", 1, FATAL))
    store.carry_out(Resolve("each.0", Verdict.APPLIED, "olga", payload(1)), None, LATER)
    assert StepStatus.SUCCEEDED is store.steps["each"].status
    store.carry_out(Resume("olga", ("b",)), None, LATER)
    Drive(store, now=LATER).to_the_end()
    assert RunStatus.SUCCEEDED is store.run.status


# --- receipts that come late ------------------------------------------------------------------


def given_up(tool: str) -> MemoryStore:
    """A run whose write's attempt was given up while its worker was perhaps alive."""
    store = store_of(compiled(step("s0", tool), step("next", input={"x": ref("steps.s0")})))
    send(store, Begin())
    store.mark_sent("s0", 1, NOW)
    send(store, Recover("s0", 1, MAIN_LANE, "States.Timeout", dead=False), NOW + 70)
    return store


@pytest.mark.parametrize("tool", ["none", "probe"])
@pytest.mark.parametrize("told", [True, False])
def test_a_receipt_that_comes_late_ends_the_doubt(tool: str, told: bool) -> None:
    """By its worker's word, or when somebody looks; nobody is asked, nothing is waited for."""
    store = given_up(tool)
    store.keep_token(store.run.seq, 1, "token")
    store.keep_receipt("s0", 1, payload("receipt"))
    if told:
        store.carry_out(TakeReceipt("s0"), None, NOW + 71)
        assert (RunStatus.QUEUED, "token") == (store.run.status, store.run.park_token)
    send(store, Settle(), NOW + 72)
    send(store, Settle(), NOW + 72)
    assert (StepStatus.SUCCEEDED, EffectState.APPLIED) == (
        store.steps["s0"].status,
        store.effects["s0"].state,
    )
    assert payload({"x": "receipt"}) == store.steps["next"].input
    (told_by,) = [e.data["by"] for e in store.events if e.type == "step.reconciled"]
    assert "receipt" == told_by


@pytest.mark.parametrize("tool", ["none", "probe"])
def test_a_receipt_that_comes_after_the_end_is_learned(tool: str) -> None:
    """The run stays failed, and nobody is asked any more."""
    store = failed(tool)
    store.keep_receipt("s0", 1, payload("receipt"))
    store.carry_out(TakeReceipt("s0"), None, LATER)
    assert (RunStatus.FAILED, {}) == (store.run.status, store.run.waiting)
    assert (StepStatus.SUCCEEDED, EffectState.APPLIED) == (
        store.steps["s0"].status,
        store.effects["s0"].state,
    )


def test_the_ledger_learns_of_a_receipt_for_a_step_that_was_abandoned() -> None:
    """The step stays given up: it was somebody's decision."""
    store = failed()
    answer(store, Verdict.ABANDON)
    store.keep_receipt("s0", 1, payload("receipt"))
    store.carry_out(TakeReceipt("s0"), None, LATER)
    assert (StepStatus.FAILED, EffectState.APPLIED, None) == (
        store.steps["s0"].status,
        store.effects["s0"].state,
        store.effects["s0"].unknown_since,
    )


def test_a_receipt_is_what_was_returned_whatever_an_operator_names() -> None:
    """It came while they looked."""
    store = given_up("none")
    store.keep_receipt("s0", 1, payload("receipt"))
    answer(store, Verdict.APPLIED)
    assert payload("receipt") == store.steps["s0"].output == store.effects["s0"].receipt


def test_no_receipt_no_change() -> None:
    """Whoever says so without one."""
    store = given_up("none")
    before = store.run
    store.carry_out(TakeReceipt("s0"), None, NOW + 71)
    store.carry_out(TakeReceipt("next"), None, NOW + 71)
    assert before is store.run


def test_a_receipt_of_a_step_that_is_open_is_left_to_its_attempt() -> None:
    """A native resend is on its way: its own end says the same."""
    store = store_of(compiled(step("s0", "native")))
    send(store, Begin())
    store.mark_sent("s0", 1, NOW)
    send(store, Recover("s0", 1, MAIN_LANE, "States.Timeout", dead=False))
    store.keep_receipt("s0", 1, payload("receipt"))
    before = store.run
    store.carry_out(TakeReceipt("s0"), None, NOW + 1)
    assert before is store.run


def test_a_receipt_is_worth_more_than_what_a_probe_did_not_find() -> None:
    """The attempt that asked may not send; whoever takes it over finds the receipt."""
    store = given_up("probe")
    quiet = NOW + 70 + FUNCTION_SECONDS + 30
    asks = send(store, Settle(), quiet)
    store.keep_receipt("s0", 1, payload("receipt"))
    assert not store.mark_resent("s0", asks.fence, quiet)
    send(store, Recover("s0", asks.fence, MAIN_LANE, "AttemptClosed", dead=False), quiet)
    assert StepStatus.SUCCEEDED is store.steps["s0"].status
