"""Put delivery together; apart from `compose`, whose imports every handler pays for."""

from __future__ import annotations

import time
from functools import cache

from onward.app.deliver import SECONDS, Sender
from onward.app.downstream import Downstream
from onward.app.publish_outbox import Outlets
from onward.app.wake_notify import Subscribers
from onward.aws.clients import client
from onward.aws.deliveries import Deliveries
from onward.aws.endpoints import Endpoints
from onward.aws.queues import Queue
from onward.aws.run_reader import RunReader
from onward.aws.webhooks import request
from onward.compose import bell, live_queue, start_queue
from onward.settings import settings


@cache
def outlets() -> Outlets:
    """Return where the outbox leads."""
    held = settings("publish_outbox")
    return Outlets(
        start=start_queue("publish_outbox"),
        notify=Queue(client("sqs"), held.notify_queue_url),
        live=live_queue("publish_outbox"),
        subscribers=Subscribers(Endpoints(client("dynamodb"), held.runs_table), time.time),
    )


@cache
def sender() -> Sender:
    """Return what delivers."""
    held, dynamodb = settings("notify"), client("dynamodb")
    local = held.allows_local
    return Sender(
        reader=RunReader(dynamodb, held.runs_table),
        endpoints=Endpoints(dynamodb, held.runs_table),
        deliveries=Deliveries(dynamodb, held.runs_table),
        clock=time.time,
        post=lambda url, headers, body: request(
            "POST", url, headers, body, seconds=SECONDS, local=local
        ),
    )


@cache
def notify_queue() -> Queue:
    """Return the queue that notify reads."""
    return Queue(client("sqs"), settings("notify").notify_queue_url)


@cache
def downstream(function: str) -> Downstream:
    """Return what is known of those who listen."""
    held, dynamodb = settings(function), client("dynamodb")
    local = held.allows_local
    return Downstream(
        endpoints=Endpoints(dynamodb, held.runs_table),
        deliveries=Deliveries(dynamodb, held.runs_table),
        bell=bell(function),
        dead=lambda: Queue(client("sqs"), held.notify_dead_url),
        get=lambda url, headers, seconds: request(
            "GET", url, headers, seconds=seconds, local=local
        ),
        clock=time.time,
        local=local,
    )
