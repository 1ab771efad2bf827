"""Bring one endpoint up to date with one run.

Level-triggered: whatever woke us, the events after the cursor are sent in their order, and each
acknowledgement moves the cursor. Messages of one run and endpoint are handled one at a time
(their FIFO group), so two senders meet only when a message outlives its visibility, or when one
is in each lane; then the receiver may see an event twice, with the same `webhook-id`.

An endpoint that does not answer at once goes on in a lane of its own, where there is more time:

    quick lane   post, no answer in 1 s ─► mark the endpoint slow ─► a message for the slow lane
                 an endpoint that is marked: the message is passed on, and nobody waits
    slow lane    post, up to 15 s; after two time-outs in a row one sender at a time

So whoever hangs costs the others one second of a few senders, once. What has more to send than
one invocation can, goes on as a fresh message: a chain that gets on in the log with each hop, and
is bounded by the log's length (`most_hops`). Tries are counted on the delivery's row, never by
how often the queue handed a message out: a refused invocation is no failed request.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from onward.app.delivering.give_up_delivery import dead, missed, put_off, refused
from onward.app.delivering.post_event import Missed, post_event
from onward.domain.delivery import (
    LAST_RECEIVES,
    REST_SECONDS,
    SLOW_SECONDS,
    TIMEOUTS_TO_REST,
    Try,
    most_hops,
)
from onward.domain.trace import trace_of
from onward.metrics import Metric, count

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.aws.deliveries import Deliveries
    from onward.aws.endpoints import Endpoints
    from onward.aws.run_reader import RunReader
    from onward.domain.delivery import Delivery, Endpoint
    from onward.domain.model import Event, Run
    from onward.outside.request import Reply

QUICK_SECONDS: Final = 1.0
"""Within which most receivers answer: longer than that nobody may keep a sender of all."""

SECONDS: Final = 15.0
"""Within which a receiver has to answer (Standard Webhooks: 15 to 30)."""

MARGIN: Final = SECONDS + 3.0
"""Seconds before a function's end at which it begins no further request."""

_PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class Sender:
    """What delivering takes.

    `post` sends to an address that was checked, within some seconds, or raises NoAnswer; `greet`
    asks there whether webhooks are welcome. `again` puts a wake-up into the queue of its lane, as
    a fresh message; `letter` puts one among the dead letters.
    """

    reader: RunReader
    endpoints: Endpoints
    deliveries: Deliveries
    clock: Callable[[], float]
    post: Callable[[str, dict[str, str], bytes, float], Reply]
    greet: Callable[[str, dict[str, str]], Reply]
    again: Callable[[WakeUp], None]
    letter: Callable[[WakeUp], None]


@dataclass(frozen=True, slots=True)
class WakeUp:
    """A message of the queue.

    `receives` counts how often it was handed out, `hops` how often it was passed on as a fresh
    one; `message_id` tells it from others. `after`: send again from there, though it was
    acknowledged. `slow`: it came by the slow lane. `retry`: ask once more, though the delivery is
    dead.
    """

    run_id: str
    tenant: str
    endpoint_id: str
    receives: int = 1
    after: int | None = None
    slow: bool = False
    retry: bool = False
    hops: int = 0
    message_id: str = ""

    def onward(self, **changes: Any) -> WakeUp:
        """Return what is passed on in its place, as a fresh message."""
        return replace(self, receives=1, hops=self.hops + 1, **changes)


@dataclass(slots=True)
class Progress:
    """How far this invocation got, and what it knows of the endpoint by now."""

    endpoint: Endpoint
    run: Run
    delivery: Delivery
    acked: int
    tried: list[Try] = field(default_factory=list)


def deliver(sender: Sender, wake: WakeUp, until: float) -> float | None:
    """Send what is missing; None when done, else the seconds after which to try again.

    Ends before `until` (epoch seconds); what is left by then goes on as a fresh message.
    """
    endpoint = sender.endpoints.signed(wake.tenant, wake.endpoint_id)
    run = sender.reader.run(wake.run_id)
    if run is None or run.tenant != wake.tenant:
        return None
    delivery = sender.deliveries.get(wake.run_id, wake.endpoint_id)
    if endpoint is not None and endpoint.pending:
        sender.deliveries.park(delivery, wake.tenant, sender.clock())
        # It may have agreed before that was written, and then nobody looks there again.
        endpoint = sender.endpoints.signed(wake.tenant, wake.endpoint_id)
    if endpoint is None or not endpoint.reachable:
        refused(sender, wake, endpoint, delivery, run)
    elif wake.hops > most_hops(run):
        dead(sender, wake, delivery, run)
    elif wake.retry or not delivery.is_at_rest(run):
        return _begin(sender, wake, Progress(endpoint, run, delivery, delivery.acked_seq), until)
    return None


def _begin(sender: Sender, wake: WakeUp, progress: Progress, until: float) -> float | None:
    """Send, unless another lane is to, or nothing may be sent yet."""
    endpoint, delivery, now = progress.endpoint, progress.delivery, sender.clock()
    if endpoint.slow(now) and not wake.slow:
        sender.again(wake.onward(slow=True))
        return None
    wait = _not_yet(sender, endpoint, delivery)
    if wait > 0:
        return put_off(sender, wake, progress, wait)
    if wake.receives >= LAST_RECEIVES:
        sender.deliveries.bury(delivery, wake.tenant, now)
        progress.delivery = replace(delivery, dead_since=delivery.dead_since or int(now))
    if wake.after is not None:
        progress.acked = wake.after
    return _catch_up(sender, wake, progress, until)


def _catch_up(sender: Sender, wake: WakeUp, progress: Progress, until: float) -> float | None:
    while events := sender.reader.events(wake.run_id, progress.acked, _PAGE):
        for event in events:
            if sender.clock() + MARGIN >= until:
                _go_on_later(sender, wake, progress)
                return None
            if _wanted(progress.endpoint, event):
                if not _still_there(sender, progress):
                    sender.again(_from(wake, progress).onward())
                    return None
                failed = _send(sender, wake, event, progress)
                if failed is not None:
                    return missed(sender, _from(wake, progress), progress, failed)
            progress.acked = event.seq
            _acknowledge(sender, event, progress)
    if progress.delivery.dead_since is not None:
        sender.deliveries.dismiss(progress.delivery)
    return None


def _go_on_later(sender: Sender, wake: WakeUp, progress: Progress) -> None:
    """Leave the rest to a fresh message; a filter may pass over more than one invocation reads."""
    if progress.acked > progress.delivery.acked_seq:
        sender.deliveries.ack(progress.delivery, progress.run, progress.acked, progress.tried)
    sender.again(_from(wake, progress).onward())


def _acknowledge(sender: Sender, event: Event, progress: Progress) -> None:
    """Move the cursor over an event, unless nobody wanted it and more comes behind.

    That it had been given up stays known until the end is heard, so that somebody looks again.
    """
    if event.seq > progress.run.seq:  # the run went on since its row was read
        progress.run = sender.reader.run(progress.run.run_id) or progress.run
    if event.seq < progress.run.seq and not _wanted(progress.endpoint, event):
        return
    delivery = progress.delivery
    sender.deliveries.ack(delivery, progress.run, event.seq, progress.tried)
    if event.seq > delivery.acked_seq:
        # There was no try at the next event.
        known: dict[str, Any] = dict.fromkeys(("next_try", "dead_since", "dead_seq"))
        progress.delivery = replace(delivery, acked_seq=event.seq, attempts=0, **known)


def _from(wake: WakeUp, progress: Progress) -> WakeUp:
    """Return a wake-up that goes on where this one got to."""
    return wake if wake.after is None else replace(wake, after=progress.acked)


def _still_there(sender: Sender, progress: Progress) -> bool:
    """Read the endpoint again before each further request: one that was deleted hears no more."""
    if progress.tried:
        known = progress.endpoint
        found = sender.endpoints.get(known.tenant, known.endpoint_id)
        if found is None or not found.reachable:
            return False
        progress.endpoint = replace(found, secrets=known.secrets)
    return True


def _wanted(endpoint: Endpoint, event: Event) -> bool:
    """Whether an endpoint is to hear of an event: not of those from before it was there."""
    return endpoint.wants(event.type) and event.at >= endpoint.created_at


def _send(sender: Sender, wake: WakeUp, event: Event, progress: Progress) -> Missed | None:
    """Send one event; None when it was acknowledged."""
    endpoint = progress.endpoint
    began = sender.clock()
    seconds = SECONDS if wake.slow else QUICK_SECONDS
    trace = trace_of(progress.run)
    failed = post_event(sender.post, endpoint, wake.run_id, event, began, seconds, trace)
    progress.tried.append(Try(began, event.seq, "acknowledged" if failed is None else failed.error))
    now = sender.clock()
    if failed is None:
        count(Metric.DELIVERY_SECONDS, round(max(0.0, now - event.at), 3))
        progress.endpoint = _answered(sender, endpoint, now - began, now)
    elif now - began >= seconds:
        failed = replace(failed, slow=True)  # a name that is looked up for ever, say
    return failed


def _answered(sender: Sender, endpoint: Endpoint, took: float, now: float) -> Endpoint:
    """Forget that an endpoint hung, and note that it was slow; written only where that is new.

    One quick answer makes no quick endpoint: a repetition is quickly told to be one. The mark
    runs out by itself.
    """
    slow_until = endpoint.slow_until
    if took >= QUICK_SECONDS and not endpoint.slow(now + SLOW_SECONDS / 2):
        slow_until = now + SLOW_SECONDS
    known = replace(endpoint, timeouts=0, resting_until=None, slow_until=slow_until)
    if endpoint.timeouts or slow_until != endpoint.slow_until:
        sender.endpoints.answered(known)
    return known


def _not_yet(sender: Sender, endpoint: Endpoint, delivery: Delivery) -> float:
    """Return the seconds for which nothing is sent: the receiver's wish, or the endpoint's rest.

    Of those who wait for the end of a rest the first begins the next one, and tries.
    """
    now = sender.clock()
    wish = (delivery.next_try or now) - now
    if wish > 0 or endpoint.timeouts < TIMEOUTS_TO_REST:
        return wish
    rest = (endpoint.resting_until or now) - now
    if rest <= 0 and not sender.endpoints.probe(endpoint, now + REST_SECONDS):
        return SECONDS  # by then the one that tries has its answer
    return rest


def read_wake_up(
    body: dict[str, Any], receives: int = 1, message_id: str = "", *, slow: bool
) -> WakeUp:
    """Read a message of one of the two queues."""
    return WakeUp(
        run_id=body["run_id"],
        tenant=body["tenant"],
        endpoint_id=body["endpoint_id"],
        receives=receives,
        after=body.get("after"),
        slow=slow,
        retry=body.get("retry", False),
        hops=body.get("hops", 0),
        message_id=message_id,
    )
