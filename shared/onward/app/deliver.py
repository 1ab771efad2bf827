"""Bring one endpoint up to date with one run.

Level-triggered: whatever woke us, the events after the cursor are sent in their order, and each
acknowledgement moves the cursor. Messages of one run and endpoint are handled one at a time
(their FIFO group), so two senders meet only when a message outlives its visibility, or when one
is in each lane; then the receiver may see an event twice, with the same `webhook-id`.

An endpoint that does not answer at once goes on in a lane of its own, where there is more time:

    quick lane   post, no answer in 1 s ─► mark the endpoint slow ─► a message for the slow lane
                 an endpoint that is marked: the message is passed on, and nobody waits
    slow lane    post, up to 15 s; after two time-outs in a row one sender at a time

So whoever hangs costs the others one second of a few senders, once. A message counts how often it
was received, and a delivery how often it was tried: one that was only put off, or has more to send
than one invocation can, goes on as a fresh message instead of among the dead letters.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from onward.app.post_event import Missed, post_event
from onward.domain.delivery import TIMEOUTS_TO_REST, Try
from onward.metrics import Metric, count

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.aws.deliveries import Deliveries
    from onward.aws.endpoints import Endpoints
    from onward.aws.run_reader import RunReader
    from onward.aws.webhooks import Reply
    from onward.domain.delivery import Delivery, Endpoint
    from onward.domain.model import Event, Run

MAX_RECEIVES: Final = 3
"""Tries of one wake-up, as its queue counts them; the template says the same."""

QUICK_SECONDS: Final = 1.0
"""Within which most receivers answer: longer than that nobody may keep a sender of all."""

SECONDS: Final = 15.0
"""Within which a receiver has to answer (Standard Webhooks: 15 to 30)."""

MARGIN: Final = SECONDS + 3.0
"""Seconds before a function's end at which it begins no further request."""

SLOW_SECONDS: Final = 600.0
"""How long an endpoint stays in the slow lane without having been slow again."""

REST_SECONDS: Final = 20.0
"""How long an endpoint is left alone that ran into its time-out twice in a row: then one request
at a time finds out whether it is back, instead of each waiting run holding a sender. Twice as long
after each further time-out."""

LONGEST_REST: Final = 300.0

_PAGE: Final = 100
_PAUSES: Final = (2.0, 10.0)


@dataclass(frozen=True, slots=True)
class Sender:
    """What delivering takes.

    `post` sends to an address that was checked, within some seconds, or raises NoAnswer; `again`
    puts a wake-up into the queue of its lane, as a fresh message.
    """

    reader: RunReader
    endpoints: Endpoints
    deliveries: Deliveries
    clock: Callable[[], float]
    post: Callable[[str, dict[str, str], bytes, float], Reply]
    again: Callable[[WakeUp], None]


@dataclass(frozen=True, slots=True)
class WakeUp:
    """A message of the queue. `receives` counts it; `last`: it is buried if this try fails.

    `after`: send again from there, though it was acknowledged. `slow`: it came by the slow lane.
    """

    run_id: str
    tenant: str
    endpoint_id: str
    receives: int = 1
    last: bool = False
    after: int | None = None
    slow: bool = False


@dataclass(slots=True)
class _Progress:
    """How far this invocation got, and what it knows of the endpoint by now."""

    endpoint: Endpoint
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
    if endpoint is None or not endpoint.active:
        if delivery.dead_since is not None:
            sender.deliveries.dismiss(delivery)
        return None
    if endpoint.slow(sender.clock()) and not wake.slow:
        sender.again(replace(wake, slow=True))
        return None
    wait = _not_yet(sender, endpoint, delivery)
    if wait > 0:
        left_alone = Missed("the endpoint is left alone", wait)
        return _failed(sender, wake, endpoint, delivery, [], left_alone)
    return _catch_up(sender, wake, endpoint, run, delivery, until)


def _catch_up(
    sender: Sender,
    wake: WakeUp,
    endpoint: Endpoint,
    run: Run,
    delivery: Delivery,
    until: float,
) -> float | None:
    progress = _Progress(endpoint, delivery.acked_seq if wake.after is None else wake.after)
    while events := sender.reader.events(wake.run_id, progress.acked, _PAGE):
        for event in events:
            if sender.clock() + MARGIN >= until:
                # A filter may pass over more events than one invocation can read.
                if progress.acked > delivery.acked_seq:
                    sender.deliveries.ack(delivery, run, progress.acked, progress.tried)
                sender.again(_from(wake, progress))
                return None
            missed = _send(sender, wake, event, progress)
            if missed is not None:
                return _missed(sender, wake, delivery, progress, missed)
            progress.acked = event.seq
            if event.seq > run.seq:  # the run went on since its row was read
                run = sender.reader.run(wake.run_id) or run
            if event.seq >= run.seq or _wanted(endpoint, event):
                sender.deliveries.ack(delivery, run, event.seq, progress.tried)
                if event.seq > delivery.acked_seq:
                    delivery = _acknowledged(delivery, event.seq)
    if delivery.dead_since is not None:
        sender.deliveries.dismiss(delivery)
    return None


def _acknowledged(delivery: Delivery, seq: int) -> Delivery:
    """Return a delivery as it is after an acknowledgement: there was no try at the next event.

    That it had been given up stays known until the end is heard, so that somebody looks again.
    """
    return replace(delivery, acked_seq=seq, attempts=0, next_try=None, dead_since=None)


def _from(wake: WakeUp, progress: _Progress) -> WakeUp:
    """Return a wake-up that goes on where this one got to."""
    return wake if wake.after is None else replace(wake, after=progress.acked)


def _wanted(endpoint: Endpoint, event: Event) -> bool:
    """Whether an endpoint is to hear of an event: not of those from before it was there."""
    return endpoint.wants(event.type) and event.at >= endpoint.created_at


def _send(sender: Sender, wake: WakeUp, event: Event, progress: _Progress) -> Missed | None:
    """Send one event, if it is wanted; None when that is settled."""
    endpoint = progress.endpoint
    if not _wanted(endpoint, event):
        return None
    began = sender.clock()
    seconds = SECONDS if wake.slow else QUICK_SECONDS
    missed = post_event(sender.post, endpoint, wake.run_id, event, began, seconds)
    progress.tried.append(Try(began, event.seq, "acknowledged" if missed is None else missed.error))
    now = sender.clock()
    if missed is None:
        count(Metric.DELIVERY_SECONDS, round(max(0.0, now - event.at), 3))
        progress.endpoint = _answered(sender, endpoint, now - began, now)
    elif now - began >= seconds:
        missed = replace(missed, slow=True)  # a name that is looked up for ever, say
    return missed


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


def _missed(
    sender: Sender, wake: WakeUp, delivery: Delivery, progress: _Progress, missed: Missed
) -> float | None:
    endpoint = progress.endpoint
    if missed.gone:
        sender.endpoints.disable(endpoint, "answered 410 Gone", sender.clock())
        sender.deliveries.failed(delivery, progress.tried, missed.error, None)
        return None
    now = sender.clock()
    if missed.slow and not wake.slow:
        sender.endpoints.set_aside(endpoint, now + SLOW_SECONDS)
        sender.deliveries.failed(delivery, progress.tried, missed.error, delivery.next_try)
        sender.again(replace(_from(wake, progress), slow=True))
        return None
    if missed.slow:
        rest = min(LONGEST_REST, REST_SECONDS * 2.0 ** max(0, endpoint.timeouts - 1))
        sender.endpoints.slowed(endpoint, now + rest, now + SLOW_SECONDS)
    return _failed(sender, wake, endpoint, delivery, progress.tried, missed)


def _failed(
    sender: Sender,
    wake: WakeUp,
    endpoint: Endpoint,
    delivery: Delivery,
    tried: list[Try],
    missed: Missed,
) -> float | None:
    """Write a failed try down; return when the next one is, or None where none is needed.

    What was only put off is no failure, unless the endpoint hangs on and on: then somebody is to
    hear of everything that waits for it.
    """
    now = sender.clock()
    tries = delivery.attempts + bool(tried)
    if tried:
        wish = now + missed.wait if missed.wait else delivery.next_try
        sender.deliveries.failed(delivery, tried, missed.error, wish)
    if not wake.last:
        return max(missed.wait, _PAUSES[min(wake.receives, len(_PAUSES)) - 1])
    if delivery.dead_since is not None and delivery.given_up is None:
        return None  # its letter is there already: one is enough, whoever else woke
    if tries < MAX_RECEIVES and (tried or endpoint.timeouts < MAX_RECEIVES):
        sender.again(wake)
        return None
    # The message is moved when it would be received a fourth time: at once.
    sender.deliveries.bury(delivery, wake.tenant, now)
    return 0.0


def bury(sender: Sender, wake: WakeUp) -> None:
    """Note that a wake-up is about to be buried whose delivery failed for a reason of our own."""
    delivery = sender.deliveries.get(wake.run_id, wake.endpoint_id)
    sender.deliveries.bury(delivery, wake.tenant, sender.clock())


def read_wake_up(body: dict[str, Any], receives: int, *, slow: bool) -> WakeUp:
    """Read a message of one of the two queues."""
    return WakeUp(
        run_id=body["run_id"],
        tenant=body["tenant"],
        endpoint_id=body["endpoint_id"],
        receives=receives,
        last=receives >= MAX_RECEIVES,
        after=body.get("after"),
        slow=slow,
    )
