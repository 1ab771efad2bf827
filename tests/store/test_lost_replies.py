"""Commits whose answer does not arrive: only the log says whether they went through."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ConnectionClosedError,
    ConnectTimeoutError,
    NoCredentialsError,
    ParamValidationError,
)
from onward.aws import codec
from onward.aws.blobs import Blobs
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.errors import Conflict
from onward.domain.protocol import Begin

from tests import faults
from tests.store.conftest import RUNS, Time, new_client
from tests.store.runs import RUN_ID, Journey, chain, journey


@pytest.fixture
def chained(store: RunStore, reader: RunReader, blobs: Blobs, time: Time) -> Journey:
    """A chain of three read steps, just accepted."""
    return journey(store, reader, blobs, time, chain(3))


def test_a_lost_reply_is_believed_through_the_log(chained: Journey, dynamodb: Any) -> None:
    """The commit went through although nobody said so: it is no conflict and no second commit."""
    outcome = chained.decide(Begin())
    with faults.lost_reply(dynamodb, "TransactWriteItems"):
        chained.store.commit(outcome, "mine")
    assert outcome.run == chained.run


def test_the_sdks_own_retry_does_not_turn_success_into_conflict(chained: Journey) -> None:
    """The SDK sends the transaction again and its conditions fail: that was our own success."""
    patient = new_client("dynamodb", attempts=2)
    outcome = chained.decide(Begin())
    with faults.lost_reply(patient, "TransactWriteItems") as fault:
        RunStore(patient, RUNS).commit(outcome, "mine")
    assert fault.fired == 1
    assert outcome.run == chained.run


@pytest.mark.parametrize("error", [ConnectionClosedError, ConnectTimeoutError])
def test_a_lost_request_is_a_conflict(
    chained: Journey, dynamodb: Any, error: type[BotoCoreError]
) -> None:
    """Nothing arrived: the log does not show the commit, so it is decided again."""
    outcome = chained.decide(Begin())

    def lose() -> None:
        raise error(endpoint_url="https://dynamodb")

    with faults.meanwhile(dynamodb, "TransactWriteItems", lose), pytest.raises(Conflict):
        chained.store.commit(outcome, "mine")
    assert outcome.before == chained.run


@pytest.mark.parametrize("error", [NoCredentialsError(), ParamValidationError(report="wrong")])
def test_what_was_never_sent_is_no_conflict(
    chained: Journey, dynamodb: Any, error: BotoCoreError
) -> None:
    """Deciding again would fail the same way until the time is up, and hide why."""
    outcome = chained.decide(Begin())

    def fail() -> None:
        raise error

    with faults.meanwhile(dynamodb, "TransactWriteItems", fail), pytest.raises(type(error)):
        chained.store.commit(outcome, "mine")


def test_the_sdks_own_retry_does_not_turn_a_send_mark_into_a_refusal(
    store: RunStore, reader: RunReader, blobs: Blobs, time: Time
) -> None:
    """The mark is there, and it is ours: the write may be sent, and nobody has to be asked."""
    writing = journey(store, reader, blobs, time, chain(1, tool="once"))
    writing.move(Begin())
    patient = new_client("dynamodb", attempts=2)

    with faults.lost_reply(patient, "UpdateItem") as fault:
        row = RunStore(patient, RUNS).mark_sent(RUN_ID, "s1", 1, "mine", 5.25)

    assert 1 == fault.fired
    assert (1, 5.25) == (codec.read_effect(row).sent_fence, codec.read_effect(row).sent_at)


@pytest.mark.parametrize(("request_id", "now"), [("theirs", 5.25), ("mine", 6.0)])
def test_another_invocations_send_mark_is_a_refusal(
    store: RunStore, reader: RunReader, blobs: Blobs, time: Time, request_id: str, now: float
) -> None:
    """Whoever marked first may have sent by now."""
    writing = journey(store, reader, blobs, time, chain(1, tool="once"))
    writing.move(Begin())
    store.mark_sent(RUN_ID, "s1", 1, "mine", 5.25)

    with pytest.raises(Conflict):
        store.mark_sent(RUN_ID, "s1", 1, request_id, now)


def test_another_commit_is_not_taken_for_ones_own(chained: Journey, dynamodb: Any) -> None:
    """Someone else wrote the very same event: the commit id tells them apart."""
    outcome = chained.decide(Begin())

    def other() -> None:
        chained.store.commit(outcome, "theirs")

    with faults.meanwhile(dynamodb, "TransactWriteItems", other), pytest.raises(Conflict):
        chained.store.commit(outcome, "mine")
