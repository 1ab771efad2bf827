from __future__ import annotations

import json
from typing import Any

import pytest
from onward.app.live.push_events import PAGE
from onward.app.service import Service
from onward.aws import keys
from onward.aws.sockets import FRAME_BYTES, frame
from onward.domain.model import Payload
from onward.domain.protocol import Begin, Complete

from tests import faults
from tests.store.conftest import RUNS, Time
from tests.store.listening import Sockets
from tests.store.runs import RUN_ID, Journey, chain, journey

DONE = Payload("{}")


def hide(dynamodb: Any, seq: int) -> Any:
    """Take an event out of the table and return what puts it back."""
    key = {"pk": {"S": keys.run_pk(RUN_ID)}, "sk": {"S": keys.event_sk(seq)}}
    row = dynamodb.get_item(TableName=RUNS, Key=key)["Item"]
    dynamodb.delete_item(TableName=RUNS, Key=key)
    return lambda: dynamodb.put_item(TableName=RUNS, Item=row)


def test_a_subscriber_gets_what_was_and_what_comes(sockets: Sockets, made: Journey) -> None:
    """Greeting first, then the log from the beginning, then each commit, once."""
    sockets.say("a", "subscribe")
    sockets.work()
    made.move(Complete("s1", 1, DONE))
    sockets.wake(made.run.seq)
    sockets.work()

    greeting, *_ = sockets.sent["a"]
    assert ("subscribed", RUN_ID, 0, 3) == tuple(
        greeting[name] for name in ("type", "run_id", "after", "as_of_seq")
    )
    assert list(range(1, made.run.seq + 1)) == sockets.seqs("a")
    assert 1 == len(sockets.of("a", "subscribed"))


@pytest.mark.parametrize("after", [0, 2, 3, 4, 5, 99])
def test_whatever_is_read_ahead_each_event_is_sent_once(
    sockets: Sockets, made: Journey, after: int
) -> None:
    """A hint of where sockets stand is only a hint, for one that does not stand there too."""
    sockets.say("a", "subscribe")
    sockets.say("b", "subscribe", last_event_id=2)
    sockets.work()
    made.move(Complete("s1", 1, DONE))
    sockets.wake(made.run.seq, after)
    sockets.work()

    assert [1, 2, 3, 4, 5] == sockets.seqs("a")
    assert [3, 4, 5] == sockets.seqs("b")


def test_nothing_is_sent_ahead_of_a_log_that_is_gone(
    sockets: Sockets, made: Journey, dynamodb: Any
) -> None:
    """Though its rows are still there."""
    sockets.say("a", "subscribe", last_event_id=2)
    dynamodb.update_item(
        TableName=RUNS,
        Key={"pk": {"S": keys.run_pk(RUN_ID)}, "sk": {"S": keys.RUN}},
        UpdateExpression="SET expired_at = :t",
        ExpressionAttributeValues={":t": {"N": "1"}},
    )
    sockets.wake(3, 2)
    sockets.work()
    assert ["subscribed", "snapshot"] == [each["type"] for each in sockets.sent["a"]]


def test_a_reconnect_is_sent_what_it_lacks(sockets: Sockets, made: Journey) -> None:
    """By number or by the event's whole id."""
    sockets.say("a", "subscribe", last_event_id=1)
    sockets.say("b", "subscribe", last_event_id=f"{RUN_ID}/2")
    sockets.work()
    assert ([2, 3], [3]) == (sockets.seqs("a"), sockets.seqs("b"))


def test_a_wake_up_twice_sends_once(sockets: Sockets, made: Journey) -> None:
    """A message says only that there may be something."""
    sockets.say("a", "subscribe")
    sockets.work()
    sockets.wake(2)
    sockets.wake(3)
    assert 2 == sockets.work()
    assert [1, 2, 3] == sockets.seqs("a")


def test_a_subscription_during_a_push_is_not_ended_by_it(sockets: Sockets, made: Journey) -> None:
    """The pusher has posted for the old subscription and then finds another in its place."""
    sockets.say("a", "subscribe", last_event_id=2)
    again: dict[str, Any] = {"action": "subscribe", "last_event_id": 0}
    with faults.meanwhile(sockets.dynamodb, "UpdateItem", lambda: sockets.say("a", **again)):
        sockets.work()

    later = sockets.seqs("a")[1:]
    assert [3] == sockets.seqs("a")[:1]
    assert [1, 2, 3] == later
    held = sockets.cursors.subscription("a", RUN_ID)
    assert held is not None
    assert 3 == held.at


def test_a_catch_up_is_not_taken_for_the_streams_wake_up(sockets: Sockets, made: Journey) -> None:
    """The last event's wake-up was handled when nobody listened; its id is remembered."""
    sockets.wake(3)
    assert 1 == sockets.work()
    sockets.wake(3)
    assert 0 == sockets.work()

    sockets.say("a", "subscribe", last_event_id=2)
    sockets.work()
    assert [3] == sockets.seqs("a")


def test_an_event_that_is_not_visible_yet_is_not_skipped(
    sockets: Sockets, made: Journey, dynamodb: Any
) -> None:
    """A commit's second event may be seen before its first; the cursor waits for both."""
    sockets.say("a", "subscribe")
    sockets.work()
    made.move(Complete("s1", 1, DONE))
    show = hide(dynamodb, 4)
    sockets.wake(5)
    sockets.work()
    assert [1, 2, 3] == sockets.seqs("a")

    show()
    sockets.say("a", "ping")
    sockets.work()
    assert [1, 2, 3, 4, 5] == sockets.seqs("a")


def test_a_commit_between_subscribing_and_the_catch_up_is_in_it(
    sockets: Sockets, made: Journey
) -> None:
    """Its own wake-up came when there was no row; the catch-up reads the log after it."""
    sockets.wake(3)
    sockets.work()
    sockets.say("a", "subscribe")
    made.move(Complete("s1", 1, DONE))
    sockets.work()
    assert [1, 2, 3, 4, 5] == sockets.seqs("a")


def test_a_lost_catch_up_is_made_good_by_a_ping(sockets: Sockets, made: Journey) -> None:
    """The row is there, and the ping sees that it lags or was never greeted."""
    sockets.say("a", "subscribe", last_event_id=3)
    sockets.sqs.purge_queue(QueueUrl=sockets.url)
    assert 0 == sockets.work()

    sockets.say("a", "ping")
    sockets.work()
    assert {RUN_ID: 3} == sockets.of("a", "pong")[0]["runs"]
    assert 1 == len(sockets.of("a", "subscribed"))
    sockets.say("a", "ping")
    assert 0 == sockets.work()


def test_a_long_log_is_sent_page_by_page(service: Service, time: Time, sockets: Sockets) -> None:
    """More than a page, and the cursor moves with each."""
    long = journey(service.store, service.reader, service.blobs("acme"), time, chain(60))
    long.move(Begin())
    for n in range(1, 61):
        long.move(Complete(f"s{n}", 1, DONE))
    sockets.say("a", "subscribe")
    sockets.work()

    assert long.run.seq > PAGE
    assert list(range(1, long.run.seq + 1)) == sockets.seqs("a")


def test_a_cursor_ahead_of_the_log_gets_the_state(sockets: Sockets, made: Journey) -> None:
    """State first, then the events behind it."""
    sockets.say("a", "subscribe", last_event_id=99)
    sockets.work()
    made.move(Complete("s1", 1, DONE))
    sockets.wake(5)
    sockets.work()

    (state,) = sockets.of("a", "snapshot")
    assert (3, 3, RUN_ID) == (
        state["as_of_seq"],
        state["run"]["as_of_seq"],
        state["run"]["run_id"],
    )
    assert [4, 5] == sockets.seqs("a")


def test_a_cursor_before_the_retained_log_gets_the_state(
    sockets: Sockets, made: Journey, dynamodb: Any
) -> None:
    """The log has expired, whether or not its rows are still there."""
    dynamodb.update_item(
        TableName=RUNS,
        Key={"pk": {"S": keys.run_pk(RUN_ID)}, "sk": {"S": keys.RUN}},
        UpdateExpression="SET expired_at = :t",
        ExpressionAttributeValues={":t": {"N": "1"}},
    )
    sockets.say("a", "subscribe", last_event_id=1)
    sockets.work()
    assert ["subscribed", "snapshot"] == [each["type"] for each in sockets.sent["a"]]
    assert 3 == sockets.of("a", "snapshot")[0]["as_of_seq"]


def test_what_is_too_large_for_a_frame_is_named(
    sockets: Sockets, made: Journey, dynamodb: Any
) -> None:
    """The event comes in its place, its data by reference."""
    dynamodb.update_item(
        TableName=RUNS,
        Key={"pk": {"S": keys.run_pk(RUN_ID)}, "sk": {"S": keys.event_sk(2)}},
        UpdateExpression="SET #d = :d",
        ExpressionAttributeNames={"#d": "data"},
        ExpressionAttributeValues={":d": {"S": json.dumps({"note": "ä" * FRAME_BYTES})}},
    )
    sockets.say("a", "subscribe", last_event_id=1)
    sockets.work()
    large, small = sockets.of("a", "event")

    assert "data" not in large["event"]
    assert "data" in small["event"]
    assert f"/runs/{RUN_ID}/events?after=1&limit=1" == large["event"]["dataref"]
    assert all(len(frame(each).encode()) <= FRAME_BYTES for each in sockets.sent["a"])


def test_an_expired_row_is_not_served(sockets: Sockets, made: Journey, time: Time) -> None:
    """DynamoDB deletes late."""
    sockets.say("a", "subscribe")
    time.now += 3 * 3600
    sockets.work()
    assert [] == sockets.sent["a"]


def test_a_row_of_another_tenant_gets_nothing(sockets: Sockets, made: Journey) -> None:
    """Should one ever be written, the pusher looks as well."""
    sockets.say("a", "subscribe")
    held = sockets.cursors.subscription("a", RUN_ID)
    assert held is not None
    sockets.dynamodb.update_item(
        TableName="cursors",
        Key={"pk": {"S": keys.run_pk(RUN_ID)}, "sk": {"S": "SUB#a"}},
        UpdateExpression="SET tenant = :t",
        ExpressionAttributeValues={":t": {"S": "evil"}},
    )
    sockets.work()
    assert [] == sockets.sent["a"]
