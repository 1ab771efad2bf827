"""A run is cancelled: nothing more is sent, and what was is known."""

from __future__ import annotations

import pytest
from onward.domain.effects import EffectState
from onward.domain.errors import AlreadyTerminal, NotResumable
from onward.domain.model import Failure, RunStatus, StepStatus
from onward.domain.protocol import (
    AttemptClosed,
    Begin,
    Cancel,
    Complete,
    Do,
    Fail,
    Recover,
    Restart,
    Resume,
    Settle,
)
from onward.domain.waits import ApprovalState

from tests.builders import NOW, chain, compiled, payload, send, step, store_of
from tests.memory_store import MemoryStore

UNKNOWN = Failure("outcome_unknown", "read timed out")


def cancel(store: MemoryStore, at: float = NOW + 1) -> None:
    store.carry_out(Cancel("ann", "wrong order"), None, at)


def told(store: MemoryStore) -> list[str]:
    return [event.type for event in store.events]


def test_a_run_that_has_sent_nothing_ends_at_once() -> None:
    """Its worker, which has claimed a write, may not send it, and commits nothing."""
    store = store_of(chain(2, "native"))
    send(store, Begin())
    cancel(store)
    assert (RunStatus.CANCELLED, {}) == (store.run.status, store.run.open)
    assert ["run.cancel_requested", "run.cancelled"] == told(store)[-2:]
    assert not store.mark_sent("s0", 1, NOW + 2)
    assert Do.STOP is send(store, Complete("s0", 1, payload("late")), NOW + 2).do
    assert (StepStatus.CANCELLED, EffectState.NOT_APPLIED) == (
        store.steps["s0"].status,
        store.effects["s0"].state,
    )


def test_a_write_that_was_sent_is_waited_for() -> None:
    """Its late result is a checkpoint; then the run is cancelled, and nothing after it began."""
    store = store_of(chain(2, "native"))
    send(store, Begin())
    assert store.mark_sent("s0", 1, NOW)
    cancel(store)
    assert (RunStatus.CANCEL_REQUESTED, ["s0"]) == (store.run.status, list(store.run.open))
    assert Do.STOP is send(store, Complete("s0", 1, payload("done")), NOW + 2).do
    assert (RunStatus.CANCELLED, EffectState.APPLIED) == (
        store.run.status,
        store.effects["s0"].state,
    )
    assert "s1" not in store.steps


@pytest.mark.parametrize("tool", ["native", "probe", "none", "fenced"])
def test_a_write_in_doubt_is_not_sent_again(tool: str) -> None:
    """Whatever its receiver honours: a person is asked, after the run's end too."""
    store = store_of(chain(2, tool))
    send(store, Begin())
    assert store.mark_sent("s0", 1, NOW)
    cancel(store)
    send(store, Recover("s0", 1, 0, "lost", dead=False), NOW + 70)
    assert RunStatus.CANCELLED is store.run.status
    assert ["s0"] == list(store.run.waiting)
    assert StepStatus.NEEDS_RECONCILIATION is store.steps["s0"].status
    assert not store.mark_sent("s0", 1, NOW + 71)
    assert Do.STOP is send(store, Settle(), NOW + 72).do


def test_beside_a_write_that_was_sent_everything_else_is_given_up() -> None:
    """Reads and claimed writes of other lanes, and questions to people."""
    plan = compiled(
        step("sent", "native"),
        step("claimed", "native"),
        step("reads"),
        step("asks", "native", approval={}),
    )
    store = store_of(plan)
    send(store, Begin())
    assert store.mark_sent("sent", 1, NOW)
    cancel(store)
    assert ["sent"] == list(store.run.open)
    with pytest.raises(AttemptClosed):
        send(store, Complete("reads", 1, payload(1)), NOW + 2)
    send(store, Complete("sent", 1, payload(1)), NOW + 2)
    assert RunStatus.CANCELLED is store.run.status
    assert ApprovalState.WITHDRAWN is store.approvals["asks"].state
    assert not store.mark_sent("claimed", 1, NOW + 3)


@pytest.mark.parametrize("began", [False, True])
def test_a_run_that_waits_or_never_began_ends_at_once(began: bool) -> None:
    """A driver that sleeps keeps its token until it is told."""
    store = store_of(compiled(step("asks", "native", approval={})))
    if began:
        send(store, Begin())
        store.keep_token(store.run.seq, 1, "token")
    cancel(store)
    assert RunStatus.CANCELLED is store.run.status
    assert ("token" if began else None) == store.run.park_token
    assert Do.STOP is send(store, Settle() if began else Begin(), NOW + 2).do


def test_a_cancel_is_safe_to_repeat_and_comes_too_late_after_another_end() -> None:
    """The first end stands."""
    store = store_of(chain(1))
    send(store, Begin())
    cancel(store)
    seq = store.run.seq
    cancel(store)
    assert seq == store.run.seq
    ended = store_of(chain(1))
    send(ended, Begin())
    send(ended, Complete("s0", 1, payload(1)))
    with pytest.raises(AlreadyTerminal):
        cancel(ended)


def test_a_cancelled_run_is_not_resumed() -> None:
    """Somebody wanted it to be over."""
    store = store_of(chain(1, "native"))
    send(store, Begin())
    cancel(store)
    with pytest.raises(NotResumable):
        store.carry_out(Resume("op", ("s0",)), None, NOW + 2)


def test_a_cancelled_run_whose_executions_die_stays_cancelled() -> None:
    """It stalls like any other; whoever resumes it lets it end, and nothing is sent again."""
    store = store_of(chain(2, "native"))
    send(store, Begin())
    assert store.mark_sent("s0", 1, NOW)
    cancel(store)
    for _ in range(4):
        store.carry_out(Restart("execution_dead"), store.run.generation, NOW + 2)
    assert store.run.stalled
    store.carry_out(Resume("op", ()), None, NOW + 3)
    assert Do.STOP is send(store, Begin(), NOW + 1_000).do
    assert RunStatus.CANCELLED is store.run.status
    assert ["s0"] == list(store.run.waiting)


def test_a_stalled_run_that_is_cancelled_is_driven_to_its_end() -> None:
    """By the next generation, where a write may be on its way."""
    store = store_of(chain(2, "native"))
    send(store, Begin())
    assert store.mark_sent("s0", 1, NOW)
    for _ in range(4):
        store.carry_out(Restart("execution_dead"), store.run.generation, NOW + 2)
    generation = store.run.generation
    cancel(store, NOW + 3)
    assert (generation + 1, False) == (store.run.generation, store.run.stalled)
    assert generation + 1 == store.events[-1].start
    assert Do.STOP is send(store, Begin(), NOW + 1_000).do
    assert RunStatus.CANCELLED is store.run.status


def test_an_error_of_a_write_that_was_sent_is_no_reason_to_try_again() -> None:
    """The receiver refused it, so nothing happened; the run is over."""
    store = store_of(chain(1, "native"))
    send(store, Begin())
    assert store.mark_sent("s0", 1, NOW)
    cancel(store)
    send(store, Fail("s0", 1, Failure("transient", "busy", retryable=True)), NOW + 2)
    assert (RunStatus.CANCELLED, EffectState.NOT_APPLIED) == (
        store.run.status,
        store.effects["s0"].state,
    )
