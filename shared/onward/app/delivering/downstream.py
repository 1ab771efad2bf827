"""Whether everybody downstream has heard: from our own books, or by asking them."""

from __future__ import annotations

import json
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from onward.domain.delivery import SyncStatus, concerned, lagging, sync_status
from onward.outside.addresses import PORTS
from onward.outside.request import NoAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onward.app.delivering.wake_notify import Bell
    from onward.aws.deliveries import Deliveries
    from onward.aws.endpoints import Endpoints
    from onward.aws.queues import Queue
    from onward.domain.delivery import Endpoint
    from onward.domain.model import Run
    from onward.outside.request import Reply

ASK_SECONDS: Final = 2.0
"""For all endpoints together: somebody waits for the snapshot."""

_OK: Final = 200
_UNHEARD_OF: Final = 404
_MOST_THREADS: Final = 20


@dataclass(frozen=True, slots=True)
class Downstream:
    """The endpoints, how far each has got, and the ways to wake and ask them.

    `ask` asks an endpoint about a run within some seconds, or raises NoAnswer. `dead` is the queue
    of wake-ups that ran out of tries. `local`: addresses of this machine are allowed, at any port;
    elsewhere `ports` are.
    """

    endpoints: Endpoints
    deliveries: Deliveries
    bell: Bell
    dead: Callable[[], Queue]
    ask: Callable[[Endpoint, str, float], Reply]
    clock: Callable[[], float]
    local: bool
    ports: frozenset[int] = PORTS

    def status(self, run: Run) -> SyncStatus:
        """Return what our own books say."""
        return our_books(self.endpoints, self.deliveries, run)

    def verified(self, run: Run) -> SyncStatus:
        """Ask every endpoint that can be asked how far it has got; never raises.

        One that does not answer makes the whole `unknown`, one that has missed something makes
        it `pending`; to both the end is sent again, in the background.
        """
        theirs = concerned(self.endpoints.of(run.tenant), run)
        if not theirs or not run.status.ended:
            return self.status(run)
        lag = lagging(run, theirs, self.deliveries.of_run(run.run_id))
        answers = self._ask([e for e in theirs if e.status_url and e not in lag], run)
        behind = [(e, heard) for e, heard in answers if heard is not None and heard < run.seq]
        silent = [e for e, heard in answers if heard is None]
        with suppress(Exception):  # the patrol rings as well, and somebody waits for the answer
            self.bell.ring(run, silent, after=run.seq - 1)
            for endpoint, heard in behind:
                self.bell.ring(run, [endpoint], after=heard)
        if silent:
            return SyncStatus.UNKNOWN
        return SyncStatus.PENDING if behind else self.status(run)

    def _ask(self, endpoints: Iterable[Endpoint], run: Run) -> list[tuple[Endpoint, int | None]]:
        """Return the last event that each has, None for no usable answer in time."""
        asked = [e for e in endpoints if e.reachable and e.wants(f"run.{run.status.value}")]
        if not asked:
            return []
        pool = ThreadPoolExecutor(min(len(asked), _MOST_THREADS))
        answers: list[Future[int | None]] = [
            pool.submit(self._heard, endpoint, run) for endpoint in asked
        ]
        wait(answers, timeout=ASK_SECONDS)
        pool.shutdown(wait=False, cancel_futures=True)
        return [
            (endpoint, answer.result() if answer.done() and not answer.cancelled() else None)
            for endpoint, answer in zip(asked, answers, strict=True)
        ]

    def _heard(self, endpoint: Endpoint, run: Run) -> int | None:
        """Return what an endpoint's `status_url` says: `{"sequence": n}`, or 404 for never."""
        try:
            reply = self.ask(endpoint, run.run_id, ASK_SECONDS)
        except NoAnswer:
            return None
        if reply.status == _UNHEARD_OF:
            return 0
        return _sequence(reply.body) if reply.status == _OK else None


def our_books(endpoints: Endpoints, deliveries: Deliveries, run: Run) -> SyncStatus:
    """Return whether everybody has heard of a run, as far as we know ourselves."""
    theirs = concerned(endpoints.of(run.tenant), run)
    if not theirs:
        return SyncStatus.NOT_APPLICABLE
    return sync_status(run, theirs, deliveries.of_run(run.run_id))


def _sequence(body: bytes) -> int | None:
    try:
        told: Any = json.loads(body)
        return max(0, int(told["sequence"]))
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None
