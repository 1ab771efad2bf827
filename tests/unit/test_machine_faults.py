"""Failures, back-off, and the limits of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from onward.domain.limits import MAX_MESSAGE, MAX_WAITING
from onward.domain.model import MAIN_LANE, Failure, RunStatus, StepStatus, Usage
from onward.domain.protocol import (
    Begin,
    Complete,
    Decision,
    Do,
    Fail,
    Recover,
    Report,
    Settle,
)

from tests.builders import NOW, chain, compiled, fan, payload, ref, step, store_of
from tests.driver_model import Drive, Worker

if TYPE_CHECKING:
    from onward.domain.protocol import Command

    from tests.memory_store import MemoryStore

FLAKY = Failure("transient", "flaky", retryable=True)
FATAL = Failure("fatal", "no")


def limited(seconds: float) -> Failure:
    """A provider that names a time."""
    return Failure("rate_limited", "slow down", retryable=True, retry_after=seconds)


def send(store: MemoryStore, command: Command, generation: int = 1, at: float = NOW) -> Decision:
    """Carry a command out and return the driver's next move."""
    return store.carry_out(command, generation, at).decision


def begun(tool: str = "read", **submit: float) -> MemoryStore:
    """A run of one step `s0` whose first attempt is open."""
    store = store_of(chain(1, tool), **submit)
    send(store, Begin())
    return store


def lost(step_id: str, fence: int, lane: int = MAIN_LANE) -> Recover:
    """The driver lost this attempt."""
    return Recover(step_id, fence, lane, "Runtime.ExitError", dead=True)


@pytest.mark.parametrize(
    ("failure", "jitter", "seconds"),
    [(FLAKY, 0.4, 0), (FLAKY, 0.6, 1), (limited(4.2), 0.5, 5), (limited(5.0), 0.0, 5)],
)
def test_a_short_back_off_is_waited_in_its_lane(
    failure: Failure, jitter: float, seconds: int
) -> None:
    """The next attempt is claimed at once; its deadline counts from the end of the delay."""
    store = begun()
    decision = send(store, Fail("s0", 1, failure, jitter))
    assert (Do.DELAY if seconds else Do.STEP, 2, seconds) == (
        decision.do,
        decision.fence,
        decision.seconds,
    )
    assert NOW + seconds + 60 == store.steps["s0"].deadline


@pytest.mark.parametrize("asked", [5.1, 30.0, 7_200.0])
def test_a_long_back_off_is_parked(asked: float) -> None:
    """The attempt is claimed when the time is over, never before."""
    store = begun()
    decision = send(store, Fail("s0", 1, limited(asked)))
    assert (Do.WAIT, RunStatus.BACKING_OFF) == (decision.do, store.run.status)
    assert decision.seconds >= asked
    early = send(store, Settle(), at=NOW + asked - 0.1)
    assert (Do.WAIT, 1) == (early.do, early.seconds)
    again = send(store, Settle(), at=NOW + decision.seconds)
    assert (Do.STEP, 2) == (again.do, again.fence)
    assert RunStatus.RUNNING is store.run.status


def test_a_step_is_given_up_after_its_attempts() -> None:
    """Four tries, then the run fails with the last error."""
    store = store_of(chain(1))
    Drive(store, Worker(store, {"s0": [FLAKY] * 4})).to_the_end()
    assert (RunStatus.FAILED, 4) == (store.run.status, store.steps["s0"].fence)
    (failed,) = [e for e in store.events if e.type == "step.failed"]
    assert "attempts_exhausted" == failed.data["not_retried_because"]


def test_all_steps_share_the_runs_retries() -> None:
    """One step's retries are missing for another's."""
    store = store_of(chain(2), retries=3)
    Drive(store, Worker(store, {"s0": [FLAKY] * 3, "s1": [FLAKY]})).to_the_end()
    assert (RunStatus.FAILED, 0) == (store.run.status, store.run.retries_left)


def test_a_wide_fan_out_that_is_limited_keeps_its_row_small() -> None:
    """No fresh child is claimed while ten are backing off; all succeed in the end."""
    store = store_of(fan(40))
    most = 0

    def watch(seen: MemoryStore, _outcome: object) -> None:
        nonlocal most
        most = max(most, len(seen.run.waiting))

    store.watch = watch
    failures = {f"each.{i}": [limited(20.0)] for i in range(40)}
    Drive(store, Worker(store, failures)).to_the_end()
    assert RunStatus.SUCCEEDED is store.run.status
    assert MAX_WAITING <= most < 2 * MAX_WAITING


def test_a_retry_is_not_begun_while_the_run_is_failing() -> None:
    """Nobody will use its result."""
    store = store_of(compiled(step("a"), step("b")))
    send(store, Begin())
    send(store, Fail("a", 1, FATAL))
    assert Do.STOP is send(store, Fail("b", 1, FLAKY)).do
    assert RunStatus.FAILED is store.run.status


def test_a_huge_error_message_is_cut() -> None:
    """The run row holds it, and is read with every commit."""
    store = begun()
    send(store, Fail("s0", 1, Failure("fatal", "x" * 1_000_000)))
    assert store.run.failing is not None
    assert MAX_MESSAGE == len(store.run.failing.failure.message)


def test_a_run_past_its_deadline_fails() -> None:
    """While it waits, the park is no longer than the deadline."""
    store = begun(deadline_seconds=100)
    decision = send(store, Fail("s0", 1, limited(99.0)))
    assert 99 == decision.seconds
    send(store, Settle(), at=NOW + 100)
    assert (RunStatus.FAILED, StepStatus.CANCELLED) == (
        store.run.status,
        store.steps["s0"].status,
    )
    assert "deadline_exceeded" == store.events[-1].data["code"]


def test_an_attempts_deadline_is_never_past_the_runs() -> None:
    """The worker ends itself there."""
    store = begun(deadline_seconds=10)
    assert NOW + 10 == store.steps["s0"].deadline


def test_a_run_whose_last_step_ends_late_succeeds() -> None:
    """There is nothing left that the deadline or the budget could save."""
    store = begun(deadline_seconds=10, tokens=5)
    send(store, Complete("s0", 1, payload(1), Usage(50, 50)), at=NOW + 10.5)
    assert RunStatus.SUCCEEDED is store.run.status


def test_a_spent_token_budget_fails_the_run_before_the_next_step() -> None:
    """It overshoots by the attempts that are open; what failed is charged too."""
    store = store_of(chain(2), tokens=10)
    send(store, Begin())
    send(store, Fail("s0", 1, FLAKY, 0.0, Usage(4, 4)))
    send(store, Complete("s0", 2, payload(1), Usage(2, 1)))
    assert (RunStatus.FAILED, -1) == (store.run.status, store.run.tokens_left)
    assert "budget_exceeded" == store.events[-1].data["code"]
    assert Usage(6, 5) == store.run.usage == store.steps["s0"].usage


def test_a_parked_resend_of_an_unknown_write_is_not_cancelled_with_its_run() -> None:
    """Its first send may have been applied: the step goes on saying that nobody knows (G4)."""
    store = store_of(compiled(step("w", "native"), step("b")))
    send(store, Begin())
    store.mark_sent("w", 1, NOW)
    send(store, lost("w", 1, lane=1))
    send(store, Fail("w", 2, limited(30.0)))
    send(store, Fail("b", 1, FATAL))
    assert (RunStatus.FAILED, StepStatus.NEEDS_RECONCILIATION) == (
        store.run.status,
        store.steps["w"].status,
    )


def test_progress_is_an_event_and_nothing_else() -> None:
    """It moves the log, no row and no driver."""
    store = begun()
    before = store.run
    send(store, Report("s0", 1, 0.25, "x" * 1_000_000))
    assert replace(before, seq=before.seq + 1) == store.run
    assert MAX_MESSAGE == len(str(store.events[-1].data["note"]))


def test_a_park_that_ends_early_parks_again_without_a_commit() -> None:
    """Nothing happened, so the log says nothing."""
    store = begun()
    send(store, Fail("s0", 1, limited(60.0)))
    before = store.run
    assert 60 == send(store, Settle()).seconds
    assert before is store.run


def test_a_decision_carries_ids_only() -> None:
    """It travels through the driver's state, which holds 256 KB for ten lanes."""
    store = store_of(compiled(step("a", input={"x": ref("input")})), "x" * 100_000)
    document = send(store, Begin()).to_json()
    assert {
        "run_id": "run_1",
        "generation": 1,
        "do": "step",
        "step_id": "a",
        "fence": 1,
        "lane": 0,
        "plan_key": "0#a",
        "function": "fn:1",
        "timeout": 70,
    } == document
