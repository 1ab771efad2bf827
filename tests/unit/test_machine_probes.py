"""Writes that a probe can tell of: asked once nothing can arrive any more (G3, G4)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from onward.domain.effects import Effect, EffectState
from onward.domain.limits import FUNCTION_SECONDS, THROTTLED_REST
from onward.domain.model import MAIN_LANE, Failure, RunStatus, StepStatus
from onward.domain.protocol import (
    TIMED_OUT,
    AttemptClosed,
    Begin,
    Complete,
    Do,
    Fail,
    Recover,
    Settle,
)

from tests.builders import NOW, chain, compiled, payload, send, step, store_of

if TYPE_CHECKING:
    from onward.domain.protocol import Command

    from tests.memory_store import MemoryStore

UNKNOWN = Failure("outcome_unknown", "read timed out")
FLAKY = Failure("transient", "the probe found nobody", retryable=True)
FATAL = Failure("invalid_input", "no")
SETTLES = 30.0


def begun(tool: str = "probe", **submit: float) -> MemoryStore:
    """A run of one write step `s0` whose first attempt has sent."""
    store = store_of(chain(1, tool), **submit)
    send(store, Begin())
    assert store.mark_sent("s0", 1, NOW)
    return store


def lost(fence: int, *, dead: bool = True) -> Recover:
    """The driver lost this attempt."""
    return Recover("s0", fence, MAIN_LANE, "States.Timeout", dead=dead)


def probing() -> MemoryStore:
    """A run whose first attempt's outcome is unknown; the attempt that asks is open."""
    store = begun()
    send(store, lost(1))
    send(store, Settle(), NOW + SETTLES)
    return store


def effect(store: MemoryStore) -> Effect:
    """The ledger's row."""
    return store.effects["s0"]


def test_a_probe_that_comes_too_late_rests_at_no_cost() -> None:
    """However often: it asked nobody, and nobody sends meanwhile."""
    late = Failure("began_late", "after its deadline", retryable=True)
    store = store_of(chain(1, "probe"), retries=3)
    send(store, Begin())
    store.mark_sent("s0", 1, NOW)
    send(store, lost(1))
    decision = send(store, Settle(), NOW + 100)
    spent = (store.steps["s0"].tries, store.run.retries_left)
    now = NOW + 100
    for _ in range(20):
        wait = send(store, Fail("s0", decision.fence, late, called=False), now)
        assert (Do.WAIT, StepStatus.UNKNOWN) == (wait.do, store.steps["s0"].status)
        assert wait.seconds >= THROTTLED_REST
        now += wait.seconds
        decision = send(store, Settle(), now)
    assert spent == (store.steps["s0"].tries, store.run.retries_left)


@pytest.mark.parametrize(
    ("command", "quiet"),
    [
        (lost(1), SETTLES),
        (Fail("s0", 1, UNKNOWN), SETTLES),
        (lost(1, dead=False), FUNCTION_SECONDS + SETTLES),
    ],
)
def test_a_probe_waits_until_nothing_can_arrive(command: Command, quiet: float) -> None:
    """A dead process is not a dead request, and one perhaps alive may still send."""
    store = begun()
    decision = send(store, command)
    assert (Do.WAIT, int(quiet)) == (decision.do, decision.seconds)
    assert (RunStatus.BACKING_OFF, StepStatus.UNKNOWN, EffectState.UNKNOWN) == (
        store.run.status,
        store.steps["s0"].status,
        effect(store).state,
    )
    assert Do.WAIT is send(store, Settle(), NOW + quiet - 0.1).do
    asks = send(store, Settle(), NOW + quiet)
    assert (Do.STEP, StepStatus.EXECUTING) == (asks.do, store.steps["s0"].status)


def test_nobody_sends_or_commits_while_an_outcome_is_unknown() -> None:
    """The attempt that was lost is fenced off before the next one exists."""
    store = begun()
    send(store, lost(1, dead=False))
    assert not store.mark_sent("s0", 1, NOW)
    with pytest.raises(AttemptClosed):
        send(store, Complete("s0", 1, payload("late")))


def test_a_write_that_its_probe_finds_is_not_sent_again() -> None:
    """Its receipt is the output, and the log says how that is known."""
    store = probing()
    send(store, Complete("s0", 3, payload("found"), reconciled=True), NOW + SETTLES)
    assert (RunStatus.SUCCEEDED, EffectState.APPLIED, 1) == (
        store.run.status,
        effect(store).state,
        effect(store).sent_fence,
    )
    (told,) = [event.data for event in store.events if event.type == "step.reconciled"]
    assert {"step_id": "s0", "outcome": "applied", "by": "probe"} == told


def test_a_write_that_was_not_applied_is_sent_under_a_new_key() -> None:
    """Its loss is a doubt of its own, with a time to settle of its own."""
    store = probing()
    key, later = effect(store).key, NOW + SETTLES + 5
    assert store.mark_resent("s0", 3, later)
    assert (f"{key}~1", None, None) == (
        effect(store).key,
        effect(store).unknown_since,
        effect(store).quiet_at,
    )
    send(store, lost(3), later + 1)
    assert (later, later + 1 + SETTLES) == (effect(store).unknown_since, effect(store).quiet_at)
    send(store, Settle(), later + 1 + SETTLES)
    assert store.mark_resent("s0", 5, later + 1 + SETTLES)
    assert f"{key}~2" == effect(store).key


def test_a_sure_failure_after_the_proof_is_no_doubt() -> None:
    """The next attempt sends without asking."""
    store = probing()
    store.mark_resent("s0", 3, NOW + SETTLES)
    send(store, Fail("s0", 3, FLAKY), NOW + SETTLES)
    assert (EffectState.INTENDED, None) == (effect(store).state, effect(store).unknown_since)


def test_an_unsure_probe_is_asked_again_until_the_attempts_are_spent() -> None:
    """Then a person is asked: it is called neither failed nor done."""
    store, at = probing(), NOW + SETTLES
    for _ in range(2):
        decision = send(store, Fail("s0", store.steps["s0"].fence, UNKNOWN, 0.5), at)
        assert (Do.WAIT, StepStatus.UNKNOWN) == (decision.do, store.steps["s0"].status)
        at += decision.seconds
        send(store, Settle(), at)
    send(store, Fail("s0", store.steps["s0"].fence, UNKNOWN, 0.5), at)
    assert (RunStatus.NEEDS_RECONCILIATION, EffectState.UNKNOWN) == (
        store.run.status,
        effect(store).state,
    )


def test_a_probe_that_cannot_ask_backs_off() -> None:
    """Its own failure says nothing of the write."""
    store = probing()
    decision = send(store, Fail("s0", 3, FLAKY, 0.9), NOW + SETTLES)
    assert (Do.WAIT, StepStatus.UNKNOWN) == (decision.do, store.steps["s0"].status)
    assert NOW == effect(store).unknown_since


def test_a_probe_that_fails_for_good_asks_a_person() -> None:
    """What it was to find out is still unknown."""
    store = probing()
    send(store, Fail("s0", 3, FATAL), NOW + SETTLES)
    assert RunStatus.NEEDS_RECONCILIATION is store.run.status


@pytest.mark.parametrize("dead", [True, False])
def test_a_probe_that_is_lost_before_it_sends_is_repeated_at_once(dead: bool) -> None:
    """It only asked; the one that was given up may not send any more."""
    store = probing()
    decision = send(store, lost(3, dead=dead), NOW + SETTLES)
    assert (Do.STEP, 4) == (decision.do, decision.fence)
    assert not store.mark_resent("s0", 3, NOW + SETTLES)


def test_a_run_that_ends_before_its_probe_could_ask_is_for_a_person() -> None:
    """Waiting for a time after the deadline would be waiting for nothing."""
    store = begun(deadline_seconds=600)
    send(store, lost(1, dead=False))
    assert StepStatus.NEEDS_RECONCILIATION is store.steps["s0"].status


def test_a_receipt_that_comes_meanwhile_ends_the_doubt() -> None:
    """The worker that was believed lost put it down; nothing is asked or sent."""
    store = begun()
    send(store, lost(1, dead=False))
    store.keep_receipt("s0", 1, payload("late"))
    send(store, Settle(), NOW + 1)
    assert (RunStatus.SUCCEEDED, payload("late"), 1) == (
        store.run.status,
        store.steps["s0"].output,
        store.run.attempts,
    )


def test_a_later_doubt_does_not_make_an_earlier_one_settle_sooner() -> None:
    """The first sender perhaps lives for 900 seconds, whatever the second one reports."""
    store = begun("native")
    send(store, lost(1, dead=False))
    store.mark_sent("s0", 2, NOW)
    send(store, Fail("s0", 2, UNKNOWN), NOW + 1)
    assert NOW + FUNCTION_SECONDS + SETTLES == effect(store).quiet_at


def test_a_claim_whose_sender_nobody_knows_is_perhaps_still_running() -> None:
    """The worker that died had committed; another one sent the write it had claimed."""
    store = store_of(compiled(step("a"), step("s0", "probe", after=["a"])))
    send(store, Begin())
    send(store, Complete("a", 1, payload(1)))
    store.mark_sent("s0", 1, NOW)
    send(store, Recover("a", 1, MAIN_LANE, "Runtime.ExitError", dead=True))
    assert NOW + FUNCTION_SECONDS + SETTLES == effect(store).quiet_at


def test_a_lane_leaves_a_doubt_to_the_main_lane_and_goes_on() -> None:
    """Other steps of the run are not held up by the wait."""
    store = store_of(compiled(step("s0", "probe"), step("b"), step("c", after=["b"])))
    send(store, Begin())
    store.mark_sent("s0", 1, NOW)
    parked = send(store, Recover("s0", 1, 1, "lost", dead=True))
    assert (Do.WAIT, 1, 30) == (parked.do, parked.lane, parked.seconds)
    assert "c" == send(store, Complete("b", 1, payload(1))).step_id
    send(store, Complete("c", 1, payload(1)))
    assert (Do.WAIT, 30) == (send(store, Settle()).do, send(store, Settle()).seconds)


# --- who is dead for sure, and whose clock counts ---------------------------------------------

LIVES = 150


def sent_by(request: str, *, lives: int | None = None) -> MemoryStore:
    """A run whose write was sent by an invocation, of a function that lives so long."""
    store = store_of(chain(1, "probe"))
    if lives is not None:
        planned = store.plan["0#s0"]
        policy = replace(planned.policy, function_seconds=lives)
        store.plan["0#s0"] = replace(planned, policy=policy)
    send(store, Begin())
    assert store.mark_sent("s0", 1, NOW, request)
    return store


@pytest.mark.parametrize(
    ("request_id", "quiet"), [("mine", SETTLES), ("another", 930.0), (None, 930.0)]
)
def test_the_death_of_one_invocation_says_nothing_of_another(
    request_id: str | None, quiet: float
) -> None:
    """An attempt may be invoked twice; nobody else's end is the end of its sender."""
    store = sent_by("mine")
    send(store, replace(lost(1), request=request_id))
    assert NOW + quiet == effect(store).quiet_at


def test_one_that_perhaps_lives_is_waited_for_as_long_as_its_function_lives() -> None:
    """As the run's rows say."""
    store = sent_by("mine", lives=LIVES)
    send(store, lost(1, dead=False))
    assert NOW + LIVES + SETTLES == effect(store).quiet_at


def test_a_process_that_ended_itself_says_why_and_is_dead() -> None:
    """Its request may still arrive, but no other one of it."""
    store = sent_by("mine")
    send(store, replace(lost(1), cause=TIMED_OUT, request="mine"))
    error = store.steps["s0"].error
    assert NOW + SETTLES == effect(store).quiet_at
    assert ("timeout", "timed out after 60 s") == (error and error.code, error and error.message)


def test_a_clock_that_is_behind_the_senders_shortens_no_wait() -> None:
    """Nothing was sent before it was marked."""
    store = sent_by("mine")
    send(store, lost(1, dead=False), NOW - 300)
    assert NOW + FUNCTION_SECONDS + SETTLES == effect(store).quiet_at


TOO_EARLY = Failure("outcome_unknown", "asked too early")
AHEAD = 300.0


def asked_too_early(store: MemoryStore, at: float) -> float:
    """An attempt that was opened by a clock ahead puts its question off; seconds till the next."""
    fence = store.steps["s0"].fence
    decision = send(store, Fail("s0", fence, TOO_EARLY, called=False), at)
    assert Do.WAIT is decision.do
    return decision.seconds


def test_a_probe_that_comes_too_early_by_its_own_clock_costs_nothing() -> None:
    """Neither its step nor its run; it is opened again when it can know, by either clock."""
    store = begun(retries=5)
    send(store, lost(1))
    left, tries = store.run.retries_left, store.steps["s0"].tries
    send(store, Settle(), NOW + AHEAD + 1)
    quiet = effect(store).quiet_at

    assert 29 == pytest.approx(asked_too_early(store, NOW + 1) - AHEAD, abs=1)

    assert (left, tries) == (store.run.retries_left, store.steps["s0"].tries)
    assert (StepStatus.UNKNOWN, quiet) == (store.steps["s0"].status, effect(store).quiet_at)
    assert Do.WAIT is send(store, Settle(), NOW + AHEAD + 29).do
    assert Do.STEP is send(store, Settle(), NOW + AHEAD + 31).do


def test_a_probe_that_is_put_off_past_the_deadline_is_for_a_person() -> None:
    """Waiting for a time after it would be waiting for nothing."""
    store = begun(deadline_seconds=325)
    send(store, lost(1))
    send(store, Settle(), NOW + AHEAD)
    send(store, Fail("s0", 3, TOO_EARLY, called=False), NOW - 60)
    assert StepStatus.NEEDS_RECONCILIATION is store.steps["s0"].status
