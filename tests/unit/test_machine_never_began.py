"""Attempts that the driver lost before anything of them ran."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from onward.domain.effects import EffectState
from onward.domain.errors import NotWaiting
from onward.domain.limits import THROTTLED_REST
from onward.domain.model import MAIN_LANE, Failure, RunStatus, StepStatus
from onward.domain.protocol import (
    Begin,
    Complete,
    Do,
    Fail,
    Recover,
    Resolve,
    Settle,
    Verdict,
)

from tests.builders import NOW, chain, compiled, payload, send, step, store_of

if TYPE_CHECKING:
    from tests.memory_store import MemoryStore


def begun(tool: str) -> MemoryStore:
    """A run of one step `s0` whose first attempt is open."""
    store = store_of(chain(1, tool))
    send(store, Begin())
    return store


def never_began(fence: int = 1, *, gone: bool = False, jitter: float = 0.5) -> Recover:
    """Lambda refused to run this attempt."""
    cause = "Lambda.ResourceNotFoundException" if gone else "Lambda.TooManyRequestsException"
    lost = Recover("s0", fence, MAIN_LANE, cause, dead=False, called=False)
    return replace(lost, gone=gone, jitter=jitter)


@pytest.mark.parametrize("tool", ["once", "read", "native", "none"])
def test_an_attempt_that_had_no_room_costs_its_step_nothing(tool: str) -> None:
    """It rests before the next one, and no budget is less."""
    store = begun(tool)
    decision = send(store, never_began())
    row = store.steps["s0"]
    assert (Do.WAIT, THROTTLED_REST * 1.5) == (decision.do, decision.seconds)
    assert (StepStatus.BACKING_OFF, 0) == (row.status, row.tries)
    assert 100 == store.run.retries_left
    decision = send(store, Settle(), NOW + decision.seconds)
    send(store, Complete("s0", decision.fence, payload(1)), NOW + 60)
    assert RunStatus.SUCCEEDED is store.run.status


def test_lanes_that_had_no_room_do_not_come_back_together() -> None:
    """Each rests for a time of its own."""
    rests = [send(begun("read"), never_began(jitter=jitter)).seconds for jitter in (0.0, 0.999)]
    assert [THROTTLED_REST, 2 * THROTTLED_REST] == rests


def test_a_run_that_finds_no_room_is_bounded_by_its_deadline_alone() -> None:
    """Two hours long it is refused, and goes on as if nothing had been; three are too long."""
    store = store_of(chain(1), retries=0, deadline_seconds=10_800.0)
    decision, now = send(store, Begin()), NOW
    while now < NOW + 7_200:
        now += send(store, never_began(decision.fence), now).seconds
        decision = send(store, Settle(), now)
    assert (Do.STEP, 0, 0) == (decision.do, store.steps["s0"].tries, store.run.retries_left)

    while decision.do is not Do.STOP:
        now += send(store, never_began(decision.fence), now).seconds
        decision = send(store, Settle(), now)
    assert NOW + 10_800 - 2 * THROTTLED_REST <= now <= NOW + 10_800
    assert RunStatus.FAILED is store.run.status


def test_an_attempt_that_was_to_ask_still_waits_to_be_believed() -> None:
    """The probe had no room; nobody sends meanwhile."""
    store = begun("probe")
    store.mark_sent("s0", 1, NOW)
    send(store, Recover("s0", 1, MAIN_LANE, "lost", dead=True))
    decision = send(store, Settle(), NOW + 30)
    assert Do.WAIT is send(store, never_began(decision.fence), NOW + 30).do
    assert StepStatus.UNKNOWN is store.steps["s0"].status
    assert (1, 99) == (store.steps["s0"].tries, store.run.retries_left)


@pytest.mark.parametrize("gone", [True, False])
def test_what_was_sent_was_begun_whatever_the_driver_says(gone: bool) -> None:
    """The mark knows better."""
    store = begun("none")
    store.mark_sent("s0", 1, NOW)
    send(store, never_began(gone=gone))
    row = store.steps["s0"]
    assert row.error is not None
    assert (StepStatus.NEEDS_RECONCILIATION, "attempt_lost") == (row.status, row.error.code)
    assert EffectState.UNKNOWN is store.effects["s0"].state


@pytest.mark.parametrize("tool", ["native", "probe"])
def test_a_write_in_doubt_whose_version_is_gone_is_still_in_doubt(tool: str) -> None:
    """`not_applied` says then that it did not happen, so nobody is told to say it (G3)."""
    store = begun(tool)
    store.mark_sent("s0", 1, NOW)
    send(store, Recover("s0", 1, MAIN_LANE, "lost", dead=True))
    decision = send(store, Settle(), NOW + 30)
    send(store, never_began(decision.fence, gone=True), NOW + 30)
    row = store.steps["s0"]
    assert row.error is not None
    assert (StepStatus.NEEDS_RECONCILIATION, "outcome_unknown") == (row.status, row.error.code)
    store.carry_out(Resolve("s0", Verdict.APPLIED, "op", payload(1)), None, NOW + 31)
    assert EffectState.APPLIED is store.effects["s0"].state


@pytest.mark.parametrize("tool", ["read", "native", "none"])
@pytest.mark.parametrize("verdict", [Verdict.APPLIED, Verdict.ABANDON])
def test_a_version_that_is_gone_is_for_a_person(tool: str, verdict: Verdict) -> None:
    """With the reason; the step's attempts are not used up over it (G10)."""
    store = begun(tool)
    assert Do.WAIT is send(store, never_began(gone=True)).do
    row = store.steps["s0"]
    assert row.error is not None
    assert (StepStatus.NEEDS_RECONCILIATION, "version_missing") == (row.status, row.error.code)
    assert (RunStatus.NEEDS_RECONCILIATION, 0) == (store.run.status, row.tries)
    store.carry_out(Resolve("s0", verdict, "op", payload("by hand")), None, NOW)
    told = {"step_id": "s0", "outcome": verdict.value, "by": "op", "code": "version_missing"}
    assert told in [event.data for event in store.events if event.type == "step.reconciled"]
    send(store, Settle())
    applied = verdict is Verdict.APPLIED
    assert (RunStatus.SUCCEEDED if applied else RunStatus.FAILED) is store.run.status


def test_nobody_can_answer_for_the_steps_that_a_planner_adds() -> None:
    """A result by hand would end it without them; once its version is back it plans them."""
    store = begun("expand")
    send(store, never_began(gone=True))
    error = store.steps["s0"].error
    assert error is not None
    assert "`not_applied` once it is back" in error.message
    before = store.run
    by_hand = Resolve("s0", Verdict.APPLIED, "op", payload({"steps": []}))
    with pytest.raises(NotWaiting, match="adds steps: answer not_applied once its version is back"):
        store.carry_out(by_hand, None, NOW)
    assert before is store.run

    store.carry_out(Resolve("s0", Verdict.NOT_APPLIED, "op"), None, NOW)
    decision = send(store, Settle())
    assert (Do.STEP, "s0") == (decision.do, decision.step_id)


def test_a_planner_that_nobody_can_run_is_abandoned() -> None:
    """And its run fails."""
    store = begun("expand")
    send(store, never_began(gone=True))
    store.carry_out(Resolve("s0", Verdict.ABANDON, "op"), None, NOW)
    send(store, Settle())
    assert RunStatus.FAILED is store.run.status


def test_nobody_is_asked_for_a_run_that_fails_anyway() -> None:
    """Its step is given up with it."""
    store = store_of(compiled(step("s0"), step("b")))
    lanes = {lane.step_id: lane.lane for lane in send(store, Begin()).lanes}
    send(store, Fail("b", 1, Failure("fatal", "no")))
    lost = Recover("s0", 1, lanes["s0"], "gone", dead=False, called=False, gone=True)
    send(store, lost)
    assert (RunStatus.FAILED, StepStatus.FAILED) == (store.run.status, store.steps["s0"].status)
