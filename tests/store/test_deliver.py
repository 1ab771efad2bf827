from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from onward.app.delivering.deliver import MARGIN, WakeUp, deliver
from onward.app.delivering.endpoints import rotate_secret
from onward.domain.delivery import SyncStatus

from infra.local.subscriber import Subscriber, Told
from tests import faults
from tests.store.conftest import RUNS
from tests.store.delivering import World
from tests.store.runs import RUN_ID

ENDS = ["onward.run.queued", "onward.run.started", "onward.run.succeeded"]


def answering(hook: Subscriber, *answers: Told) -> None:
    """The first requests are answered so, all others well."""
    hook.answer = lambda number, _event: answers[number] if number < len(answers) else Told()


def test_what_the_filter_wants_is_sent_in_order_and_signed(here: World, hook: Subscriber) -> None:
    """The receiver checks the signature by itself; the cursor ends at the run's last event."""
    here.subscribe(hook)
    run = here.finish()

    assert here.deliver() is None

    assert ENDS == [arrival.type for arrival in hook.heard()]
    assert hook.refused == []
    assert [f"{RUN_ID}/{a.sequence}/billing" for a in hook.heard()] == [
        arrival.webhook_id for arrival in hook.heard()
    ]
    assert run.seq == here.delivery().acked_seq
    assert SyncStatus.SYNCED == here.sync()
    assert [each.outcome for each in here.delivery().history] == ["acknowledged"] * 3


def test_a_second_wake_up_sends_nothing(here: World, hook: Subscriber) -> None:
    """Level-triggered: what was acknowledged is not sent again, whatever woke us."""
    here.subscribe(hook)
    here.finish()

    assert (None, None) == (here.deliver(), here.deliver())

    assert 3 == len(hook.arrivals)


def test_a_receiver_that_fails_is_tried_three_times_and_then_dead(
    here: World, hook: Subscriber
) -> None:
    """After 2 and 10 seconds; then its letter is sent, the list has it, and the message goes."""
    here.subscribe(hook)
    here.finish()
    hook.answer = lambda _number, _event: Told(500)

    waits = [here.deliver(receives) for receives in (1, 2, 3)]

    assert [2.0, 10.0, None] == waits
    assert [(RUN_ID, "billing")] == [(w.run_id, w.endpoint_id) for w in here.letters]
    assert ["onward.run.queued"] * 3 == [arrival.type for arrival in hook.arrivals]
    assert (3, "answered 500") == (here.delivery().attempts, here.delivery().last_error)
    (dead,) = here.downstream.deliveries.dead("acme")
    assert (RUN_ID, "billing", "dead") == (dead.run_id, dead.endpoint_id, dead.state(here.run))
    assert SyncStatus.PENDING == here.sync()

    hook.answer = lambda _number, _event: Told()
    assert here.deliver(retry=True) is None
    assert SyncStatus.SYNCED == here.sync()
    assert [] == list(here.downstream.deliveries.dead("acme"))


def test_an_answer_that_is_lost_costs_a_duplicate_with_the_same_id(
    here: World, hook: Subscriber
) -> None:
    """The receiver has the event and closed the connection; it can tell the second one."""
    here.subscribe(hook)
    here.finish()
    answering(hook, Told(cut=True))

    assert (2.0, None) == (here.deliver(1), here.deliver(2))

    ids = [arrival.webhook_id for arrival in hook.arrivals]
    assert (4, 3) == (len(ids), len(set(ids)))
    assert [] == hook.out_of_order() == hook.strange_duplicates()


def test_what_failed_in_the_middle_goes_on_there(here: World, hook: Subscriber) -> None:
    """Acknowledged events stay behind; nothing overtakes the one that failed."""
    here.subscribe(hook)
    here.finish()
    answering(hook, Told(), Told(503), Told(503))

    assert (2.0, 10.0, None) == (here.deliver(1), here.deliver(2), here.deliver(3))

    started = "onward.run.started"
    assert [ENDS[0], started, started, started, ENDS[2]] == [a.type for a in hook.arrivals]


def test_a_filter_that_passes_over_a_long_log_gets_on(here: World, hook: Subscriber) -> None:
    """What one invocation has read is not read again by the next."""
    here.subscribe(hook, event_types=("run.succeeded",))
    run = here.finish()
    before = here.time.clock

    def slowly() -> float:
        here.time.now += 0.1
        return here.time.now

    sender = dataclasses.replace(here.sender(), clock=slowly)
    wake = WakeUp(RUN_ID, "acme", "billing")
    positions = []
    while here.delivery().acked_seq < run.seq:
        assert deliver(sender, wake, before() + MARGIN + 0.5) is None
        positions.append(here.delivery().acked_seq)

    assert sorted(set(positions)) == positions
    assert len(positions) > 1
    assert 1 == len(hook.heard())


def test_each_event_has_its_own_tries(here: World, hook: Subscriber) -> None:
    """A message on its third receive whose event is acknowledged is not dead at the next one."""
    here.subscribe(hook)
    here.finish()
    answering(hook, Told(500), Told(500), Told(), Told(500))
    assert (2.0, 10.0) == (here.deliver(1), here.deliver(2))

    assert 2.0 == here.deliver(3)

    assert (1, []) == (here.delivery().attempts, here.letters)
    assert here.delivery().dead_since is None
    assert here.deliver() is None
    assert SyncStatus.SYNCED == here.sync()


def test_a_wish_to_wait_is_honoured(here: World, hook: Subscriber) -> None:
    """`Retry-After` puts off the message, and whoever comes sooner sends nothing."""
    here.subscribe(hook)
    here.finish()
    answering(hook, Told(429, headers=(("Retry-After", "90"),)))

    assert 90.0 == here.deliver(1)
    here.time.now += 30
    assert 60.0 == here.deliver(2)
    assert 1 == len(hook.arrivals)
    here.time.now += 61
    assert here.deliver(3) is None


def test_a_redirect_is_not_followed(here: World, hook: Subscriber) -> None:
    """Wherever it leads: the address behind it was never checked."""
    here.subscribe(hook)
    here.finish()
    answering(hook, Told(302, headers=(("Location", hook.url),)))

    assert 2.0 == here.deliver()

    assert 1 == len(hook.arrivals)
    assert "answered 302; redirects are not followed" == here.delivery().last_error


def test_a_private_address_is_refused_at_delivery_too(here: World, hook: Subscriber) -> None:
    """A name may resolve to another address by then; nothing is connected to."""
    here.subscribe(hook.url.replace("http", "https"))
    here.finish()

    assert 2.0 == here.deliver(local=False)

    assert "127.0.0.1 is not a public address" == here.delivery().last_error


def test_both_secrets_sign_for_a_day(here: World, hook: Subscriber) -> None:
    """A receiver that knows only the old or only the new one believes us either way."""
    here.subscribe(hook)
    rotated = rotate_secret(here.service.registrar, "acme", "billing")
    here.finish()
    here.deliver()
    assert [2, 2, 2] == [arrival.signatures for arrival in hook.arrivals]

    hook.secrets[:] = [rotated["secret"]]
    here.time.now += 86_401
    here.deliver(after=0)
    assert [1, 1, 1] == [arrival.signatures for arrival in hook.arrivals[3:]]
    assert [] == hook.refused


def test_what_happened_before_it_subscribed_is_not_sent(here: World, hook: Subscriber) -> None:
    """A new endpoint hears of what happens from then on."""
    here.time.now += 1
    here.subscribe(hook)
    here.finish()
    here.deliver()
    assert ENDS[1:] == [arrival.type for arrival in hook.heard()]


def test_a_cursor_never_moves_back(here: World, hook: Subscriber) -> None:
    """A sender that was held up acknowledges what others are long past."""
    here.subscribe(hook)
    run = here.finish()
    stale = here.delivery()
    here.deliver()

    here.downstream.deliveries.ack(stale, run, 1, [])
    here.downstream.deliveries.ack(stale, run, run.seq, [])

    assert (run.seq, 1) == (here.delivery().acked_seq, here.run.sync_revision)


def test_an_acknowledgement_whose_reply_is_lost_is_written_once(
    here: World, hook: Subscriber, dynamodb: Any
) -> None:
    """The last one is a transaction; its repetition finds the cursor moved."""
    here.subscribe(hook)
    here.finish()
    client = here.downstream.deliveries._client

    with faults.lost_reply(client, "TransactWriteItems"), pytest.raises(Exception, match="closed"):
        here.deliver()
    assert here.deliver() is None

    assert (SyncStatus.SYNCED, 1) == (here.sync(), here.run.sync_revision)


def test_the_invocation_ends_before_its_time_is_up(here: World, hook: Subscriber) -> None:
    """What is left goes on as a fresh message: a long log is no failure, and takes no try."""
    here.subscribe(hook)
    here.finish()
    here.seconds = MARGIN + 0.5
    hook.answer = lambda _number, _event: setattr(here.time, "now", here.time.now + 0.4) or Told()

    assert here.deliver(receives=3) is None
    assert (2, 0) == (len(hook.arrivals), here.delivery().attempts)

    (wake,) = here.again
    hook.answer = lambda _number, _event: Told()
    assert here.deliver(after=wake.after) is None
    assert SyncStatus.SYNCED == here.sync()


def test_a_webhook_bears_the_trace_of_whoever_submitted_its_run(
    here: World, hook: Subscriber, dynamodb: Any
) -> None:
    """As headers and in the event, by the same names; a run without one bears none."""
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    dynamodb.update_item(
        TableName=RUNS,
        Key={"pk": {"S": f"RUN#{RUN_ID}"}, "sk": {"S": "RUN"}},
        UpdateExpression="SET traceparent = :p, tracestate = :s",
        ExpressionAttributeValues={":p": {"S": parent}, ":s": {"S": "vendor=1"}},
    )
    here.subscribe(hook)
    here.finish()
    sent: list[tuple[dict[str, str], bytes]] = []
    sender = here.sender()

    def post(url: str, headers: dict[str, str], body: bytes, seconds: float) -> Any:
        sent.append((headers, body))
        return sender.post(url, headers, body, seconds)

    wake = WakeUp(RUN_ID, "acme", "billing")
    deliver(dataclasses.replace(sender, post=post), wake, here.time.now + here.seconds)
    assert 3 == len(sent)
    for headers, body in sent:
        event = json.loads(body)
        assert (parent, "vendor=1") == (headers["traceparent"], headers["tracestate"])
        assert (parent, "vendor=1") == (event["traceparent"], event["tracestate"])
