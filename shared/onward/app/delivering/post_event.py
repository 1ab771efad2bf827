"""One event to one endpoint: signed, posted, and its answer read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from standardwebhooks import Webhook

from onward.app.reading.replay_events import cloud_event
from onward.aws.codec import dumps
from onward.domain.retry_after import retry_after
from onward.outside.request import NoAnswer, TimedOut

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.domain.delivery import Endpoint
    from onward.domain.model import Event
    from onward.outside.request import Reply

ORIGIN: Final = "onward"
"""Who asks an address whether it wants webhooks, and then sends them (CloudEvents HTTP, 4.1)."""

CONTENT_TYPE: Final = "application/cloudevents+json"

LONGEST_WISH: Final = 3600.0
"""Seconds of a `Retry-After` that are believed."""

_GONE: Final = 410
_OK: Final = range(200, 300)
_REDIRECTS: Final = range(300, 400)


@dataclass(frozen=True, slots=True)
class Missed:
    """A try that failed; `wait` in seconds is what the receiver asked for."""

    error: str
    wait: float = 0.0
    slow: bool = False
    gone: bool = False


def post_event(
    post: Callable[[str, dict[str, str], bytes, float], Reply],
    endpoint: Endpoint,
    run_id: str,
    event: Event,
    now: float,
    seconds: float,
    trace: dict[str, str],
) -> Missed | None:
    """Send an event within some seconds; None when it was acknowledged.

    Its `webhook-id` is the same at every try, so a receiver can tell what it has had. The trace of
    whoever submitted the run goes with it, as headers and as attributes of the event (CloudEvents'
    Distributed Tracing extension).
    """
    webhook_id = f"{run_id}/{event.seq}/{endpoint.endpoint_id}"
    body = dumps(cloud_event(run_id, event) | trace)
    headers = {**trace, "Content-Type": CONTENT_TYPE, "User-Agent": "onward", "Origin": ORIGIN}
    try:
        signed = headers | signature(endpoint, webhook_id, body, now)
        return _judge(post(endpoint.url, signed, body.encode(), seconds), now)
    except NoAnswer as error:
        return Missed(str(error), slow=isinstance(error, TimedOut))


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
    wait = retry_after(reply.headers.get("retry-after", ""), now, LONGEST_WISH)
    return Missed(f"answered {reply.status}", wait, gone=reply.status == _GONE)
