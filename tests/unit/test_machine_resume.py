"""Operators let failed runs go on from their checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from onward.domain.errors import NotResumable
from onward.domain.model import Failure, RunStatus, StepStatus
from onward.domain.protocol import Begin, Fail, Resolve, Restart, Resume, Verdict

from tests.builders import NOW, compiled, fan, ref, send, step, store_of
from tests.driver_model import Drive, Worker

if TYPE_CHECKING:
    from onward.domain.model import Json

    from tests.memory_store import MemoryStore

UNKNOWN = Failure("outcome_unknown", "read timed out")
LIMITED = Failure("rate_limited", "slow", retryable=True, retry_after=500.0)
FATAL = Failure("fatal", "no")
QUIET = NOW + 30.0


def in_doubt(*others: dict[str, Json], tool: str = "none") -> MemoryStore:
    """A run whose step `s0` sent a write that nobody knows the outcome of."""
    store = store_of(compiled(step("s0", tool), *others))
    send(store, Begin())
    store.mark_sent("s0", 1, NOW)
    send(store, Fail("s0", 1, UNKNOWN))
    return store


def failed(store: MemoryStore, **failures: list[Failure]) -> MemoryStore:
    """The same run, driven to its failure."""
    Drive(store, Worker(store, failures)).to_the_end()
    assert RunStatus.FAILED is store.run.status
    return store


def resume(store: MemoryStore, *steps: str, at: float = QUIET) -> MemoryStore:
    """An operator resumes the run, naming what stopped."""
    store.carry_out(Resume("olga", steps), None, at)
    return store


def test_a_failed_run_goes_on_from_its_checkpoints() -> None:
    """A new generation; what succeeded does not run again (G2), and fences do not restart."""
    store = store_of(compiled(step("a"), step("b", after=["a"]), step("c", after=["b"])))
    resume(failed(store, b=[FATAL]), "b")
    assert (RunStatus.QUEUED, 2, 2) == (
        store.run.status,
        store.run.generation,
        store.events[-1].start,
    )
    assert "olga" == store.events[-1].data["by"]
    Drive(store, now=QUIET).to_the_end()
    assert RunStatus.SUCCEEDED is store.run.status
    assert {"a": 1, "b": 2, "c": 1} == {s: row.fence for s, row in store.steps.items()}


def test_what_ended_well_is_not_resumed_whatever_the_operator_names() -> None:
    """The list was made from rows that may have been read before."""
    store = store_of(compiled(step("a"), step("b", after=["a"])))
    resume(failed(store, b=[FATAL]), "a", "b", "nobody")
    assert {"b"} == store.run.waiting.keys()


def test_a_failed_step_that_is_not_named_keeps_the_run_from_succeeding() -> None:
    """It fails again and can be resumed again, with the right list."""
    store = resume(failed(store_of(compiled(step("a"))), a=[FATAL]))
    Drive(store, now=QUIET).to_the_end()
    assert (RunStatus.FAILED, "steps_missing") == (
        store.run.status,
        store.events[-1].data["code"],
    )
    Drive(resume(store, "a"), now=QUIET).to_the_end()
    assert RunStatus.SUCCEEDED is store.run.status


def test_a_half_done_fan_out_goes_on() -> None:
    """Its finished children stand, the failed one is tried again, the others are born."""
    store = failed(store_of(fan(30)), **{"each.3": [FATAL]})
    done = {s for s, row in store.steps.items() if row.status is StepStatus.SUCCEEDED}
    resume(store, "each.3")
    Drive(store, now=QUIET).to_the_end()
    assert RunStatus.SUCCEEDED is store.run.status
    assert {1} == {store.steps[step_id].fence for step_id in done}


def test_steps_that_waited_are_resumed_with_their_run() -> None:
    """They were cancelled because it failed, not because of themselves."""
    store = failed(store_of(compiled(step("a"), step("b"))), a=[LIMITED], b=[FATAL])
    assert StepStatus.CANCELLED is store.steps["a"].status
    Drive(resume(store, "a", "b"), now=QUIET).to_the_end()
    assert RunStatus.SUCCEEDED is store.run.status


@pytest.mark.parametrize(
    ("tool", "status"),
    [
        ("native", StepStatus.BACKING_OFF),
        ("fenced", StepStatus.BACKING_OFF),
        ("probe", StepStatus.UNKNOWN),
        ("none", StepStatus.NEEDS_RECONCILIATION),
    ],
)
def test_a_write_in_doubt_is_resumed_as_if_it_had_just_been_lost(
    tool: str, status: StepStatus
) -> None:
    """It is sent again, probed, or a person is asked; the doubt itself stays."""
    store = in_doubt(step("b"), tool=tool)
    if "s0" in store.run.open:
        send(store, Fail("s0", 2, LIMITED))
    send(store, Fail("b", 1, FATAL))
    assert StepStatus.NEEDS_RECONCILIATION is store.steps["s0"].status
    resume(store, "s0", "b", at=NOW + 1)
    assert (status, NOW) == (store.steps["s0"].status, store.effects["s0"].unknown_since)


def test_a_resumed_probe_still_waits_for_what_may_arrive() -> None:
    """However soon the operator resumes."""
    store = in_doubt(step("b"), tool="probe")
    send(store, Fail("b", 1, FATAL))
    resume(store, "s0", "b", at=NOW + 1)
    assert QUIET == store.run.waiting["s0"].until


def test_a_step_whose_input_cannot_be_made_is_not_resumed() -> None:
    """Checkpoints do not change, so it would fail the same way."""
    store = failed(store_of(compiled(step("a", input={"x": ref("input.missing")})), {}))
    with pytest.raises(NotResumable, match="the input of a cannot be made"):
        resume(store, "a")


@pytest.mark.parametrize("end", [True, False])
def test_only_a_failed_run_is_resumed(end: bool) -> None:
    """Not one that runs, not one that succeeded."""
    store = store_of(compiled(step("a")))
    if end:
        Drive(store).to_the_end()
    with pytest.raises(NotResumable):
        resume(store)


def test_a_resumed_run_has_a_budget_again() -> None:
    """The deadline that passed begins anew, and the tokens that were spent are lifted."""
    store = store_of(compiled(step("a")), deadline_seconds=100, retries=0, tokens=10)
    send(store, Begin())
    send(store, Fail("a", 1, FATAL), NOW + 99)
    resume(store, "a", at=NOW + 1_000)
    assert NOW + 1_100 == store.run.deadline
    assert (10, True) == (store.run.tokens_left, store.run.retries_left > 0)


def test_a_run_that_stalled_with_an_answer_is_for_a_resume() -> None:
    """The answer is kept, but there is no driver that could hear of it."""
    store = in_doubt()
    for _ in range(4):
        send(store, Restart("execution_aborted"))
    assert store.run.stalled
    store.carry_out(Resolve("s0", Verdict.APPLIED, "olga"), None, QUIET)
    assert store.run.stalled
    resume(store)
    send(store, Begin(), QUIET)
    assert RunStatus.SUCCEEDED is store.run.status


def test_a_failing_run_that_stalled_is_driven_to_its_failure() -> None:
    """It could neither end nor be resumed if its hopeless step were in the way."""
    plan = compiled(step("a"), step("b", input={"x": ref("input.missing")}))
    store = store_of(plan, {})
    send(store, Begin())
    for _ in range(4):
        send(store, Restart("execution_aborted"))
    resume(store, "b")
    send(store, Begin(), QUIET)
    send(store, Fail("a", 2, FATAL), QUIET)
    assert RunStatus.FAILED is store.run.status
