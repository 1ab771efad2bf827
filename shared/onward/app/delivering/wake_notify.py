"""Wake the deliveries of a run: one message an endpoint, and none where nobody listens.

A message is only a wake-up, "bring this endpoint up to date with this run", so it may come
twice, late or out of order. What makes it unique comes from the stream alone: `run/seq/endpoint`.
Whoever else wakes uses fresh ids, which the queue's five minutes of memory do not swallow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from onward.aws.queues import Message
from onward.domain.delivery import concerned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onward.aws.endpoints import Endpoints
    from onward.aws.queues import Queue
    from onward.domain.delivery import Endpoint
    from onward.domain.model import Run

KEPT_SECONDS: Final = 3.0
"""How long a publisher goes on without an endpoint that was added meanwhile; the patrol, and a
run's next event, make up for it."""

_KEPT: Final = 1000


@dataclass(slots=True)
class Subscribers:
    """A tenant's active endpoints, remembered for a few seconds."""

    endpoints: Endpoints
    clock: Callable[[], float]
    _known: dict[str, tuple[float, list[Endpoint]]] = field(default_factory=dict)

    def of(self, tenant: str) -> list[Endpoint]:
        """Return whom a tenant's runs are told to."""
        now = self.clock()
        known = self._known.get(tenant)
        if known is not None and now < known[0] + KEPT_SECONDS:
            return known[1]
        found = [endpoint for endpoint in self.endpoints.of(tenant) if endpoint.active]
        if len(self._known) >= _KEPT:
            self._known.clear()
        self._known[tenant] = (now, found)
        return found


@dataclass(frozen=True, slots=True)
class Bell:
    """Who wakes deliveries directly, beside the stream: at an end, the patrol, an operator."""

    endpoints: Endpoints
    queue: Callable[[], Queue]
    new_id: Callable[[], str]

    def ring(self, run: Run, endpoints: Iterable[Endpoint], **said: Any) -> None:
        """Wake the delivery of a run to these endpoints."""
        messages = [
            wake_up(run.run_id, run.tenant, endpoint.endpoint_id, self.new_id(), **said)
            for endpoint in endpoints
        ]
        if messages:
            self.queue().send_ordered(messages)

    def ended(self, run: Run) -> None:
        """Wake everybody who is to hear of a run's end: the second trigger.

        The first is the stream's. It may fail: the run is due again in a minute, and then the
        patrol looks whether its end was heard.
        """
        theirs = concerned(self.endpoints.of(run.tenant), run)
        self.ring(run, [endpoint for endpoint in theirs if endpoint.active])

    def prove_pending(self, now: float, tenant: str | None = None) -> None:
        """Have every endpoint, or a tenant's, asked again that did not agree and is due to be."""
        for endpoint in self.endpoints.unasked(now):
            if tenant in {None, endpoint.tenant}:
                self.prove(endpoint)

    def prove(self, endpoint: Endpoint) -> None:
        """Have an endpoint asked whether it wants webhooks."""
        body = {"tenant": endpoint.tenant, "endpoint_id": endpoint.endpoint_id, "prove": True}
        group = f"{endpoint.tenant}/{endpoint.endpoint_id}"
        self.queue().send_ordered([Message(body, group, self.new_id())])


def wake_up(run_id: str, tenant: str, endpoint_id: str, once: str, **said: Any) -> Message:
    """Return a wake-up; those of one run and endpoint are handled one after the other."""
    body = {"run_id": run_id, "tenant": tenant, "endpoint_id": endpoint_id, **said}
    return Message(body, f"{run_id}/{endpoint_id}", once)
