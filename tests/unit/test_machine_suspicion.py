"""A write that was sent again on its probe's word is looked at once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from onward.domain.effects import EffectState
from onward.domain.limits import DUE_AFTER
from onward.domain.model import MAIN_LANE, Failure, RunStatus
from onward.domain.protocol import (
    Begin,
    Complete,
    Fail,
    Recover,
    Resolve,
    Settle,
    Suspect,
    Verdict,
)

from tests.builders import NOW, compiled, payload, send, step, store_of

if TYPE_CHECKING:
    from tests.memory_store import MemoryStore

SETTLES = 30.0
UNKNOWN = Failure("outcome_unknown", "read timed out")


def resent(*, more: bool = False, reconciled: bool = False) -> MemoryStore:
    """A run whose write was sent again, and this time applied."""
    others = [step("b", after=["s0"])] if more else []
    store = store_of(compiled(step("s0", "probe"), *others))
    send(store, Begin())
    store.mark_sent("s0", 1, NOW)
    send(store, Recover("s0", 1, MAIN_LANE, "lost", dead=True))
    fence = send(store, Settle(), NOW + SETTLES).fence
    if not reconciled:
        assert store.mark_resent("s0", fence, NOW + SETTLES)
    command = Complete("s0", fence, payload(1), reconciled=reconciled)
    send(store, command, NOW + SETTLES + 1)
    return store


@pytest.mark.parametrize("more", [True, False])
def test_a_resend_is_looked_at_when_it_has_settled(more: bool) -> None:
    """Whether or not its run goes on; nothing waits for it."""
    store = resent(more=more)
    at = NOW + SETTLES + 1 + SETTLES
    assert {"s0": at} == store.run.looks
    assert (RunStatus.RUNNING if more else RunStatus.SUCCEEDED) is store.run.status
    assert store.run.due_at is not None
    assert store.run.due_at <= NOW + SETTLES + 1 + DUE_AFTER


def test_what_its_probe_found_is_not_looked_at() -> None:
    """Nothing was sent twice."""
    assert {} == resent(reconciled=True).run.looks


def test_a_resend_after_an_operators_word_is_looked_at_too() -> None:
    """People see what is there, not what is on its way."""
    store = store_of(compiled(step("s0", "probe")))
    send(store, Begin())
    store.mark_sent("s0", 1, NOW)
    send(store, Fail("s0", 1, UNKNOWN))
    store.carry_out(Resolve("s0", Verdict.NOT_APPLIED, "olga"), None, NOW + SETTLES)
    fence = send(store, Settle(), NOW + SETTLES).fence
    store.mark_sent("s0", fence, NOW + SETTLES)
    send(store, Complete("s0", fence, payload(1)), NOW + SETTLES)
    assert {"s0": NOW + 2 * SETTLES} == store.run.looks


@pytest.mark.parametrize("more", [True, False])
def test_what_is_found_twice_is_said_once(more: bool) -> None:
    """In the log and the ledger; the run goes its way, or has."""
    store = resent(more=more)
    before, late = store.run, NOW + 100
    for _ in range(2):
        store.carry_out(Suspect("s0", "first"), None, late)
    (told,) = [e.data for e in store.events if e.type == "effect.duplicate_suspected"]
    effect = store.effects["s0"]
    assert {"step_id": "s0", "key": effect.key, "other_key": "first"} == told
    assert (EffectState.APPLIED, late) == (effect.state, effect.suspected_at)
    assert (before.status, before.open, {}) == (store.run.status, store.run.open, store.run.looks)
    if not more:
        assert int(late) + DUE_AFTER == store.run.due_at
