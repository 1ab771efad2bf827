"""Put delivery together; apart from `compose`, whose imports every handler pays for."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from onward.app.delivering.ask_status import ask_status, reply_of
from onward.app.delivering.deliver import SECONDS, Sender, WakeUp
from onward.app.delivering.downstream import Downstream
from onward.app.delivering.publish_outbox import Outlets
from onward.app.delivering.wake_notify import Subscribers, wake_up
from onward.aws.clients import client
from onward.aws.deliveries import Deliveries
from onward.aws.endpoint_secrets import EndpointSecrets
from onward.aws.endpoints import Endpoints
from onward.aws.functions import Function, FunctionFailed
from onward.aws.queues import Message, Queue
from onward.aws.run_reader import RunReader
from onward.compose import bell, live_queue, start_queue
from onward.outside.request import NoAnswer, request
from onward.settings import settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.domain.delivery import Endpoint
    from onward.outside.request import Reply
    from onward.settings import Settings


@cache
def outlets() -> Outlets:
    """Return where the outbox leads."""
    held = settings("publish_outbox")
    return Outlets(
        start=start_queue("publish_outbox"),
        notify=Queue(client("sqs"), held.notify_queue_url),
        notify_slow=Queue(client("sqs"), held.notify_slow_url),
        live=live_queue("publish_outbox"),
        subscribers=Subscribers(Endpoints(client("dynamodb"), held.runs_table), time.time),
    )


@cache
def sender() -> Sender:
    """Return what delivers."""
    held, dynamodb = settings("notify"), client("dynamodb")
    local, ports = held.allows_local, held.allowed_ports
    return Sender(
        reader=RunReader(dynamodb, held.runs_table),
        endpoints=_with_secrets(held),
        deliveries=Deliveries(dynamodb, held.runs_table),
        clock=time.time,
        post=lambda url, headers, body, seconds: request(
            "POST", url, headers, body, seconds=seconds, local=local, ports=ports
        ),
        greet=lambda url, headers: request(
            "OPTIONS", url, headers, seconds=SECONDS, local=local, ports=ports
        ),
        again=lambda wake: lane(slow=wake.slow).send_ordered([_message(wake, uuid4().hex)]),
        # One that is sent twice because of a death in between is one letter for five minutes.
        letter=lambda wake: Queue(client("sqs"), held.notify_dead_url).send_ordered(
            [_message(replace(wake, hops=0), wake.message_id)]
        ),
    )


@cache
def lane(*, slow: bool) -> Queue:
    """Return one of the two queues that notify reads."""
    held = settings("notify")
    return Queue(client("sqs"), held.notify_slow_url if slow else held.notify_queue_url)


def is_slow(source: str) -> bool:
    """Whether a queue's ARN is that of the slow lane."""
    return source.rsplit(":", 1)[-1] == settings("notify").notify_slow_url.rsplit("/", 1)[-1]


def _message(wake: WakeUp, once: str) -> Message:
    """Return a wake-up as a message, with what it is about."""
    told = {"after": wake.after, "retry": wake.retry or None, "hops": wake.hops or None}
    said = {name: value for name, value in told.items() if value is not None}
    return wake_up(wake.run_id, wake.tenant, wake.endpoint_id, once, **said)


@cache
def downstream(function: str) -> Downstream:
    """Return what is known of those who listen."""
    held, dynamodb = settings(function), client("dynamodb")
    local, ports = held.allows_local, held.allowed_ports
    return Downstream(
        endpoints=_with_secrets(held),
        deliveries=Deliveries(dynamodb, held.runs_table),
        bell=bell(function),
        dead=lambda: Queue(client("sqs"), held.notify_dead_url),
        ask=_asked,
        clock=time.time,
        local=local,
        ports=ports,
    )


def status_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Ask an endpoint how far it has got, for `http_api`, which cannot read what signs that."""
    held = settings("notify")
    local, ports = held.allows_local, held.allowed_ports

    def get(url: str, headers: dict[str, str], seconds: float) -> Reply:
        return request("GET", url, headers, seconds=seconds, local=local, ports=ports)

    return ask_status(sender().endpoints, get, time.time(), asked)


def _asked(endpoint: Endpoint, run_id: str, seconds: float) -> Reply:
    """Have `notify` ask an endpoint; raises NoAnswer."""
    notify = Function(lambda: client("lambda"), settings("http_api").notify_function)
    about = {"tenant": endpoint.tenant, "endpoint_id": endpoint.endpoint_id, "run_id": run_id}
    try:
        return reply_of(notify.invoke({"ask": about | {"seconds": seconds}}))
    except FunctionFailed as error:
        raise NoAnswer(str(error)) from error


def _with_secrets(held: Settings) -> Endpoints:
    """Return endpoints for those who make them or sign for them; the policies say which."""
    dynamodb = client("dynamodb")
    return Endpoints(dynamodb, held.runs_table, EndpointSecrets(dynamodb, held.access_table))
