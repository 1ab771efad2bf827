"""Bring one endpoint up to date with one run.

Level-triggered: whatever woke us, the events after the cursor are sent in their order, and each
acknowledgement moves the cursor. Messages of one run and endpoint are handled one at a time
(their FIFO group), so two senders meet only when a message outlives its visibility; then the
receiver may see an event twice, with the same `webhook-id`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from standardwebhooks import Webhook

from onward.app.replay_events import cloud_event
from onward.aws.codec import dumps
from onward.aws.webhooks import NoAnswer, TimedOut
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

CONTENT_TYPE: Final = "application/cloudevents+json"
MAX_RECEIVES: Final = 3
"""Tries of one wake-up, as the queue counts them; the template says the same."""

SECONDS: Final = 10.0
"""Within which a receiver answers (Standard Webhooks: 15 to 30; ours must fit a short lease)."""

MARGIN: Final = SECONDS + 3.0
"""Seconds before a function's end at which it begins no further request."""

REST_SECONDS: Final = 20.0
"""How long an endpoint is left alone that ran into its time-out twice in a row: then one request
at a time finds out whether it is back, instead of each waiting run holding a sender."""

LONGEST_WISH: Final = 3600.0
"""Seconds of a `Retry-After` that are believed."""

_PAGE: Final = 100
_PAUSES: Final = (2.0, 10.0)
_GONE: Final = 410
_OK: Final = range(200, 300)
_REDIRECTS: Final = range(300, 400)


@dataclass(frozen=True, slots=True)
class Sender:
    """What delivering takes. `post` sends to an address that was checked, or raises NoAnswer."""

    reader: RunReader
    endpoints: Endpoints
    deliveries: Deliveries
    clock: Callable[[], float]
    post: Callable[[str, dict[str, str], bytes], Reply]


@dataclass(frozen=True, slots=True)
class WakeUp:
    """A message of the queue. `receives` counts it; `last`: it is buried if this try fails.

    `after`: send again from there, though it was acknowledged. `quiet`: a letter about the same
    lies in the dead-letter queue already.
    """

    run_id: str
    tenant: str
    endpoint_id: str
    receives: int = 1
    last: bool = False
    after: int | None = None
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Missed:
    """A try that failed; `wait` in seconds is what the receiver asked for."""

    error: str
    wait: float = 0.0
    slow: bool = False
    gone: bool = False


@dataclass(slots=True)
class _Progress:
    """How far this invocation got."""

    acked: int
    tried: list[Try] = field(default_factory=list)


def deliver(sender: Sender, wake: WakeUp, until: float) -> float | None:
    """Send what is missing; None when done, else the seconds after which to try again.

    Ends before `until` (epoch seconds), with a wish to go on at once where there is more.
    """
    endpoint = sender.endpoints.get(wake.tenant, wake.endpoint_id)
    run = sender.reader.run(wake.run_id)
    if run is None or run.tenant != wake.tenant:
        return None
    delivery = sender.deliveries.get(wake.run_id, wake.endpoint_id)
    if endpoint is None or not endpoint.active:
        if delivery.dead_since is not None:
            sender.deliveries.dismiss(delivery)
        return None
    wait = _not_yet(sender, endpoint, delivery)
    if wait > 0:
        return _failed(sender, wake, delivery, [], Missed("the endpoint is left alone", wait))
    return _catch_up(sender, wake, endpoint, run, delivery, until)


def _catch_up(
    sender: Sender,
    wake: WakeUp,
    endpoint: Endpoint,
    run: Run,
    delivery: Delivery,
    until: float,
) -> float | None:
    progress = _Progress(delivery.acked_seq if wake.after is None else wake.after)
    while events := sender.reader.events(wake.run_id, progress.acked, _PAGE):
        for event in events:
            if sender.clock() + MARGIN >= until:
                unfinished = Missed("more events than one invocation can send")
                return (
                    _failed(sender, wake, delivery, progress.tried, unfinished)
                    if wake.last
                    else 0.0
                )
            missed = _send(sender, endpoint, run, event, progress)
            if missed is not None:
                return _missed(sender, wake, endpoint, delivery, progress, missed)
            progress.acked = event.seq
            if event.seq > run.seq:  # the run went on since its row was read
                run = sender.reader.run(wake.run_id) or run
            if event.seq >= run.seq or _wanted(endpoint, event):
                sender.deliveries.ack(delivery, run, event.seq, progress.tried)
    return None


def _wanted(endpoint: Endpoint, event: Event) -> bool:
    """Whether an endpoint is to hear of an event: not of those from before it was there."""
    return endpoint.wants(event.type) and event.at >= endpoint.created_at


def _send(
    sender: Sender, endpoint: Endpoint, run: Run, event: Event, progress: _Progress
) -> Missed | None:
    """Send one event, if it is wanted; None when that is settled."""
    if not _wanted(endpoint, event):
        return None
    now = sender.clock()
    webhook_id = f"{run.run_id}/{event.seq}/{endpoint.endpoint_id}"
    body = dumps(cloud_event(run.run_id, event))
    headers = {"Content-Type": CONTENT_TYPE, "User-Agent": "onward"}
    missed: Missed | None
    try:
        signed = headers | signature(endpoint, webhook_id, body, now)
        missed = _judge(sender.post(endpoint.url, signed, body.encode()), now)
    except NoAnswer as error:
        missed = Missed(str(error), slow=isinstance(error, TimedOut))
    progress.tried.append(Try(now, event.seq, "acknowledged" if missed is None else missed.error))
    if missed is None:
        count(Metric.DELIVERY_SECONDS, round(max(0.0, sender.clock() - event.at), 3))
    if missed is None and endpoint.timeouts:
        sender.endpoints.answered(endpoint)
    return missed


def signature(endpoint: Endpoint, webhook_id: str, body: str, now: float) -> dict[str, str]:
    """Return the headers of Standard Webhooks: one signature for each key that is valid."""
    # In whole seconds and UTC: sign() reads any other datetime wrongly (release 1.1.0).
    at = datetime.fromtimestamp(int(now), UTC)
    signatures = [Webhook(key).sign(webhook_id, at, body) for key in endpoint.valid_secrets(now)]
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(int(now)),
        "webhook-signature": " ".join(signatures),
    }


def _judge(reply: Reply, now: float) -> Missed | None:
    """Read an answer: 2xx is an acknowledgement, and nothing else is."""
    if reply.status in _OK:
        return None
    if reply.status in _REDIRECTS:
        return Missed(f"answered {reply.status}; redirects are not followed")
    wait = retry_after(reply.headers.get("retry-after", ""), now)
    return Missed(f"answered {reply.status}", wait, gone=reply.status == _GONE)


def retry_after(header: str, now: float) -> float:
    """Return what a `Retry-After` asks for in seconds, 0 for none (RFC 9110, 10.2.3)."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(LONGEST_WISH, float(text[:9]))
    try:
        return min(LONGEST_WISH, max(0.0, parsedate_to_datetime(text).timestamp() - now))
    except (ValueError, TypeError):
        return 0.0


def _not_yet(sender: Sender, endpoint: Endpoint, delivery: Delivery) -> float:
    """Return the seconds for which nothing is sent: the receiver's wish, or the endpoint's rest.

    Of those who wait for the end of a rest the first begins the next one, and tries.
    """
    now = sender.clock()
    wish = (delivery.next_try or now) - now
    if endpoint.resting_until is None or endpoint.timeouts < TIMEOUTS_TO_REST:
        return wish
    rest = endpoint.resting_until - now
    if rest <= 0 and not sender.endpoints.probe(endpoint, now + REST_SECONDS):
        rest = SECONDS  # by then the one that tries has its answer
    return max(wish, rest)


def _missed(
    sender: Sender,
    wake: WakeUp,
    endpoint: Endpoint,
    delivery: Delivery,
    progress: _Progress,
    missed: Missed,
) -> float | None:
    if missed.gone:
        sender.endpoints.disable(endpoint, "answered 410 Gone", sender.clock())
        sender.deliveries.failed(delivery, progress.tried, missed.error, None)
        return None
    if missed.slow:
        sender.endpoints.slowed(endpoint, sender.clock() + REST_SECONDS)
    return _failed(sender, wake, delivery, progress.tried, missed)


def _failed(
    sender: Sender, wake: WakeUp, delivery: Delivery, tried: list[Try], missed: Missed
) -> float | None:
    """Write a failed try down; return when the next one is, or None where none is needed."""
    now = sender.clock()
    pause = max(missed.wait, _PAUSES[min(wake.receives, len(_PAUSES)) - 1])
    wish = now + missed.wait if missed.wait and tried else delivery.next_try
    sender.deliveries.failed(delivery, tried, missed.error, wish)
    if wake.quiet and delivery.dead_since is not None:
        return None
    if wake.last:
        # The message is moved when it would be received a fourth time: at once.
        sender.deliveries.bury(delivery, wake.tenant, now)
        return 0.0
    return pause


def read_wake_up(body: dict[str, Any], receives: int) -> WakeUp:
    """Read a message of the queue."""
    return WakeUp(
        run_id=body["run_id"],
        tenant=body["tenant"],
        endpoint_id=body["endpoint_id"],
        receives=receives,
        last=receives >= MAX_RECEIVES,
        after=body.get("after"),
        quiet=bool(body.get("quiet")),
    )
