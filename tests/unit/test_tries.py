"""Tries are counted where they happen, and every place that shows them shows the same number.

A fence is raised without a try too: by a probe's wait, by a question, by an attempt that had no
room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from onward.app.reading.replay_events import cloud_event
from onward.app.reading.snapshot import Seen, snapshot
from onward.cli.board import Board
from onward.domain.model import MAIN_LANE, Failure, RunStatus, StepStatus
from onward.domain.protocol import (
    Begin,
    Complete,
    DecideApproval,
    Fail,
    Recover,
    Resolve,
    Settle,
    Verdict,
)

from tests.builders import NOW, compiled, payload, ref, send, step, store_of

if TYPE_CHECKING:
    from onward.client import CloudEvent
    from onward.client import Snapshot as Shown
    from onward.domain.protocol import Command, Decision

    from tests.memory_store import MemoryStore

HOUR = 3600.0
LATER = Failure("transient", "later", retryable=True)
LONG = Failure("transient", "much later", retryable=True, retry_after=HOUR)


class Course:
    """A run of one step `pay`, whose numbers are compared after every command."""

    def __init__(self, tool: str, **keys: bool | str) -> None:
        self.store: MemoryStore = store_of(compiled(step("pay", tool, input={"amount": 7}, **keys)))
        self.now = NOW

    def send(self, command: Command, after: float = 0.0) -> Decision:
        self.now += after
        decision = send(self.store, command, self.now)
        self.agree()
        return decision

    def lost(self, fence: int, *, called: bool = True, gone: bool = False) -> Decision:
        cause = "Runtime.ExitError"
        lost = Recover("pay", fence, MAIN_LANE, cause, dead=True, called=called, gone=gone)
        return self.send(lost)

    def agree(self) -> None:
        """Snapshot, counts, log and screen know the same number of tries."""
        run, rows = self.store.run, self.store.steps
        plan = [planned for planned in self.store.plan.values() if planned.step_id]
        document = snapshot(Seen(run, None, plan, rows))
        (shown,) = document["steps"]
        board = Board.of(cast("Shown", document))
        for event in self.store.events:
            board.apply(cast("CloudEvent", cloud_event(run.run_id, event)))
        assert shown["attempts"] == document["counts"]["attempts"] == board.rows["pay"].attempts

    @property
    def numbers(self) -> tuple[int, int]:
        """The tries and the fence of the step."""
        row = self.store.steps["pay"]
        return row.attempt, row.fence

    @property
    def told(self) -> list[tuple[str, int]]:
        """What the log tells of the step's attempts, in order."""
        named = [event for event in self.store.events if "attempt" in event.data]
        return [(event.type.removeprefix("step."), int(event.data["attempt"])) for event in named]


def test_the_second_try_of_a_probed_write_is_the_second() -> None:
    """Its wait raised the fence in between; nobody tried anything then."""
    course = Course("probe")
    course.send(Begin())
    course.store.mark_sent("pay", 1, NOW)
    course.lost(1)
    assert (1, 2) == course.numbers

    decision = course.send(Settle(), 30)
    assert (3, (2, 3)) == (decision.fence, course.numbers)
    course.send(Complete("pay", 3, payload(1), reconciled=True))
    assert [("started", 1), ("outcome_unknown", 1), ("started", 2), ("succeeded", 2)] == course.told
    assert ["pay#1", "pay#3", "pay#3"] == [
        event.data["attempt_id"] for event in course.store.events if "attempt_id" in event.data
    ]


def test_a_person_who_is_asked_is_no_try() -> None:
    """One was made when the question stands, and the next one is the second."""
    course = Course("none")
    course.send(Begin())
    course.store.mark_sent("pay", 1, NOW)
    course.lost(1)
    assert (StepStatus.NEEDS_RECONCILIATION, (1, 2)) == (
        course.store.steps["pay"].status,
        course.numbers,
    )
    resolved = Resolve("pay", Verdict.NOT_APPLIED, "olga")
    course.store.carry_out(resolved, None, NOW + HOUR)
    course.send(Settle(), HOUR)
    assert (2, 3) == course.numbers
    course.send(Complete("pay", 3, payload(1)))
    assert [1, 1, 2, 2] == [number for _, number in course.told]


def test_an_approval_is_no_try() -> None:
    """None was made while a person decides; the attempt that follows is the first."""
    course = Course("native", approval={"expires": "1h"})
    course.send(Begin())
    assert (0, 0) == course.numbers
    version = course.store.approvals["pay"].action_version
    decision = DecideApproval("pay", approve=True, action_version=version, by="olga")
    course.store.carry_out(decision, None, NOW)
    course.send(Settle())
    assert (1, 1) == course.numbers


@pytest.mark.parametrize(("failure", "during"), [(LATER, 2), (LONG, 1)])
def test_a_retry_is_a_try_from_when_it_is_opened(failure: Failure, during: int) -> None:
    """A short one at once, in its lane; a long one when its rest is over."""
    course = Course("read")
    course.send(Begin())
    course.send(Fail("pay", 1, failure))
    assert during == course.numbers[0]
    decision = course.send(Settle(), HOUR) if during == 1 else None
    fence = decision.fence if decision else 2
    course.send(Complete("pay", fence, payload(1)), 10)
    assert (2, 2) == course.numbers


@pytest.mark.parametrize("known", ["late", "refused", "gone"])
def test_an_attempt_that_never_reached_its_tool_leaves_its_number_to_the_next(known: str) -> None:
    """The tool is called for the first time by an attempt that says 1."""
    course = Course("read")
    course.send(Begin())
    if known == "late":
        course.send(Fail("pay", 1, LATER, called=False))
    else:
        course.lost(1, called=False, gone=known == "gone")
    if known == "gone":
        resolved = Resolve("pay", Verdict.NOT_APPLIED, "olga")
        course.store.carry_out(resolved, None, NOW)
    decision = course.send(Settle(), HOUR)
    assert 1 == course.numbers[0] < decision.fence
    course.send(Fail("pay", decision.fence, LATER))
    assert 2 == course.numbers[0]


def test_a_step_whose_input_cannot_be_made_was_never_tried() -> None:
    """Its run fails with no attempt at all."""
    store = store_of(compiled(step("pay", input={"x": ref("input.none")})), {})
    send(store, Begin())
    tried = (store.run.attempts, store.steps["pay"].attempt, store.events[-2].data["attempt"])
    assert (RunStatus.FAILED, (0, 0, 0)) == (store.run.status, tried)
