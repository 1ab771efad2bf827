"""Tables of ours that are busy: waited out within the attempt, and within the call's time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from onward.app.driving.execute_once import execute_once
from onward.app.driving.execute_step import Attempt, Worker
from onward.aws.batches import CALL_SECONDS, Pauses
from onward.aws.idempotency import NoAnswer, Once
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.errors import Unavailable
from onward.domain.model import RunStatus
from onward.domain.protocol import Decision
from onward.sdk.testing import MemoryLog

from tests import faults
from tests.store import scripted_tools as tools
from tests.store.caller import Context
from tests.store.conftest import IDEMPOTENCY, RUNS, Time
from tests.store.driver import Driver
from tests.store.runs import RUN_ID, Journey, born, journey, steps

THROTTLED = "ProvisionedThroughputExceededException"
CONFLICTING = "TransactionConflictException"
PAY = steps({"id": "pay", "tool": "once", "input": {"value": 1}})


@pytest.fixture
def made(store: RunStore, reader: RunReader, blobs: Any, time: Time, script: None) -> Journey:
    return journey(store, reader, blobs, time, PAY)


@pytest.fixture
def once(dynamodb: Any) -> Once:
    layer = Once(dynamodb, IDEMPOTENCY, "execute_step", 3600)
    layer.begin(Context())
    return layer


def budget(made: Journey) -> tuple[RunStatus, int, int]:
    return made.run.status, made.run.attempts, made.run.retries_left


@pytest.mark.parametrize(
    ("operation", "code"),
    [("BatchGetItem", THROTTLED), ("UpdateItem", THROTTLED), ("UpdateItem", CONFLICTING)],
)
def test_a_busy_table_before_the_tool_is_waited_out(
    made: Journey, dynamodb: Any, operation: str, code: str
) -> None:
    """First reads and the send mark: the same attempt calls the tool, once."""
    driver = Driver(made.drive, made.run_id)
    first = driver.settle(1, begin=True)

    with faults.refused(dynamodb, operation, code, times=12):
        driver.follow(first, 1)

    assert (RunStatus.SUCCEEDED, 1, 100) == budget(made)
    assert [1] == list(tools.CALLS.values())
    assert "recover" not in driver.did


def test_a_mark_whose_reply_is_lost_is_made_again(made: Journey, dynamodb: Any) -> None:
    """It is ours: the write is sent once, by the attempt that marked it."""
    driver = Driver(made.drive, made.run_id)
    first = driver.settle(1, begin=True)

    with faults.lost_reply(dynamodb, "UpdateItem"):
        driver.follow(first, 1)

    assert (RunStatus.SUCCEEDED, 1, 100) == budget(made)
    assert [1] == list(tools.CALLS.values())


def test_an_attempt_whose_time_is_up_before_its_mark_is_made_rests(
    made: Journey, dynamodb: Any
) -> None:
    """At no cost: the next attempt calls the tool."""
    driver = Driver(made.drive, made.run_id)
    first = driver.settle(1, begin=True)

    with faults.refused(dynamodb, "UpdateItem", THROTTLED, times=faults.MANY):
        wait = driver.attempt(first)
    driver.follow(wait, 1)

    assert (RunStatus.SUCCEEDED, 1, 100) == budget(made)
    assert [1] == list(tools.CALLS.values())


def execute(made: Journey, once: Once, decision: Decision) -> dict[str, Any]:
    worker = Worker(
        drive=made.drive,
        log=MemoryLog(),
        request_id="request",
        until=made.drive.clock() + 60,
        end_process=lambda: None,
        tools=dict,
    )
    return execute_once(worker, once, Attempt.of(decision.to_json()))


def test_a_busy_record_is_waited_for_before_the_tool(
    made: Journey, dynamodb: Any, once: Once
) -> None:
    """The layer's table is one of our stores."""
    first = Driver(made.drive, made.run_id).settle(1, begin=True)

    with faults.refused(dynamodb, "PutItem", THROTTLED, times=12):
        answer = execute(made, once, first)

    assert ("stop", RunStatus.SUCCEEDED, 1) == (answer["do"], made.run.status, made.run.attempts)


def test_what_was_committed_is_the_answer_whatever_the_record_says(
    once: Once, dynamodb: Any
) -> None:
    """The record could not be completed: nobody has to recover what is done."""
    with faults.refused(dynamodb, "UpdateItem", THROTTLED):
        assert {"do": "stop"} == once("key", lambda: {"do": "stop"})


def test_an_error_of_the_work_is_told_though_its_record_cannot_be_deleted(
    once: Once, dynamodb: Any
) -> None:
    """It says what happened; the layer's own trouble does not."""

    def work() -> dict[str, Any]:
        raise Unavailable("the table of runs")

    with (
        faults.refused(dynamodb, "DeleteItem", THROTTLED),
        pytest.raises(Unavailable, match="the table of runs"),
    ):
        once("key", work)


def test_work_that_was_not_called_has_no_answer(once: Once, dynamodb: Any) -> None:
    """Its caller may try again."""
    with faults.refused(dynamodb, "PutItem", THROTTLED), pytest.raises(NoAnswer):
        once("key", lambda: {"do": "stop"})


@contextmanager
def handed_back(client: Any, operation: str) -> Iterator[None]:
    """The service does nothing of a batch, each time."""
    member = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}[operation]
    held: dict[str, Any] = {}

    def hold(params: dict[str, Any], **_: object) -> None:
        held[member] = params["RequestItems"]

    def nothing(**_: object) -> tuple[faults.Refusal, dict[str, Any]]:
        return faults.Refusal(200), {"Responses": {}, **held}

    events, end = client.meta.events, f"dynamodb.{operation}"
    events.register(f"provide-client-params.{end}", hold)
    events.register(f"before-call.{end}", nothing)
    try:
        yield
    finally:
        events.unregister(f"provide-client-params.{end}", hold)
        events.unregister(f"before-call.{end}", nothing)


@pytest.fixture
def naps() -> list[float]:
    return []


def test_unprocessed_keys_are_asked_for_with_pauses_and_not_for_ever(
    dynamodb: Any, store: RunStore, naps: list[float]
) -> None:
    """Ten seconds in all, each pause of up to twice the last: no million requests a second."""
    here = born(PAY, 1.0)
    store.create(here.run, here.submission, here.plan, here.event, "birth")
    reader = RunReader(dynamodb, RUNS, lambda: Pauses(naps.append, lambda: 0.5))
    asked = faults.calls(dynamodb, "BatchGetItem")

    with handed_back(dynamodb, "BatchGetItem"), pytest.raises(Unavailable):
        reader.rows(RUN_ID, run=True)

    assert CALL_SECONDS <= sum(naps) < CALL_SECONDS + 1.0
    assert [0.025, 0.05, 0.1] == naps[:3]
    assert len(asked) < 20


def test_unprocessed_items_likewise(dynamodb: Any, naps: list[float]) -> None:
    """A part that is written ahead."""
    store = RunStore(dynamodb, RUNS, pauses=lambda: Pauses(naps.append, lambda: 0.5))
    with handed_back(dynamodb, "BatchWriteItem"), pytest.raises(Unavailable):
        store.write_part(RUN_ID, born(PAY, 1.0).plan)
    assert CALL_SECONDS <= sum(naps) < CALL_SECONDS + 1.0


def test_what_is_handed_back_once_is_read(
    dynamodb: Any, store: RunStore, naps: list[float]
) -> None:
    """After one pause."""
    here = born(PAY, 1.0)
    store.create(here.run, here.submission, here.plan, here.event, "birth")
    reader = RunReader(dynamodb, RUNS, lambda: Pauses(naps.append, lambda: 0.5))
    with faults.half_done(dynamodb, "BatchGetItem"):
        rows = reader.rows(RUN_ID, run=True, submission=True)
    assert (True, 1) == (None not in (rows.run, rows.submission), len(naps))
