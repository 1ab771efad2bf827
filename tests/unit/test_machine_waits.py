"""Steps that wait: for a person, for a time; and steps that a condition skips."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from onward.domain.effects import EffectState
from onward.domain.errors import ActionChanged, AlreadyDecided, ApprovalExpired, NotWaiting
from onward.domain.limits import MAX_WAITING
from onward.domain.model import Failure, RunStatus, StepStatus
from onward.domain.protocol import (
    Begin,
    Complete,
    DecideApproval,
    Do,
    Fail,
    Resolved,
    Resume,
    Settle,
)
from onward.domain.waits import ApprovalState

from tests.builders import NOW, compiled, payload, ref, send, step, store_of

if TYPE_CHECKING:
    from onward.domain.model import Json

    from tests.memory_store import MemoryStore

HOUR = 3600.0


def approving(tool: str = "native", *others: dict[str, Json], **keys: Any) -> MemoryStore:
    """A run that waits for somebody to approve its step `pay`."""
    keys = {"approval": {"expires": "1h"}, "input": {"amount": 7}} | keys
    store = store_of(compiled(step("pay", tool, **keys), *others))
    assert Do.WAIT is send(store, Begin()).do
    return store


def decide(store: MemoryStore, *, approve: bool = True, at: float = NOW + 1, **more: Any) -> None:
    """Decide as olga does, on what is proposed unless something else is said."""
    version = store.approvals["pay"].action_version
    command = DecideApproval("pay", approve, more.pop("version", version), "olga", **more)
    store.carry_out(command, None, at)


def told(store: MemoryStore) -> list[str]:
    """The types of the run's events."""
    return [event.type for event in store.events]


def test_an_action_that_needs_approval_is_proposed_and_not_attempted() -> None:
    """Nothing is open, nobody may send, and the driver parks until the approval expires."""
    store = approving()
    assert (RunStatus.WAITING_HUMAN, {}) == (store.run.status, store.run.open)
    row, effect, request = store.steps["pay"], store.effects["pay"], store.approvals["pay"]
    assert (StepStatus.WAITING_HUMAN, 0, 0) == (row.status, row.fence, row.tries)
    assert EffectState.INTENDED is effect.state
    assert not store.mark_sent("pay", 1, NOW)
    assert (ApprovalState.OPEN, NOW + HOUR) == (request.state, request.expires_at)
    assert request.action_version == effect.action_version
    assert "step.waiting_human" in told(store)


def test_an_approved_action_is_done_once_under_its_key() -> None:
    """Its attempt is the first; later ones of the same action need no second approval."""
    store = approving()
    key = store.effects["pay"].key
    decide(store)
    assert RunStatus.QUEUED is store.run.status
    decision = send(store, Settle(), NOW + 2)
    assert (Do.STEP, 1) == (decision.do, decision.fence)
    assert store.mark_sent("pay", 1, NOW)
    decision = send(store, Fail("pay", 1, Failure("transient", "later", retryable=True)), NOW + 3)
    assert ("pay", 2) == (decision.step_id, decision.fence)
    send(store, Complete("pay", 2, payload("done")), NOW + HOUR)
    assert (RunStatus.SUCCEEDED, key) == (store.run.status, store.effects["pay"].key)


def test_a_decision_that_is_repeated_changes_nothing() -> None:
    """Whatever became of the run since, and after the approval has expired too."""
    store = approving()
    decide(store)
    seq = store.run.seq
    decide(store, at=NOW + 2 * HOUR)
    assert seq == store.run.seq
    send(store, Settle(), NOW + 2)
    send(store, Complete("pay", 1, payload("done")), NOW + 3)
    seq = store.run.seq
    decide(store)
    assert (RunStatus.SUCCEEDED, seq) == (store.run.status, store.run.seq)


@pytest.mark.parametrize(
    ("wrong", "refusal"),
    [
        ({"version": "another"}, ActionChanged),
        ({"at": NOW + HOUR}, ApprovalExpired),
        ({"at": NOW + 2 * HOUR}, ApprovalExpired),
    ],
)
def test_a_wrong_or_late_decision_is_refused(wrong: dict[str, Any], refusal: type) -> None:
    """And leaves the approval as it was."""
    store = approving()
    with pytest.raises(refusal):
        decide(store, **wrong)
    assert ApprovalState.OPEN is store.approvals["pay"].state


def test_the_first_decision_counts() -> None:
    """The opposite one, and another edit, come too late."""
    store = approving()
    decide(store)
    with pytest.raises(AlreadyDecided):
        decide(store, approve=False)
    with pytest.raises(AlreadyDecided):
        decide(store, edited=Resolved(payload({"amount": 5}), "edited"))


def test_a_step_that_asks_nobody_takes_no_decision() -> None:
    """Nor one that does not exist."""
    store = store_of(compiled(step("pay")))
    send(store, Begin())
    with pytest.raises(NotWaiting):
        store.carry_out(DecideApproval("pay", True, "v", "olga"), None, NOW)
    with pytest.raises(NotWaiting):
        store.carry_out(DecideApproval("nope", True, "v", "olga"), None, NOW)


@pytest.mark.parametrize("optional", [False, True])
def test_a_rejected_action_is_not_done(optional: bool) -> None:
    """Its step fails and says by whom and why; an optional one is skipped, and the run goes on."""
    store = approving("native", step("then", after=["pay"]), optional=optional)
    decide(store, approve=False, comment="too much")
    decision = send(store, Settle(), NOW + 2)
    row = store.steps["pay"]
    assert row.error == Failure("rejected", "rejected by olga: too much")
    assert EffectState.NOT_APPLIED is store.effects["pay"].state
    if optional:
        assert (Do.STEP, "then") == (decision.do, decision.step_id)
    else:
        assert (StepStatus.FAILED, RunStatus.FAILED) == (row.status, store.run.status)


@pytest.mark.parametrize(
    ("on_expiry", "code"), [("fail", "approval_expired"), ("reject", "rejected")]
)
def test_an_approval_that_nobody_gave_in_time_ends_its_step(on_expiry: str, code: str) -> None:
    """As the step's policy says; whoever notices first, here the driver."""
    store = approving(approval={"expires": "1h", "on_expiry": on_expiry})
    send(store, Settle(), NOW + HOUR)
    assert (RunStatus.FAILED, ApprovalState.EXPIRED) == (
        store.run.status,
        store.approvals["pay"].state,
    )
    error = store.steps["pay"].error
    assert error is not None
    assert (code, True) == (error.code, "step.expired" in told(store))


def test_an_edited_action_is_another_one() -> None:
    """Step, ledger and approval name the same digest and key from the same commit on."""
    store = approving()
    old = store.effects["pay"]
    edited = Resolved(payload({"amount": 5}), "edited")
    decide(store, edited=edited)
    effect, request = store.effects["pay"], store.approvals["pay"]
    assert ("edited", "edited") == (effect.action_version, request.approved_version)
    assert request.action_version == old.action_version
    assert (True, True) == (effect.key != old.key, effect.key.endswith("/pay/edited"))
    assert payload({"amount": 5}) == store.steps["pay"].input
    seq = store.run.seq
    decide(store, edited=edited)
    assert seq == store.run.seq


def test_a_resumed_run_asks_again_for_what_was_not_approved() -> None:
    """A rejected action is not done because somebody resumes the run."""
    store = approving()
    decide(store, approve=False)
    send(store, Settle(), NOW + 2)
    store.carry_out(Resume("op", ("pay",)), None, NOW + 3)
    assert Do.WAIT is send(store, Begin(), NOW + 4).do
    request = store.approvals["pay"]
    assert (ApprovalState.OPEN, NOW + 3 + HOUR) == (request.state, request.expires_at)
    decide(store, at=NOW + 5)
    assert Do.STEP is send(store, Settle(), NOW + 6).do


def test_an_approved_action_is_not_asked_for_again_by_a_resume() -> None:
    """The decision is bound to the action, which is the same."""
    store = approving()
    decide(store)
    send(store, Settle(), NOW + 2)
    send(store, Fail("pay", 1, Failure("fatal", "no")), NOW + 3)
    store.carry_out(Resume("op", ("pay",)), None, NOW + 4)
    assert Do.STEP is send(store, Begin(), NOW + 5).do


def test_a_run_that_fails_takes_its_questions_back() -> None:
    """A resume asks them anew."""
    store = store_of(
        compiled(step("pay", "native", approval={}), step("bad", "once", after=[])),
    )
    send(store, Begin())
    send(store, Fail("bad", 1, Failure("fatal", "no")), NOW + 1)
    send(store, Settle(), NOW + 1)
    assert (RunStatus.FAILED, ApprovalState.WITHDRAWN) == (
        store.run.status,
        store.approvals["pay"].state,
    )
    with pytest.raises(NotWaiting):
        decide(store, at=NOW + 2)
    store.carry_out(Resume("op", ("pay", "bad")), None, NOW + 3)
    assert ApprovalState.OPEN is store.approvals["pay"].state


def test_each_child_of_a_fan_out_asks_for_itself() -> None:
    """Not more at a time than a run row has room for; the others when those are decided."""
    plan = compiled(
        step("pay", "native", for_each=ref("input.n"), input={"x": ref("item")}, approval={})
    )
    store = store_of(plan, {"n": list(range(25))})
    decision = send(store, Begin())
    while decision.do is Do.HANDOFF:
        decision = send(store, Settle())
    assert Do.WAIT is decision.do
    assert MAX_WAITING <= len(store.run.waiting) < 25


@pytest.mark.parametrize("tool", ["read", "native"])
def test_what_needs_approval_may_be_a_read(tool: str) -> None:
    """A search that costs much, for instance."""
    store = approving(tool)
    decide(store)
    assert Do.STEP is send(store, Settle(), NOW + 2).do


def sleeping(**wait: Json) -> MemoryStore:
    """A run that sleeps in its second step."""
    return store_of(
        compiled(
            step("first"),
            {"id": "nap", "after": ["first"], **wait},
            step("last", after=["nap"]),
        ),
        {"at": NOW + 60},
    )


@pytest.mark.parametrize(
    "wait", [{"sleep": "60s"}, {"sleep": 60}, {"sleep_until": ref("input.at")}]
)
def test_a_step_that_sleeps_holds_nothing_until_its_time(wait: dict[str, Json]) -> None:
    """The driver parks for just as long, and then goes on with what comes after."""
    store = sleeping(**wait)
    send(store, Begin())
    decision = send(store, Complete("first", 1, payload(1)))
    assert (Do.WAIT, 60, {}) == (decision.do, decision.seconds, store.run.open)
    assert (RunStatus.WAITING_EXTERNAL, 0) == (store.run.status, store.steps["nap"].fence)
    assert Do.WAIT is send(store, Settle(), NOW + 59).do
    decision = send(store, Settle(), NOW + 60)
    while decision.do is Do.HANDOFF:
        decision = send(store, Settle(), NOW + 60)
    assert ("last", StepStatus.SUCCEEDED) == (decision.step_id, store.steps["nap"].status)


def test_a_time_that_is_none_fails_its_step() -> None:
    """And says which reference it was."""
    store = store_of(compiled({"id": "nap", "sleep_until": ref("input.at")}), {"at": "tomorrow"})
    send(store, Begin())
    error = store.steps["nap"].error
    assert error is not None
    assert ("invalid_input", True) == (error.code, "sleep_until" in error.message)


@pytest.mark.parametrize(
    ("when", "runs"),
    [
        (ref("input.yes"), True),
        (ref("input.no"), False),
        (ref("input.nothing"), False),
        ({"equals": [ref("input.n"), 3]}, True),
        ({"equals": [ref("input.n"), True]}, False),
        ({"equals": [{"a": [1]}, {"a": [1.0]}]}, True),
        ({"one_of": [ref("input.n"), [1, 2, 3]]}, True),
        ({"one_of": [ref("input.n"), ref("input.list")]}, False),
    ],
)
def test_a_condition_decides_whether_a_step_runs(when: Json, runs: bool) -> None:
    """A skipped step is no failure; what comes after it runs, what refers to it sees null."""
    run_input: Json = {"yes": True, "no": False, "nothing": None, "n": 3, "list": ["3"]}
    plan = compiled(
        step("maybe", "native", when=when),
        step("after", after=["maybe"]),
        step("refers", input={"x": ref("steps.maybe.y")}),
    )
    store = store_of(plan, run_input)
    decision = send(store, Begin())
    if runs:
        assert ["maybe"] == list(store.run.open)
        return
    assert StepStatus.SKIPPED is store.steps["maybe"].status
    assert "maybe" not in store.effects
    while decision.do is Do.HANDOFF:
        decision = send(store, Settle())
    assert {"after", "refers"} == set(store.run.open)
    assert store.steps["refers"].input == payload({"x": None})


def test_a_condition_that_is_neither_true_nor_false_fails_its_step() -> None:
    """A word is no decision."""
    store = store_of(compiled(step("maybe", when=ref("input.word"))), {"word": "yes"})
    send(store, Begin())
    assert RunStatus.FAILED is store.run.status


def test_a_fan_out_is_skipped_as_a_whole() -> None:
    """Its condition is asked once, before its list is looked at."""
    plan = compiled(
        step("each", when=ref("input.no"), for_each=ref("input.missing"), input={"x": ref("item")}),
        step("then", after=["each"]),
    )
    store = store_of(plan, {"no": False})
    decision = send(store, Begin())
    while decision.do is Do.HANDOFF:
        decision = send(store, Settle())
    assert ("then", None) == (decision.step_id, store.run.failing)


def test_a_wait_in_a_lane_leaves_the_lane_to_what_else_is_ready() -> None:
    """Of siblings that become ready together one may wait while the others are attempted."""
    plan = compiled(
        step("a"),
        step("pay", "native", after=["a"], approval={}),
        step("b", after=["a"]),
        {"id": "nap", "after": ["a"], "sleep": "1h"},
    )
    store = store_of(plan)
    send(store, Begin())
    decision = send(store, Complete("a", 1, payload(1)))
    assert ["b"] == list(store.run.open)
    assert {"pay", "nap"} == set(store.run.waiting)
    assert decision.do in {Do.STEP, Do.FANOUT}


def test_a_decision_is_taken_while_other_steps_work() -> None:
    """The run's status says what it does; the decision is in the log at once."""
    plan = compiled(step("pay", "native", approval={}), step("b"))
    store = store_of(plan)
    send(store, Begin())
    decide(store)
    assert RunStatus.RUNNING is store.run.status
    assert replace(store.approvals["pay"], state=ApprovalState.APPROVED) == store.approvals["pay"]
