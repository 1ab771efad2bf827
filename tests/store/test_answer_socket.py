from __future__ import annotations

import random
from typing import Any

import pytest
from onward.app.live.answer_socket import Socket, answer_socket, forget_socket
from onward.app.service import Service
from onward.aws.cursors import MAX_RUNS, Subscription
from onward.aws.sockets import management, reachable
from onward.domain.protocol import Begin

from tests import faults
from tests.store.conftest import Time, issued
from tests.store.listening import Sockets
from tests.store.runs import RUN_ID, Journey, chain, journey


def test_another_tenants_run_is_not_there(sockets: Sockets, made: Journey) -> None:
    """Not forbidden: not found; and nothing is stored or queued."""
    sockets.say("a", "subscribe", tenant="evil")
    (error,) = sockets.sent["a"]
    assert ("error", "run_not_found", RUN_ID) == (error["type"], error["code"], error["run_id"])
    assert sockets.cursors.subscription("a", RUN_ID) is None
    assert 0 == sockets.work()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad_request"),
        ("[]", "bad_request"),
        ("[" * 100_000, "bad_request"),
        ('{"action":"dance"}', "bad_request"),
        ('{"action":["ping"]}', "bad_request"),
        ('{"action":"subscribe"}', "bad_request"),
        ('{"action":"subscribe","run_id":7}', "bad_request"),
        ('{"action":"subscribe","run_id":"run_none"}', "run_not_found"),
        (f'{{"action":"subscribe","run_id":"{RUN_ID}","last_event_id":-1}}', "bad_request"),
        (f'{{"action":"subscribe","run_id":"{RUN_ID}","last_event_id":true}}', "bad_request"),
        (f'{{"action":"subscribe","run_id":"{RUN_ID}","last_event_id":"x/1"}}', "bad_request"),
        (f'{{"action":"subscribe","run_id":"{RUN_ID}","client_id":"a b"}}', "bad_request"),
        (f'{{"action":"ack","run_id":"{RUN_ID}"}}', "bad_request"),
        (f'{{"action":"ack","run_id":"{RUN_ID}","event_id":1}}', "run_not_found"),
    ],
)
def test_what_is_wrong_with_a_message_is_said(
    sockets: Sockets, made: Journey, text: str, code: str
) -> None:
    """On the socket, as a frame; nothing else happens."""
    answer_socket(sockets.desk, Socket("a", "acme", 0.0, 1), text)
    (error,) = sockets.sent["a"]
    assert ("error", code) == (error["type"], error["code"])
    assert 0 == sockets.work()


def test_a_client_goes_on_from_what_it_acknowledged(sockets: Sockets, made: Journey) -> None:
    """On another socket, without a position of its own; a late acknowledgement is not taken."""
    sockets.say("a", "subscribe", client_id="screen")
    sockets.work()
    sockets.say("a", "ack", event_id=f"{RUN_ID}/2")
    sockets.say("a", "ack", event_id=1)
    sockets.say("b", "subscribe", client_id="screen")
    sockets.say("c", "subscribe", client_id="screen", last_event_id=0)
    sockets.say("d", "subscribe", client_id="other")
    sockets.work()

    assert [3] == sockets.seqs("b")
    assert [1, 2, 3] == sockets.seqs("c") == sockets.seqs("d")


def test_an_acknowledgement_is_kept_for_a_while(
    sockets: Sockets, made: Journey, time: Time
) -> None:
    """After thirty days the client is a new one."""
    sockets.say("a", "subscribe", client_id="screen")
    sockets.say("a", "ack", event_id=2)
    assert 2 == sockets.cursors.acknowledged("acme", "screen", RUN_ID, time.now)
    assert 0 == sockets.cursors.acknowledged("evil", "screen", RUN_ID, time.now)
    assert 0 == sockets.cursors.acknowledged("acme", "screen", RUN_ID, time.now + 31 * 86_400)


def test_unsubscribing_ends_it(sockets: Sockets, made: Journey) -> None:
    """What was not sent by then is not sent."""
    sockets.say("a", "subscribe")
    sockets.say("a", "unsubscribe")
    sockets.work()
    assert [] == sockets.sent["a"]


def test_of_two_messages_worked_on_at_once_the_later_one_counts(
    sockets: Sockets, made: Journey
) -> None:
    """Whichever function is faster: the gateway's clock saw their order."""
    sockets.at(2000, "a", "subscribe", "acme", last_event_id=2)
    sockets.at(1000, "a", "subscribe", "acme", last_event_id=0)
    sockets.at(1999, "a", "unsubscribe", "acme")
    sockets.at(2000, "a", "unsubscribe", "acme")
    sockets.work()
    assert [3] == sockets.seqs("a")
    sockets.at(2001, "a", "unsubscribe", "acme")
    assert sockets.cursors.subscription("a", RUN_ID) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_storm_of_subscriptions_loses_nothing_after_the_last(
    service: Service, time: Time, sockets: Sockets, seed: int
) -> None:
    """Messages, commits and pushes in any order; the last subscription gets all behind it."""
    from onward.domain.model import Payload
    from onward.domain.protocol import Complete

    chance = random.Random(seed)
    run = journey(service.store, service.reader, service.blobs("acme"), time, chain(30))
    run.move(Begin())
    done = 0
    for _ in range(100):
        choice = chance.random()
        if choice < 0.3 and done < 30:
            done += 1
            run.move(Complete(f"s{done}", 1, Payload("{}")))
            sockets.wake(run.run.seq)
        elif choice < 0.5:
            sockets.work()
        else:
            action = chance.choice(["subscribe", "unsubscribe", "ping"])
            sockets.say("a", action, last_event_id=chance.randint(0, run.run.seq))
    at = chance.randint(0, run.run.seq)
    sockets.say("a", "subscribe", last_event_id=at)
    for rest in range(done + 1, 31):
        run.move(Complete(f"s{rest}", 1, Payload("{}")))
        sockets.wake(run.run.seq)
    before = len(sockets.sent["a"])
    sockets.work()

    sent = [f for f in sockets.sent["a"][before:] if f["type"] == "event"]
    numbers = [int(f["event"]["sequence"]) for f in sent]
    assert list(range(at + 1, run.run.seq + 1)) == numbers, f"seed {seed}"


def test_a_socket_listens_to_so_many_runs(sockets: Sockets, made: Journey) -> None:
    """One more is refused; the same one again is not one more."""
    for number in range(MAX_RUNS - 1):
        row = Subscription(f"run_{number}", "a", "acme", "s", 0, 1, 0.0, 2_000_000_000)
        sockets.cursors.subscribe(row)
    sockets.say("a", "subscribe")
    sockets.say("a", "subscribe")
    assert [] == sockets.sent["a"]
    row = Subscription("run_more", "b", "acme", "s", 0, 1, 0.0, 2_000_000_000)
    for number in range(MAX_RUNS):
        sockets.cursors.subscribe(Subscription(f"run_{number}", *_rest(row)))
    sockets.say("b", "subscribe")
    assert ["too_many_subscriptions"] == [error["code"] for error in sockets.sent["b"]]


def test_a_closed_socket_leaves_nothing(
    service: Service, sockets: Sockets, made: Journey, time: Time
) -> None:
    """Neither its own rows nor what it listened to."""
    _, key_id = issued(service, "acme", "submitter")
    socket = Socket("a", "acme", time.now, 1, key_id)
    assert sockets.open("a", key_id)
    sockets.say("a", "subscribe")
    sockets.say("b", "subscribe")
    assert [RUN_ID] == sockets.cursors.runs("a")
    for _ in range(2):
        forget_socket(sockets.cursors, sockets.held, socket)

    assert [] == sockets.cursors.runs("a")
    assert [] == sockets.held.of("acme", key_id)
    held = sockets.cursors.subscriptions(RUN_ID, time.now)
    assert ["b"] == [subscription.connection for subscription in held]


def test_a_reply_to_a_closed_socket_forgets_it(sockets: Sockets, made: Journey) -> None:
    """The gateway's 410 is as good as its `$disconnect`."""
    sockets.say("a", "subscribe")
    sockets.closed.add("a")
    sockets.say("a", "ping")
    assert sockets.cursors.subscription("a", RUN_ID) is None


def test_a_client_is_told_to_reconnect_before_the_gateway_cuts_it(
    sockets: Sockets, made: Journey, time: Time
) -> None:
    """Between two and twelve minutes before the two hours are over, each at another time."""
    sockets.say("a", "subscribe")
    held = sockets.cursors.subscription("a", RUN_ID)
    assert held is not None
    assert 120 <= time.now + 7200 - held.reconnect_by <= 720
    assert held.expires_at > time.now + 7200


@pytest.mark.parametrize(
    ("environ", "here"),
    [
        ({}, "wss://abc.execute-api.eu-central-1.amazonaws.com/live"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:4/"}, "ws://127.0.0.1:4/_aws/execute-api/abc/live"),
    ],
)
def test_an_emulators_sockets_have_another_address(environ: dict[str, str], here: str) -> None:
    """For clients and for the management API alike."""
    url = "wss://abc.execute-api.eu-central-1.amazonaws.com/live"
    assert here == reachable(url, environ)
    assert here.replace("ws", "http", 1) == management(url, environ)


def _rest(row: Subscription) -> tuple[Any, ...]:
    return (row.connection, row.tenant, row.sub, row.at, row.asked_at, 0.0, row.expires_at)


def test_of_two_in_the_same_millisecond_the_one_that_goes_further_back_counts(
    sockets: Sockets, made: Journey
) -> None:
    """Their messages are worked on at once, in either order; events too many do no harm."""
    for connection, positions in (("a", (2, 0)), ("b", (0, 2))):
        for at in positions:
            sockets.at(sockets.asked_at, connection, "subscribe", "acme", last_event_id=at)
    sockets.work()

    assert ([1, 2, 3], [1, 2, 3]) == (sockets.seqs("a"), sockets.seqs("b"))


def test_a_run_that_is_left_makes_room_for_another(sockets: Sockets, made: Journey) -> None:
    """A socket listens to so many runs at once, not in its life."""
    sockets.say("a", "subscribe")
    sockets.say("a", "unsubscribe")
    assert [] == sockets.cursors.runs("a")
    sockets.say("a", "subscribe")
    assert [RUN_ID] == sockets.cursors.runs("a")


def test_unsubscribing_on_a_socket_that_closes_is_no_failure(
    sockets: Sockets, made: Journey
) -> None:
    """Both are worked on at once; whichever is first, nothing is left."""
    sockets.say("a", "subscribe")
    sockets.time.now += 1
    with faults.meanwhile(sockets.dynamodb, "UpdateItem", lambda: sockets.cursors.disconnect("a")):
        sockets.say("a", "unsubscribe")
    assert ([], None) == (sockets.cursors.runs("a"), sockets.cursors.subscription("a", RUN_ID))


def test_an_acknowledgement_outlives_its_socket(sockets: Sockets, made: Journey) -> None:
    """It names its client, so it needs no row that is gone with the socket."""
    sockets.say("a", "subscribe", client_id="tab")
    sockets.work()
    sockets.cursors.disconnect("a")
    sockets.say("a", "ack", client_id="tab", event_id=2)
    sockets.say("b", "subscribe", client_id="tab")
    sockets.work()
    assert [3] == sockets.seqs("b")

    sockets.say("a", "ack", tenant="evil", client_id="tab", event_id=3)
    assert "run_not_found" == sockets.of("a", "error")[-1]["code"]


@pytest.mark.parametrize("run_id", ["x" * 120_000, "\ud800"])
def test_an_error_repeats_nothing_that_is_no_run(sockets: Sockets, run_id: str) -> None:
    """It fits into a frame, and can be sent."""
    sockets.at(sockets.asked_at, "a", "subscribe", "acme", run_id=run_id)
    (error,) = sockets.sent["a"]
    assert ("run_not_found", False) == (error["code"], "run_id" in error)
