"""Every interruption is told once, when it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from onward.domain.incidents import Incident, Interruption
from onward.domain.limits import DUE_AFTER, MAX_STALLS
from onward.domain.model import MAIN_LANE, Failure, RunStatus, Usage
from onward.domain.protocol import (
    Begin,
    Complete,
    Do,
    Fail,
    Recover,
    Resolve,
    Restart,
    Resume,
    Settle,
    Verdict,
)

from tests.builders import NOW, chain, payload, send, store_of

if TYPE_CHECKING:
    from tests.memory_store import MemoryStore

FLAKY = Failure("transient", "flaky", retryable=True)
FATAL = Failure("fatal", "no")


def begun(tool: str = "read", length: int = 1) -> MemoryStore:
    """A chain whose first attempt is open."""
    store = store_of(chain(length, tool))
    send(store, Begin())
    return store


def lost(step_id: str, fence: int) -> Recover:
    """The driver lost this attempt."""
    return Recover(step_id, fence, MAIN_LANE, "Runtime.ExitError", dead=True)


def done(step_id: str, fence: int, started_at: float | None = None) -> Complete:
    """An attempt that began at this time returned."""
    return Complete(step_id, fence, payload(1), Usage(3, 4), started_at)


def restarted(store: MemoryStore, times: int) -> MemoryStore:
    """The same run after so many executions that died before they could commit anything."""
    for at in range(times):
        send(store, Restart("execution_aborted"), NOW + at)
    return store


def test_an_interruption_is_over_when_the_next_attempt_begins() -> None:
    """Not when it ends; and it says what had been paid for until then."""
    store = begun(length=2)
    send(store, done("s0", 1))
    send(store, lost("s1", 1), NOW + 1)
    assert [] == store.incidents
    send(store, done("s1", 2, NOW + 2), NOW + 60)
    interruption = Interruption("Runtime.ExitError", NOW + 1, tokens=7)
    assert [Incident(interruption, NOW + 2, "s1")] == store.incidents


def test_an_attempt_that_failed_is_an_interruption_too() -> None:
    """A retry that fails again ends the first one and begins the second."""
    store = begun()
    send(store, Fail("s0", 1, FLAKY), NOW)
    send(store, Fail("s0", 2, FLAKY, started_at=NOW + 1), NOW + 2)
    send(store, done("s0", 3, NOW + 3), NOW + 4)
    told = [(i.interruption.at, i.resumed_at) for i in store.incidents]
    assert [(NOW, NOW + 1), (NOW + 2, NOW + 3)] == told


def test_attempts_lost_one_after_the_other_are_one_interruption() -> None:
    """Nobody knows that the second one ever began."""
    store = begun()
    send(store, lost("s0", 1), NOW)
    send(store, lost("s0", 2), NOW + 5)
    send(store, done("s0", 3, NOW + 6), NOW + 7)
    assert [(NOW, NOW + 6)] == [(i.interruption.at, i.resumed_at) for i in store.incidents]


def test_a_clock_that_is_behind_does_not_resume_before_the_loss() -> None:
    """Workers run on machines of their own."""
    store = begun()
    send(store, lost("s0", 1), NOW)
    send(store, done("s0", 2, NOW - 3), NOW + 1)
    assert [NOW] == [i.resumed_at for i in store.incidents]


def test_a_worker_that_died_after_its_commit_interrupts_what_it_had_claimed() -> None:
    """The next step began later than it would have."""
    store = begun(length=2)
    send(store, done("s0", 1))
    send(store, lost("s0", 1), NOW + 1)
    send(store, done("s1", 2, NOW + 2), NOW + 3)
    assert ["s1"] == [i.step_id for i in store.incidents]


def test_a_receipt_that_was_put_down_resumes_at_once() -> None:
    """A second write was prevented."""
    store = begun("none")
    store.mark_sent("s0", 1, NOW)
    store.keep_receipt("s0", 1, payload("receipt"))
    send(store, lost("s0", 1), NOW + 1)
    interruption = Interruption("Runtime.ExitError", NOW + 1, doubtful=True)
    assert [Incident(interruption, NOW + 1, "s0")] == store.incidents


@pytest.mark.parametrize(("sent", "doubtful"), [(True, True), (False, False)])
def test_a_second_write_is_counted_as_prevented_only_where_one_was_sent(
    sent: bool, doubtful: bool
) -> None:
    """An unmarked write never left."""
    store = begun("native")
    if sent:
        store.mark_sent("s0", 1, NOW)
    send(store, lost("s0", 1))
    send(store, done("s0", 2))
    assert [doubtful] == [i.interruption.doubtful for i in store.incidents]


def test_an_operators_answer_resumes_the_step() -> None:
    """From the loss to the answer."""
    store = begun("none")
    store.mark_sent("s0", 1, NOW)
    send(store, lost("s0", 1))
    store.carry_out(Resolve("s0", Verdict.APPLIED, "olga"), None, NOW + 600)
    assert [(NOW, NOW + 600)] == [(i.interruption.at, i.resumed_at) for i in store.incidents]


def test_an_execution_that_died_is_told_once_another_one_drives() -> None:
    """However many were started in vain, the first is the one that was lost."""
    store = restarted(begun(), times=2)
    assert [] == store.incidents
    send(store, Begin(), NOW + 10)
    assert [(None, NOW, NOW + 10)] == [
        (i.step_id, i.interruption.at, i.resumed_at) for i in store.incidents
    ]


def test_a_failure_that_was_mended_is_told_once() -> None:
    """From the failure to the execution that followed; the failed step is part of it."""
    store = begun()
    send(store, Fail("s0", 1, FATAL))
    store.carry_out(Resume("olga", ("s0",)), None, NOW + 50)
    send(store, Begin(), NOW + 60)
    send(store, done("s0", 2, NOW + 61), NOW + 62)
    told = [(i.step_id, i.interruption.cause, i.resumed_at) for i in store.incidents]
    assert [(None, "fatal", NOW + 60)] == told


def test_three_executions_in_a_row_that_committed_nothing_ask_a_person() -> None:
    """No fourth is started; the last one is fenced off, and the patrol looks no more."""
    store = restarted(store_of(chain(1)), MAX_STALLS)
    assert (RunStatus.NEEDS_RECONCILIATION, True, None) == (
        store.run.status,
        store.run.stalled,
        store.run.due_at,
    )
    assert [1, 2, 3] == [event.start for event in store.events if event.start]
    assert ("run.waiting", "stalled") == (store.events[-1].type, store.events[-1].data["cause"])
    before = store.run
    assert Do.STOP is store.carry_out(Begin(), MAX_STALLS, NOW).decision.do
    send(store, Restart("again"))
    assert before is store.run


def test_a_stalled_run_is_resumed_with_what_was_open() -> None:
    """Its open attempts are perhaps still running."""
    store = restarted(begun(), MAX_STALLS + 1)
    store.carry_out(Resume("olga", ()), None, NOW + 50)
    assert (RunStatus.QUEUED, int(NOW + 50) + DUE_AFTER) == (store.run.status, store.run.due_at)
    assert 2 == send(store, Begin(), NOW + 60).fence
    assert not store.run.stalled


def test_a_stalled_run_that_is_driven_after_all_is_looked_after_again() -> None:
    """Somebody started its execution by hand."""
    store = restarted(begun(), MAX_STALLS + 1)
    send(store, Begin(), NOW + 60)
    assert (RunStatus.RUNNING, 0, int(NOW + 60) + DUE_AFTER) == (
        store.run.status,
        store.run.stalls,
        store.run.due_at,
    )


def test_a_run_that_waits_for_a_person_does_not_stall() -> None:
    """Each new execution says that it drives, though there is nothing to do."""
    store = begun("none")
    store.mark_sent("s0", 1, NOW)
    send(store, lost("s0", 1))
    for _ in range(2 * MAX_STALLS):
        send(store, Restart("emulator_restarted"))
        assert Do.WAIT is send(store, Begin()).do
    assert (RunStatus.NEEDS_RECONCILIATION, False) == (store.run.status, store.run.stalled)
    before = store.run
    assert Do.WAIT is send(store, Settle()).do
    assert before is store.run
