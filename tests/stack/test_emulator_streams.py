"""How the emulator reads a table's stream for a function, with our poller in place of its own."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

from tests.stack.sandbox import Sandbox, until
from tests.stack.test_emulator_facts import NOTE

if TYPE_CHECKING:
    from collections.abc import Iterator

READER = (
    NOTE
    + """
def handler(event, context):
    for record in event["Records"]:
        key = record["dynamodb"]["Keys"]["pk"]["S"]
        note(os.environ["AWS_LAMBDA_FUNCTION_NAME"], key)
        if key.startswith("poison") or key.startswith("once") and not seen(key):
            number = record["dynamodb"]["SequenceNumber"]
            return {"batchItemFailures": [{"itemIdentifier": number}]}
    return {"batchItemFailures": []}
def seen(key):
    path = os.path.join(os.environ["NOTES"], key)
    known = os.path.exists(path)
    open(path, "w").close()
    return known
"""
)
FAILING = NOTE + "def handler(event, context): raise ValueError('no')"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(tmp_path_factory.mktemp("emulator")) as made:
        yield made


def listen(sandbox: Sandbox, stream: str, source: str = READER, **settings: Any) -> str:
    """Map a stream to a new reader and return the name under which it notes what it is handed."""
    function = sandbox.function(source)
    sandbox.functions.create_event_source_mapping(
        EventSourceArn=stream,
        FunctionName=function,
        StartingPosition="TRIM_HORIZON",
        FunctionResponseTypes=["ReportBatchItemFailures"],
        **settings,
    )
    return function.rsplit(":", 1)[-1]


def test_a_reported_record_is_handed_out_again_and_no_earlier_one(sandbox: Sandbox) -> None:
    """The reader resumes at the record it reported; as released the whole batch counts as read."""
    table, stream = sandbox.table()
    once = f"once-{uuid.uuid4().hex[:6]}"
    sandbox.put(table, "a", once, "b")
    reader = listen(sandbox, stream, MaximumRetryAttempts=3)

    assert until(lambda: len(sandbox.noted(reader)) >= 4 and sandbox.noted(reader)) == [
        "a",
        once,
        once,
        "b",
    ]


def test_poison_is_set_apart_and_the_rest_goes_on(sandbox: Sandbox) -> None:
    """After its retries a record's coordinates are in the failure queue; its followers arrive."""
    table, stream = sandbox.table()
    dead, dead_arn = sandbox.queue()
    sandbox.put(table, "a", "poison", "b", "c")
    reader = listen(
        sandbox,
        stream,
        MaximumRetryAttempts=1,
        BisectBatchOnFunctionError=True,
        DestinationConfig={"OnFailure": {"Destination": dead_arn}},
    )

    (letter,) = until(lambda: sandbox.received(dead))
    assert letter["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert letter["DDBStreamBatchInfo"]["batchSize"] == 1
    noted = until(lambda: sandbox.noted(reader)[-1:] == ["c"] and sandbox.noted(reader))
    assert [key for key in noted if key != "poison"] == ["a", "b", "c"]


def test_a_function_that_only_fails_loses_nothing_silently(sandbox: Sandbox) -> None:
    """Each record of a failing batch ends in the failure queue, split down to single ones."""
    table, stream = sandbox.table()
    dead, dead_arn = sandbox.queue()
    sandbox.put(table, "a", "b")
    listen(
        sandbox,
        stream,
        FAILING,
        MaximumRetryAttempts=0,
        BisectBatchOnFunctionError=True,
        DestinationConfig={"OnFailure": {"Destination": dead_arn}},
    )
    letters: list[Any] = []

    until(lambda: letters.extend(sandbox.received(dead)) or len(letters) == 2)
    assert [letter["DDBStreamBatchInfo"]["batchSize"] for letter in letters] == [1, 1]


def test_a_filter_keeps_other_rows_from_the_function(sandbox: Sandbox) -> None:
    """The outbox's filter works: by the kind of change and the beginning of a key."""
    table, stream = sandbox.table()
    sandbox.put(table, "RUN", "EVENT#1", "STEP#a", "EVENT#2")
    pattern = '{"eventName":["INSERT"],"dynamodb":{"Keys":{"pk":{"S":[{"prefix":"EVENT#"}]}}}}'
    reader = listen(sandbox, stream, FilterCriteria={"Filters": [{"Pattern": pattern}]})

    assert until(lambda: len(sandbox.noted(reader)) >= 2 and sandbox.noted(reader)) == [
        "EVENT#1",
        "EVENT#2",
    ]


def test_what_is_written_after_a_restart_is_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    """As released the mapping waits at its old position of a stream that begins anew."""
    with Sandbox(tmp_path_factory.mktemp("restarted")) as sandbox:
        table, stream = sandbox.table()
        reader = listen(sandbox, stream)
        sandbox.put(table, "before-1", "before-2", "before-3")
        until(lambda: len(sandbox.noted(reader)) == 3)
        sandbox.stop()
        sandbox.start()
        sandbox.put(table, "after")

        assert until(lambda: sandbox.noted(reader)[3:]) == ["after"]
