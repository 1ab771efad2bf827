"""Put together what sockets take, once per cold start."""

from __future__ import annotations

import random
import time
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from onward.app.access.keys import Doorkeeper
from onward.app.live.answer_socket import Desk, Socket
from onward.app.live.wake_live import live_wake_up
from onward.aws.api_keys import ApiKeys
from onward.aws.clients import client
from onward.aws.cursors import Cursors
from onward.aws.key_sockets import KeySockets
from onward.aws.run_reader import RunReader
from onward.aws.sockets import Sockets, management
from onward.compose import blobs, live_queue
from onward.settings import settings

if TYPE_CHECKING:
    from onward.app.live.push_events import Live
    from onward.aws.socket_tickets import SocketTickets

clock = time.time


@cache
def tickets() -> SocketTickets:
    """Return what opens sockets."""
    from onward.aws.socket_tickets import SocketTickets

    return SocketTickets(client("dynamodb"), settings("authorize").cursors_table)


@cache
def door(function: str) -> Doorkeeper:
    """Return who tells whether the key behind a ticket or socket still opens anything."""
    return Doorkeeper(ApiKeys(client("dynamodb"), settings(function).access_table), clock)


@cache
def key_sockets(function: str) -> KeySockets:
    """Return which key opened which sockets."""
    return KeySockets(client("dynamodb"), settings(function).cursors_table)


@cache
def cursors(function: str) -> Cursors:
    """Return who listens to what."""
    return Cursors(client("dynamodb"), settings(function).cursors_table)


@cache
def sockets(function: str) -> Sockets:
    """Return the way to open sockets."""
    endpoint = management(settings(function).socket_url)
    return Sockets(lambda: client("apigatewaymanagementapi", endpoint))


@cache
def desk() -> Desk:
    """Return where clients' messages are answered."""
    held = settings("ws_message")
    return Desk(
        reader=RunReader(client("dynamodb"), held.runs_table),
        cursors=cursors("ws_message"),
        live=live_queue("ws_message"),
        post=sockets("ws_message").post,
        admit=door("ws_message").admit,
        clock=clock,
        chance=random.random,
        new_id=lambda: uuid4().hex,
    )


@cache
def live() -> Live:
    """Return what pushing events takes."""
    from onward.app.delivering.downstream import our_books
    from onward.app.live.push_events import Live
    from onward.aws.deliveries import Deliveries
    from onward.aws.endpoints import Endpoints
    from onward.aws.failed_posts import FailedPosts

    held, dynamodb = settings("push_events"), client("dynamodb")
    endpoints = Endpoints(dynamodb, held.runs_table)
    deliveries = Deliveries(dynamodb, held.runs_table)
    return Live(
        reader=RunReader(dynamodb, held.runs_table),
        blobs=lambda tenant: blobs(held, tenant),
        cursors=cursors("push_events"),
        post=sockets("push_events").post,
        hang_up=sockets("push_events").hang_up,
        failed=FailedPosts(dynamodb, held.cursors_table).count,
        again=lambda wake: live_queue("push_events").send_ordered(
            [live_wake_up(wake.run_id, uuid4().hex, hops=wake.hops)]
        ),
        sync=lambda run: our_books(endpoints, deliveries, run),
        admits=door("push_events").remembering(),
        clock=clock,
    )


def socket_of(event: dict[str, Any]) -> Socket:
    """Return whose event of the WebSocket API this is; the authorizer's word goes along."""
    asked = event["requestContext"]
    return Socket(
        connection=asked["connectionId"],
        tenant=asked["authorizer"]["tenant"],
        connected_at=asked["connectedAt"] / 1000,
        asked_at=int(asked["requestTimeEpoch"]),
        key_id=asked["authorizer"].get("key_id", ""),
    )
