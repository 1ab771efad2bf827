"""A key that was revoked opens nothing any more, wherever it is shown."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError
from onward.app.access.keys import HELD_SECONDS
from onward.app.live.close_sockets import StillOpening
from onward.app.live.socket_tickets import redeem_socket_ticket
from onward.app.operating.revoke_key import revoke_key
from onward.app.service import Service
from onward.aws.tenants import Holder
from onward.domain.model import Payload
from onward.domain.protocol import Complete

from tests import faults
from tests.store.caller import Caller
from tests.store.conftest import Time, caller, issue, issued
from tests.store.listening import Sockets
from tests.store.runs import RUN_ID, Journey
from tests.store.submitting import HELLO

WITHIN = 5.0
"""Seconds after which a revoked key is refused everywhere."""


@pytest.fixture
def here(service: Service, sockets: Sockets) -> Service:
    """The service, with the queue that the sockets' functions read."""
    return dataclasses.replace(service, live=lambda: sockets.queue)


@pytest.fixture
def operator(here: Service) -> Holder:
    return here.door.authenticate("Bearer " + issue(here, "acme", "operator"))


def revoke(here: Service, operator: Holder, key_id: str) -> None:
    revoke_key(here, operator, key_id, "", last=False)


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("ticketed", [False, True])
def test_what_is_held_ends_with_its_key(
    service: Service, time: Time, accept: str, *, ticketed: bool
) -> None:
    """A long poll and a stream, by key and by ticket, in the middle of their twenty seconds."""
    text, key_id = issued(service, "acme", "submitter")
    operator = service.door.authenticate("Bearer " + issue(service, "acme", "operator"))
    run_id = caller(service, text).post("/runs", HELLO).body["run_id"]
    wish = {"use": "sse", "run_id": run_id}
    ticket = caller(service, text).post("/tickets", wish).body["ticket"]
    revoked_at: list[float] = []

    def sleep(seconds: float) -> None:
        time.sleep(seconds)
        if not revoked_at and time.now - began > 7:
            revoke_key(service, operator, key_id, "", last=False)
            revoked_at.append(time.now)

    began = time.now
    held = caller(dataclasses.replace(service, sleep=sleep), None if ticketed else text)
    query = {"after": 1, "wait": 20} | ({"ticket": ticket} if ticketed else {})
    reply = held.get(f"/runs/{run_id}/events", {"Accept": accept}, **query)

    assert 401 == reply.status
    assert 0 < time.now - revoked_at[0] <= HELD_SECONDS + 1 < WITHIN


def test_a_held_request_asks_for_its_key_every_two_seconds(
    acme: Caller, service: Service, dynamodb: Any, time: Time
) -> None:
    """No more: ten reads in twenty seconds, and the first."""
    run_id = acme.post("/runs", HELLO).body["run_id"]
    reads = faults.calls(dynamodb, "GetItem")
    began = time.now
    assert 200 == acme.get(f"/runs/{run_id}/events", after=1, wait=20).status
    asked = [call for call in reads if call["TableName"] == "access"]
    assert 8 <= len(asked) <= 11
    assert time.now - began >= 20


def test_a_sockets_ticket_is_void(here: Service, operator: Holder, acme: Caller) -> None:
    """Used up all the same."""
    text, key_id = issued(here, "acme", "submitter")
    tickets = [caller(here, text).post("/tickets", {"use": "ws"}).body["ticket"] for _ in range(2)]
    first = redeem_socket_ticket(here.tickets, here.door, tickets[0], here.clock())
    assert first is not None
    assert key_id == first.key_id

    revoke(here, operator, key_id)

    for ticket in tickets:
        assert redeem_socket_ticket(here.tickets, here.door, ticket, here.clock()) is None


def test_its_sockets_are_closed_and_no_others(
    here: Service, operator: Holder, sockets: Sockets
) -> None:
    """Whether or not they listen to anything."""
    (_, mine), (_, other) = (issued(here, "acme", "submitter") for _ in range(2))
    for connection, key_id in {"a": mine, "b": mine, "c": other}.items():
        assert sockets.open(connection, key_id)

    revoke(here, operator, mine)
    sockets.work()

    assert {"a", "b"} == sockets.closed
    assert [] == sockets.held.of("acme", mine)


def test_asked_again_it_closes_again(here: Service, operator: Holder, sockets: Sockets) -> None:
    """An order that was lost is made good by repeating the call."""
    _, key_id = issued(here, "acme", "submitter")
    sockets.open("a", key_id)
    lost = faults.refused(sockets.sqs, "SendMessageBatch", "InternalError")
    with lost, pytest.raises(ClientError):
        revoke(here, operator, key_id)
    assert not here.door.admits("acme", key_id)

    revoke(here, operator, key_id)
    sockets.work()

    assert {"a"} == sockets.closed
    assert 1 == len(here.audit.newest("acme", 10, here.clock()).entries)


def test_one_that_slips_through_is_sent_nothing(
    here: Service, operator: Holder, sockets: Sockets, made: Journey, time: Time
) -> None:
    """Its next event finds it refused, within the two seconds that a pusher remembers."""
    _, key_id = issued(here, "acme", "submitter")
    sockets.open("a", key_id)
    sockets.say("a", "subscribe")
    sockets.work()
    assert [1, 2, 3] == sockets.seqs("a")
    sockets.held.forget("acme", key_id, "a")

    revoke(here, operator, key_id)
    time.now += HELD_SECONDS
    made.move(Complete("s1", 1, Payload("{}")))
    sockets.wake(made.run.seq)
    sockets.work()

    assert [1, 2, 3] == sockets.seqs("a")
    assert {"a"} == sockets.closed


def test_one_that_slips_through_is_heard_no_more(
    here: Service, operator: Holder, sockets: Sockets, made: Journey
) -> None:
    """Its next frame is refused, and it is closed."""
    _, key_id = issued(here, "acme", "submitter")
    sockets.open("a", key_id)
    revoke(here, operator, key_id)

    sockets.say("a", "subscribe")

    assert ["unauthenticated"] == [each["code"] for each in sockets.of("a", "error")]
    assert sockets.cursors.subscription("a", RUN_ID) is None
    sockets.work()
    assert {"a"} == sockets.closed


PLACES = 5
"""Before each of the three calls of a handshake, after them, and when the socket is open."""

ORDERS = list(itertools.combinations_with_replacement(range(PLACES), 2))
"""When a key is revoked, and when its sockets are closed."""


@pytest.mark.parametrize(("revoking", "later"), ORDERS)
def test_no_socket_opens_past_its_revocation(
    here: Service,
    operator: Holder,
    sockets: Sockets,
    dynamodb: Any,
    time: Time,
    revoking: int,
    later: int,
) -> None:
    """At whatever moment of the handshake the key is revoked, and its sockets are closed.

    The gateway opens a socket when the handshake has been answered, and knows of none before.
    """
    _, key_id = issued(here, "acme", "submitter")
    sockets.opening.add("a")
    left: list[bool] = []

    def close() -> None:
        try:
            sockets.work()
        except StillOpening:
            left.append(True)

    def at(place: int) -> None:
        if place == revoking:
            revoke(here, operator, key_id)
        if place == later:
            close()

    with ExitStack() as hooks:
        for place, (operation, before) in enumerate(
            [("PutItem", "KEY#"), ("PutItem", "CONN#"), ("GetItem", "KEY#")]
        ):
            hooks.enter_context(_before(dynamodb, operation, before, partial(at, place)))
        opened = sockets.open("a", key_id)
    at(3)
    sockets.opening.clear()
    if not opened:
        sockets.closed.add("a")
    at(4)
    if left:
        time.now += 2
        close()

    assert {"a"} == sockets.closed


@contextmanager
def _before(
    dynamodb: Any, operation: str, partition: str, action: Callable[[], object]
) -> Iterator[None]:
    """Do something before the first call of an operation on a row of a partition."""
    done: list[bool] = []

    def happen(params: dict[str, Any], **_: object) -> None:
        row = params.get("Item") or params["Key"]
        if not done and row["pk"]["S"].startswith(partition):
            done.append(True)
            action()

    event = f"provide-client-params.dynamodb.{operation}"
    dynamodb.meta.events.register(event, happen)
    try:
        yield
    finally:
        dynamodb.meta.events.unregister(event, happen)
    assert done, f"{operation} on {partition} was never called"
