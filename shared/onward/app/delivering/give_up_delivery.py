"""What becomes of a wake-up that could not be delivered: later, in another lane, or dead.

After three failed requests about one event a delivery is dead:

    request fails ─► count it on the row: 3 ─► dead letter ─► mark the row ─► let the message go

A crash in between gives a second letter, never none. Then the receiver is left in peace: one
further request each time the run goes on or the patrol looks, three when an operator redrives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from onward.domain.delivery import LAST_RECEIVES, LONGEST_REST, REST_SECONDS, SLOW_SECONDS, TRIES
from onward.metrics import Metric, count

if TYPE_CHECKING:
    from onward.app.delivering.deliver import Progress, Sender, WakeUp
    from onward.app.delivering.post_event import Missed
    from onward.domain.delivery import Delivery, Endpoint
    from onward.domain.model import Run

_PAUSES: Final = (2.0, 10.0)
"""Seconds after the first and the second failed request."""


def missed(sender: Sender, wake: WakeUp, progress: Progress, failed: Missed) -> float | None:
    """Count a failed request; return when the next one is, or None where none is needed."""
    now = sender.clock()
    delivery, endpoint = progress.delivery, progress.endpoint
    next_try = now + failed.wait if failed.wait else delivery.next_try
    tries = sender.deliveries.failed(delivery, progress.tried, failed.error, next_try)
    if failed.gone:
        if sender.endpoints.disable(endpoint, "answered 410 Gone", now):
            count(Metric.ENDPOINTS_DISABLED)
    elif failed.slow:
        _slowed(sender, wake, endpoint, now)
    if failed.gone or tries >= TRIES:
        dead(sender, wake, delivery, progress.run)
        return None
    if failed.slow and not wake.slow:
        sender.again(wake.onward(slow=True))
        return None
    return max(failed.wait, _PAUSES[max(0, tries - 1)])


def _slowed(sender: Sender, wake: WakeUp, endpoint: Endpoint, now: float) -> None:
    """Note that an endpoint did not answer in the time of its lane."""
    if not wake.slow:
        sender.endpoints.set_aside(endpoint, now + SLOW_SECONDS)
        return
    rest = min(LONGEST_REST, REST_SECONDS * 2.0 ** max(0, endpoint.timeouts - 1))
    sender.endpoints.slowed(endpoint, now + rest, now + SLOW_SECONDS)


def put_off(sender: Sender, wake: WakeUp, progress: Progress, wait: float) -> float | None:
    """Let a wake-up wait for a receiver that wished so, or is left alone; that is no failed try.

    Unless the endpoint hangs on and on: then somebody is to hear of everything that waits for it.
    """
    if progress.endpoint.timeouts >= TRIES and wake.receives >= TRIES:
        dead(sender, wake, progress.delivery, progress.run)
        return None
    if wake.receives >= LAST_RECEIVES:
        sender.again(wake.onward())
        return None
    return wait


def refused(
    sender: Sender, wake: WakeUp, endpoint: Endpoint | None, delivery: Delivery, run: Run
) -> None:
    """Let a wake-up go whose endpoint is sent nothing.

    What waits for an endpoint to agree is parked already. What a disabled one did not hear is
    dead until somebody decides: nobody downstream has heard it.
    """
    if endpoint is None:
        if delivery.dead_since is not None:
            sender.deliveries.dismiss(delivery)
    elif not endpoint.active and not (delivery.covers(run) or delivery.is_at_rest(run)):
        dead(sender, wake, delivery, run)


def dead(sender: Sender, wake: WakeUp, delivery: Delivery, run: Run) -> None:
    """Put a wake-up among the dead letters, then mark its delivery; one letter is enough."""
    if delivery.dead_seq is None:
        sender.letter(replace(wake, retry=False))
    sender.deliveries.bury(delivery, wake.tenant, sender.clock(), run.seq)
