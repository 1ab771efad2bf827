"""Sockets that are slow, closed or in trouble, and pushes that die."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError
from onward.app.live.push_events import FAILED_POSTS, PAGE, PushIncomplete, push_events
from onward.app.live.wake_live import PassedOn, live_wake_up
from onward.app.service import Service
from onward.aws.cursors import Cursors
from onward.aws.queues import Queue
from onward.domain.delivery import SPARE_HOPS
from onward.domain.model import Payload
from onward.domain.protocol import Begin, Complete

from tests import faults
from tests.store.conftest import CURSORS, Time, new_client
from tests.store.listening import Sockets
from tests.store.runs import RUN_ID, Journey, chain, journey

DONE = Payload("{}")


def test_a_closed_socket_is_forgotten(sockets: Sockets, made: Journey) -> None:
    """410 from the gateway; the others are served."""
    sockets.say("a", "subscribe")
    sockets.say("b", "subscribe")
    sockets.closed.add("a")
    sockets.work()

    assert sockets.cursors.subscription("a", RUN_ID) is None
    assert [1, 2, 3] == sockets.seqs("b")


def test_a_socket_that_takes_nothing_holds_up_nobody(sockets: Sockets, made: Journey) -> None:
    """The wake-up is to come again, for the one whose cursor still stands."""
    for connection in "abc":
        sockets.say(connection, "subscribe")
    sockets.before_post = _refuse("a", times=1)
    with pytest.raises(PushIncomplete, match="1 of 3"):
        sockets.work()
    assert ([], [1, 2, 3], [1, 2, 3]) == tuple(map(sockets.seqs, "abc"))

    sockets.work()
    assert [1, 2, 3] == sockets.seqs("a")
    assert [1, 2, 3] == sockets.seqs("b")


def test_a_push_stops_when_its_time_is_up(sockets: Sockets, made: Journey, time: Time) -> None:
    """Whoever was not reached is, by another wake-up, which this one queues; no try is lost."""
    sockets.say("a", "subscribe")
    sockets.until = time.now
    sockets.before_again = lambda: setattr(sockets, "until", time.now + 1)

    assert 2 == sockets.work()

    assert [1, 2, 3] == sockets.seqs("a")
    assert 1 == len(sockets.of("a", "subscribed"))


def test_a_push_that_stops_in_the_middle_goes_on_there(
    sockets: Sockets, made: Journey, time: Time
) -> None:
    """The time is looked at before each frame, and the cursor is moved over what was sent."""
    sockets.say("a", "subscribe")
    sockets.until = time.now + 1

    def slowly(_connection: str) -> None:
        time.now += 0.4

    sockets.before_post = slowly
    sockets.before_again = lambda: setattr(sockets, "until", time.now + 10)
    assert 2 == sockets.work()
    assert [1, 2, 3] == sockets.seqs("a")
    assert 1 == len(sockets.of("a", "subscribed"))


def test_a_frame_that_fails_takes_none_with_it(sockets: Sockets, made: Journey) -> None:
    """What was accepted before it is not sent again."""
    sockets.say("a", "subscribe")
    left = iter([False, False, True])  # greeting, 1, and 2 fails

    def third(_connection: str) -> None:
        if next(left, False):
            raise ConnectionClosedError(endpoint_url="https://gateway")

    sockets.before_post = third
    with pytest.raises(PushIncomplete):
        sockets.work()
    sockets.work()

    assert [1, 2, 3] == sockets.seqs("a")


def test_a_failure_of_one_socket_is_told_after_the_others_were_served(
    sockets: Sockets, made: Journey
) -> None:
    """Whatever it is: one that will not pass is raised, so that its reason is in the log."""
    for connection in "abc":
        sockets.say(connection, "subscribe")

    def broken(to: str) -> None:
        if to == "a":
            raise ValueError("no such thing")

    sockets.before_post = broken
    with pytest.raises(ValueError, match="no such thing"):
        sockets.work()
    assert ([], [1, 2, 3], [1, 2, 3]) == tuple(map(sockets.seqs, "abc"))


def test_a_socket_whose_posts_fail_five_times_in_a_row_is_hung_up_on(
    sockets: Sockets, made: Journey
) -> None:
    """Its client comes back for what it lacks; nothing of it ends among the dead letters."""
    for connection in "ab":
        sockets.say(connection, "subscribe")
    sockets.before_post = _refuse("a", times=99)
    for _ in range(FAILED_POSTS - 1):
        with pytest.raises(PushIncomplete):
            sockets.work()
    assert set() == sockets.closed

    assert 2 == sockets.work()

    assert {"a"} == sockets.closed
    assert sockets.cursors.subscription("a", RUN_ID) is None
    assert [1, 2, 3] == sockets.seqs("b")


def test_a_frame_that_arrives_or_a_new_subscription_forgets_failed_posts(
    sockets: Sockets, made: Journey
) -> None:
    """Five are five in a row, of one subscription, however often its wake-up was handed out."""
    sockets.say("a", "subscribe")
    for _ in range(2):
        sockets.before_post = _refuse("a", times=FAILED_POSTS - 1)
        for _ in range(FAILED_POSTS - 1):
            with pytest.raises(PushIncomplete):
                sockets.work()
        sockets.work()
        sockets.say("a", "subscribe", last_event_id=1)

    assert set() == sockets.closed
    sockets.work()
    assert [1, 2, 3, 2, 3, 2, 3] == sockets.seqs("a")


def test_a_chain_of_pushes_that_gets_nowhere_ends(sockets: Sockets, made: Journey) -> None:
    """The message that woke it comes again by itself, and is among the dead letters in the end."""
    sockets.say("a", "subscribe")
    passed: list[PassedOn] = []
    live = replace(sockets.live, again=passed.append)
    most = SPARE_HOPS + (made.run.seq + 1)

    push_events(live, RUN_ID, sockets.time.now, hops=most)
    with pytest.raises(PushIncomplete, match="in a row"):
        push_events(live, RUN_ID, sockets.time.now, hops=most + 1)

    assert [PassedOn(RUN_ID, most + 1)] == passed


def test_a_pusher_that_dies_holds_its_run_up_for_seconds(sockets: Sockets, made: Journey) -> None:
    """While it lives the message is its own; then it is handed out, whatever the queue says."""
    url = sockets.sqs.create_queue(
        QueueName="held.fifo", Attributes={"FifoQueue": "true", "VisibilityTimeout": "60"}
    )["QueueUrl"]
    queue = Queue(sockets.sqs, url)
    queue.send_ordered([live_wake_up(RUN_ID, "once")])

    def receive(wait: int) -> Any:
        answer = sockets.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=wait)
        return next(iter(answer.get("Messages", [])), None)

    handle = receive(0)["ReceiptHandle"]
    with queue.held(handle, 2):
        assert receive(3) is None
    assert receive(4) is not None


def test_a_move_whose_reply_is_lost_does_not_end_a_catch_up(
    service: Service, time: Time, sockets: Sockets
) -> None:
    """The SDK's second try is refused by our own first one."""
    long = journey(service.store, service.reader, service.blobs("acme"), time, chain(20))
    long.move(Begin())
    for n in range(1, 21):
        long.move(Complete(f"s{n}", 1, DONE))
    sockets.say("a", "subscribe")
    twice = new_client("dynamodb", attempts=2)
    sockets.live = replace(sockets.live, cursors=Cursors(twice, CURSORS))
    with faults.lost_reply(twice, "UpdateItem"):
        sockets.work()

    assert long.run.seq > PAGE
    assert list(range(1, long.run.seq + 1)) == sockets.seqs("a")


def _refuse(connection: str, times: int) -> Any:
    left = [times]

    def before(to: str) -> None:
        if to == connection and left[0]:
            left[0] -= 1
            raise ConnectionClosedError(endpoint_url="https://gateway")

    return before
