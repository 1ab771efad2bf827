"""Put delivery together; apart from `compose`, whose imports every handler pays for."""

from __future__ import annotations

import time
from functools import cache
from uuid import uuid4

from onward.app.deliver import Sender, WakeUp
from onward.app.downstream import Downstream
from onward.app.publish_outbox import Outlets
from onward.app.wake_notify import Subscribers, wake_up
from onward.aws.clients import client
from onward.aws.deliveries import Deliveries
from onward.aws.endpoints import Endpoints
from onward.aws.queues import Message, Queue
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
        notify_slow=Queue(client("sqs"), held.notify_slow_url),
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
        post=lambda url, headers, body, seconds: request(
            "POST", url, headers, body, seconds=seconds, local=local
        ),
        again=lambda wake: lane(slow=wake.slow).send_ordered([_again(wake)]),
    )


@cache
def lane(*, slow: bool) -> Queue:
    """Return one of the two queues that notify reads."""
    held = settings("notify")
    return Queue(client("sqs"), held.notify_slow_url if slow else held.notify_queue_url)


def is_slow(source: str) -> bool:
    """Whether a queue's ARN is that of the slow lane."""
    return source.rsplit(":", 1)[-1] == settings("notify").notify_slow_url.rsplit("/", 1)[-1]


def _again(wake: WakeUp) -> Message:
    """Return a wake-up as a message under a fresh id, with what it is about."""
    said = {} if wake.after is None else {"after": wake.after}
    return wake_up(wake.run_id, wake.tenant, wake.endpoint_id, uuid4().hex, **said)


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
