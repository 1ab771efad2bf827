"""Ask an address whether it wants webhooks, before the first event is sent there.

    PUT /endpoints/a ─► pending ─► a message for notify
    notify           ─► OPTIONS, WebHook-Request-Origin ─► WebHook-Allowed-Origin: agreed
                                                        └► else again after 1, 2, 4 … minutes
    agreed           ─► whatever waits for it is woken: the events since the PUT

Or anybody could have us flood the server of somebody who never asked for it.
https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md#4-abuse-protection
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.app.delivering.deliver import WakeUp
from onward.app.delivering.post_event import ORIGIN
from onward.aws.endpoints import ASK_AGAIN
from onward.outside.request import NoAnswer

if TYPE_CHECKING:
    from onward.app.delivering.deliver import Sender
    from onward.outside.request import Reply

LONGEST: Final = 3600
GIVE_UP: Final = 86_400
"""Seconds after which an address is asked no more, until somebody puts it again."""

_OK: Final = range(200, 300)


def prove_endpoint(sender: Sender, tenant: str, endpoint_id: str) -> bool | None:
    """Ask, and wake what waits; return whether it agreed, None where there is nobody to ask.

    Safe to repeat: one that has agreed already is not asked, but what waits for it is woken.
    """
    endpoint = sender.endpoints.get(tenant, endpoint_id)
    if endpoint is None or not endpoint.active:
        return None
    if endpoint.pending:
        because = _asked(sender, endpoint.url)
        if because is not None:
            passed = sender.clock() - (endpoint.pending_since or 0.0)
            wait = min(LONGEST, max(ASK_AGAIN, int(passed)))
            again = None if passed >= GIVE_UP else int(sender.clock()) + wait
            sender.endpoints.disagreed(endpoint, because, again)
            return False
        if not sender.endpoints.agreed(endpoint):
            return None  # it is another address by now, which has a message of its own
    for delivery in sender.deliveries.waiting(tenant, endpoint_id):
        sender.again(WakeUp(delivery.run_id, tenant, endpoint_id))
    return True


def _asked(sender: Sender, url: str) -> str | None:
    """Return why an address did not agree; None if it did."""
    try:
        reply = sender.greet(url, {"WebHook-Request-Origin": ORIGIN, "User-Agent": "onward"})
    except NoAnswer as error:
        return str(error)
    return None if agrees(reply) else f"answered {reply.status} without WebHook-Allowed-Origin"


def agrees(reply: Reply) -> bool:
    """Whether an answer to the question allows us, or everybody, to send webhooks."""
    allowed = reply.headers.get("webhook-allowed-origin", "").strip().lower()
    return reply.status in _OK and allowed in {"*", ORIGIN}
