"""Write tools: one effect whatever dies, and no outcome is guessed (G3, G4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from onward.domain.effects import Effect, EffectState
from onward.domain.errors import Conflict
from onward.domain.model import MAIN_LANE, Failure, RunStatus, StepStatus
from onward.domain.plan import compile_plan
from onward.domain.protocol import (
    AttemptClosed,
    Begin,
    Complete,
    Decision,
    Do,
    Extension,
    Fail,
    Recover,
    Settle,
)

from tests.builders import NOW, TOOLS, chain, compiled, payload, ref, send, step, store_of

if TYPE_CHECKING:
    from tests.memory_store import MemoryStore

FLAKY = Failure("transient", "refused before it was sent", retryable=True)
FATAL = Failure("invalid_input", "no")
UNKNOWN = Failure("outcome_unknown", "read timed out")
LOST = Recover("s0", 1, MAIN_LANE, "Runtime.ExitError", dead=True)


def begun(tool: str, *, sent: bool = True, optional: bool = False) -> MemoryStore:
    """A run of one write step `s0` whose first attempt is open, and perhaps has sent."""
    store = store_of(compiled(step("s0", tool, optional=optional)))
    send(store, Begin())
    if sent:
        assert store.mark_sent("s0", 1, NOW)
    return store


def lost(fence: int) -> Recover:
    """The driver lost this attempt."""
    return Recover("s0", fence, MAIN_LANE, "States.Timeout", dead=False)


def effect(store: MemoryStore) -> Effect:
    """The ledger's row."""
    return store.effects["s0"]


def assert_asks(store: MemoryStore, decision: Decision) -> None:
    """A person is asked, and the ledger says unknown."""
    assert (Do.WAIT, RunStatus.NEEDS_RECONCILIATION) == (decision.do, store.run.status)
    assert StepStatus.NEEDS_RECONCILIATION is store.steps["s0"].status
    assert EffectState.UNKNOWN is effect(store).state
    assert "step.needs_reconciliation" in [event.type for event in store.events]


def test_an_action_is_written_down_with_its_claim() -> None:
    """Under a key that no attempt changes."""
    store = begun("native", sent=False)
    assert (EffectState.INTENDED, "run_1/s0/native:{}", 1) == (
        effect(store).state,
        effect(store).key,
        effect(store).fence,
    )


def test_a_result_is_the_receipt() -> None:
    """The checkpoint and the ledger say the same."""
    store = begun("none")
    send(store, Complete("s0", 1, payload("done")))
    assert (EffectState.APPLIED, payload("done")) == (effect(store).state, effect(store).receipt)


def test_a_write_that_adds_steps_has_happened_before_they_run() -> None:
    """Its step ends with theirs; its effect is known now."""
    store = begun("native")
    part = compile_plan({"steps": [step("more")]}, TOOLS, part="s0.1")
    store.plan |= {planned.key: planned for planned in (*part.steps, part.roots)}
    extension = Extension("s0.1", ("more",), 1, 0)
    send(store, Complete("s0", 1, payload("done"), extension=extension))
    assert (StepStatus.EXECUTING, EffectState.APPLIED) == (
        store.steps["s0"].status,
        effect(store).state,
    )


@pytest.mark.parametrize("tool", ["native", "forgets", "fenced", "probe", "none"])
def test_a_lost_attempt_that_never_sent_is_taken_over(tool: str) -> None:
    """An unmarked effect was never sent, and from now on the old attempt may not."""
    store = begun(tool, sent=False)
    assert (Do.STEP, 2) == (send(store, LOST).do, store.steps["s0"].fence)
    assert not store.mark_sent("s0", 1, NOW)
    assert store.mark_sent("s0", 2, NOW)


@pytest.mark.parametrize("optional", [True, False])
def test_a_lost_attempt_that_may_have_sent_is_unknown(optional: bool) -> None:
    """Even an optional step is not skipped over it."""
    store = begun("none", optional=optional)
    assert_asks(store, send(store, LOST))
    with pytest.raises(AttemptClosed):
        send(store, Complete("s0", 1, payload("late")))
    assert not store.mark_sent("s0", 1, NOW)


@pytest.mark.parametrize("tool", ["native", "fenced"])
def test_a_receiver_that_honours_the_key_or_the_fence_is_sent_to_again(tool: str) -> None:
    """At once, and nobody is asked."""
    store = begun(tool)
    assert (Do.STEP, 2) == (send(store, LOST).do, store.steps["s0"].fence)
    send(store, Complete("s0", 2, payload("done")))
    assert (RunStatus.SUCCEEDED, EffectState.APPLIED) == (store.run.status, effect(store).state)


def test_a_receiver_that_keeps_failing_unknown_is_not_called_failed() -> None:
    """After the last attempt a person is asked: the write may have happened (G4)."""
    store = begun("native", optional=True)
    for fence in (1, 2, 3, 4):
        store.mark_sent("s0", fence, NOW)
        decision = send(store, Fail("s0", fence, UNKNOWN))
    assert_asks(store, decision)


@pytest.mark.parametrize("failure", [FLAKY, FATAL])
def test_a_sure_failure_says_nothing_of_an_earlier_unknown_send(failure: Failure) -> None:
    """The first attempt was lost after it sent; the later ones surely failed."""
    store = begun("native")
    decision = send(store, LOST)
    while decision.do is Do.STEP:
        store.mark_sent("s0", decision.fence, NOW)
        decision = send(store, Fail("s0", decision.fence, failure))
    assert_asks(store, decision)
    assert NOW == effect(store).unknown_since


def test_an_unknown_outcome_that_nothing_can_tell_asks_at_once() -> None:
    """Whatever attempts are left."""
    store = begun("none")
    assert_asks(store, send(store, Fail("s0", 1, UNKNOWN)))


@pytest.mark.parametrize("tool", ["native", "fenced", "probe", "none"])
def test_a_sure_failure_is_tried_again(tool: str) -> None:
    """The next attempt's loss before it sends is no doubt either."""
    store = begun(tool)
    decision = send(store, Fail("s0", 1, FLAKY))
    assert (Do.STEP, 2) == (decision.do, decision.fence)
    assert EffectState.INTENDED is effect(store).state
    assert store.run.status is RunStatus.RUNNING


def test_a_given_up_write_was_not_applied() -> None:
    """And nobody may send it any more."""
    store = begun("none")
    send(store, Fail("s0", 1, FATAL))
    assert (StepStatus.FAILED, EffectState.NOT_APPLIED) == (
        store.steps["s0"].status,
        effect(store).state,
    )


def test_a_given_up_attempt_that_perhaps_still_runs_may_not_send() -> None:
    """It was lost before it sent, and no attempt was left."""
    store = begun("none", sent=False)
    send(store, lost(1))
    send(store, lost(2))
    assert StepStatus.FAILED is store.steps["s0"].status
    assert not store.mark_sent("s0", 2, NOW)


def test_a_takeover_that_believes_a_write_unsent_loses_to_its_mark() -> None:
    """The mark is written beside the run; the commit sees that it moved."""
    store = begun("none", sent=False)
    outcome = store.decided(LOST, 1, NOW)
    store.mark_sent("s0", 1, NOW)
    with pytest.raises(Conflict):
        store.commit(outcome)
    assert_asks(store, send(store, LOST))


def test_a_kept_receipt_is_the_outcome() -> None:
    """The worker could not commit for contention, but it kept what it was answered."""
    store = begun("none")
    store.keep_receipt("s0", 1, payload("receipt"))
    send(store, LOST)
    assert RunStatus.SUCCEEDED is store.run.status
    assert payload("receipt") == store.steps["s0"].output


def test_what_a_kept_receipt_frees_is_claimed_from_its_committed_row() -> None:
    """In the same commit its dependent would have been given null instead of it."""
    store = store_of(
        compiled(step("s0", "none"), step("next", input={"x": ref("steps.s0")})),
    )
    send(store, Begin())
    store.mark_sent("s0", 1, NOW)
    store.keep_receipt("s0", 1, payload("receipt"))
    assert Do.HANDOFF is send(store, LOST).do
    assert "next" == send(store, Settle()).step_id
    assert payload({"x": "receipt"}) == store.steps["next"].input


@pytest.mark.parametrize(("at", "resent"), [(109.0, True), (111.0, False)])
def test_a_key_is_used_only_while_the_receiver_remembers_it(at: float, resent: bool) -> None:
    """1,100 s from the first send, and a resend may arrive 990 s after it was opened.

    It runs 60 s, is lost with a process that lives on for 900, and its request settles for 30.
    """
    store = begun("forgets")
    decision = send(store, LOST, NOW + at)
    if resent:
        assert (Do.STEP, 2) == (decision.do, decision.fence)
    else:
        assert_asks(store, decision)


def test_a_resend_does_not_renew_the_receivers_memory() -> None:
    """The second send after 50 s does not make a third after 120 s safe."""
    store = begun("forgets")
    send(store, LOST, NOW + 50)
    store.mark_sent("s0", 2, NOW + 50)
    assert_asks(store, send(store, lost(2), NOW + 120))


def test_a_back_off_that_outlives_the_key_asks() -> None:
    """The driver was down while the receiver forgot."""
    store = begun("forgets")
    send(store, LOST)
    limited = Failure("rate_limited", "slow", retryable=True, retry_after=30.0)
    assert Do.WAIT is send(store, Fail("s0", 2, limited)).do
    assert_asks(store, send(store, Settle(), NOW + 1_500))


def test_an_unknown_write_stays_unknown_when_the_run_fails() -> None:
    """Neither its step nor its effect is called cancelled."""
    store = store_of(compiled(step("s0", "none"), step("b")))
    send(store, Begin())
    store.mark_sent("s0", 1, NOW)
    send(store, Fail("s0", 1, UNKNOWN))
    send(store, Fail("b", 1, FATAL))
    assert (RunStatus.FAILED, StepStatus.NEEDS_RECONCILIATION, EffectState.UNKNOWN) == (
        store.run.status,
        store.steps["s0"].status,
        effect(store).state,
    )


@pytest.mark.parametrize("tool", ["none", "probe"])
def test_a_kept_receipt_is_a_checkpoint_although_the_run_fails(tool: str) -> None:
    """It came while a person was asked, or a probe was waited for."""
    store = store_of(compiled(step("s0", tool), step("b")))
    send(store, Begin())
    store.mark_sent("s0", 1, NOW)
    send(store, Fail("s0", 1, UNKNOWN))
    store.keep_receipt("s0", 1, payload("receipt"))
    send(store, Fail("b", 1, FATAL))
    assert (RunStatus.FAILED, StepStatus.SUCCEEDED, EffectState.APPLIED) == (
        store.run.status,
        store.steps["s0"].status,
        effect(store).state,
    )


def test_other_branches_go_on_while_a_person_is_asked() -> None:
    """The run waits only when there is nothing else to do."""
    store = store_of(compiled(step("s0", "none"), step("b"), step("c", after=["b"])))
    send(store, Begin())
    store.mark_sent("s0", 1, NOW)
    send(store, Fail("s0", 1, UNKNOWN))
    assert "c" == send(store, Complete("b", 1, payload(1))).step_id
    send(store, Complete("c", 1, payload(1)))
    assert Do.WAIT is send(store, Settle()).do


def test_every_read_row_that_changes_is_named_with_what_it_was() -> None:
    """The store's conditions are made of that."""
    store = store_of(chain(2, "native"))
    send(store, Begin())
    outcome = store.decided(Complete("s0", 1, payload(1)), 1, NOW)
    assert [("s0", True), ("s1", False)] == [(n.step_id, o is not None) for o, n in outcome.steps]
    assert [("s0", True), ("s1", False)] == [
        (n.step_id, o is not None) for o, n in outcome.of(Effect)
    ]
