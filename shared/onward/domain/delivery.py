"""Who hears of a run, how far each has got, and what that makes of the run's end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from onward.domain.events import matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from onward.domain.model import Run

TRIES: Final = 3
"""Failed requests about one event after which a delivery is dead, and somebody is told."""

TIMEOUTS_TO_REST: Final = 2
"""Time-outs in a row after which an endpoint is left alone for a while."""

LAST_RECEIVES: Final = 8
"""Receives of a message from which on it may be the last time: its queue buries it after ten.
Then a death is written down before the work, and what is only put off goes on afresh."""

SLOW_SECONDS: Final = 600.0
"""How long an endpoint stays in the slow lane without having been slow again."""

REST_SECONDS: Final = 20.0
"""How long an endpoint is left alone that ran into its time-out twice in a row: then one request
at a time finds out whether it is back, instead of each waiting run holding a sender. Twice as long
after each further time-out."""

LONGEST_REST: Final = 300.0

SPARE_HOPS: Final = 16
"""Of a chain of wake-ups, beside those that get on in the log: for a change of lane, and waits."""


class SyncStatus(StrEnum):
    """Whether everybody downstream has heard how a run ended."""

    NOT_APPLICABLE = "not_applicable"
    PENDING = "pending"
    SYNCED = "synced"
    UNKNOWN = "unknown"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Secret:
    """A signing key in its `whsec_` form; one that was rotated out is valid until a time."""

    text: str
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A subscriber's webhook. Times are epoch seconds.

    `timeouts` counts calls in a row that ran into their time-out; `resting_until` is when the
    next one is tried after several of them. `slow_until`: it did not answer at once, and does
    not share its senders with those who do. `pending_since`: nobody there has agreed yet to get
    webhooks, and nothing is sent until then; `pending_because` is what the last question came to.
    """

    endpoint_id: str
    tenant: str
    url: str
    event_types: tuple[str, ...]
    created_at: float
    status_url: str | None = None
    secrets: tuple[Secret, ...] = ()
    disabled_at: float | None = None
    disabled_because: str | None = None
    timeouts: int = 0
    resting_until: float | None = None
    slow_until: float | None = None
    pending_since: float | None = None
    pending_because: str | None = None

    @property
    def active(self) -> bool:
        """Whether it wants to hear of runs: it did not answer that it is gone."""
        return self.disabled_at is None

    @property
    def pending(self) -> bool:
        """Whether it has not agreed yet; what happens meanwhile is sent once it has."""
        return self.pending_since is not None

    @property
    def reachable(self) -> bool:
        """Whether anything is sent there."""
        return self.active and not self.pending

    @property
    def status(self) -> str:
        """Return `enabled`, `pending` or `disabled`."""
        if not self.active:
            return "disabled"
        return "pending" if self.pending else "enabled"

    def slow(self, now: float) -> bool:
        """Whether it is sent to in the slow lane."""
        return self.slow_until is not None and self.slow_until > now

    def resting(self, now: float) -> bool:
        """Whether it is left alone after several time-outs in a row."""
        rests = self.timeouts >= TIMEOUTS_TO_REST and self.resting_until is not None
        return rests and (self.resting_until or 0) > now

    def wants(self, event_type: str) -> bool:
        """Whether a type passes the filters: `run.failed`, `run.*` or `*`."""
        return any(matches(pattern, event_type) for pattern in self.event_types)

    def valid_secrets(self, now: float) -> list[str]:
        """Return the keys to sign with, the current one first."""
        return [s.text for s in self.secrets if s.until is None or s.until > now]


@dataclass(frozen=True, slots=True)
class Try:
    """One request to an endpoint: when, about which event, and what came of it."""

    at: float
    seq: int
    outcome: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """How far one endpoint has got with one run. `acked_seq` only grows.

    `attempts` counts the failed requests about the event behind it. `dead_since`: it ran out of
    tries, and its wake-up lies in the dead-letter queue, or is about to. `dead_seq`: the run's
    last event when its letter was sent; nobody asks the receiver again until the run goes on, the
    patrol looks or an operator redrives. `given_up`: the run's last event when the patrol stopped
    trying as well; a run that went on is another matter.
    """

    run_id: str
    endpoint_id: str
    acked_seq: int = 0
    attempts: int = 0
    next_try: float | None = None
    last_error: str | None = None
    history: tuple[Try, ...] = ()
    dead_since: int | None = None
    dead_seq: int | None = None
    given_up: int | None = None

    def covers(self, run: Run) -> bool:
        """Whether everything a run has to say, its end included, has been heard."""
        return run.status.ended and self.acked_seq >= run.seq

    def is_at_rest(self, run: Run) -> bool:
        """Whether it is dead, and the run has nothing new to say since then."""
        return self.dead_seq is not None and self.dead_seq >= run.seq

    def is_given_up(self, run: Run) -> bool:
        """Whether nobody tries to tell of this end any more."""
        return self.given_up == run.seq

    def state(self, run: Run) -> str:
        """Return `synced`, `dead` or `pending`."""
        if self.covers(run):
            return "synced"
        return "pending" if self.dead_since is None else "dead"


def concerned(endpoints: Iterable[Endpoint], run: Run) -> list[Endpoint]:
    """Return the endpoints that must hear of a run: those there were before it ended.

    A disabled one too: what it did not acknowledge is unheard until somebody decides about it.
    """
    return [
        endpoint
        for endpoint in endpoints
        if run.ended_at is None or endpoint.created_at <= run.ended_at
    ]


def sync_status(
    run: Run, endpoints: Iterable[Endpoint], deliveries: Mapping[str, Delivery]
) -> SyncStatus:
    """Tell whether everybody has heard; before its end a run with subscribers is pending.

    Dead is what nobody tries to tell any more: it was given up, or its endpoint is disabled.
    """
    theirs = concerned(endpoints, run)
    if not theirs:
        return SyncStatus.NOT_APPLICABLE
    lag = lagging(run, theirs, deliveries)
    if not lag:
        return SyncStatus.SYNCED
    given_up = all(
        not e.active or ((found := deliveries.get(e.endpoint_id)) and found.is_given_up(run))
        for e in lag
    )
    return SyncStatus.DEAD if given_up else SyncStatus.PENDING


def most_hops(run: Run) -> int:
    """Return how often a wake-up of a run may be passed on: each time gets on by an event."""
    return SPARE_HOPS + 2 * run.seq


def lagging(
    run: Run, endpoints: Iterable[Endpoint], deliveries: Mapping[str, Delivery]
) -> list[Endpoint]:
    """Return the endpoints that have not heard everything."""
    return [
        endpoint
        for endpoint in concerned(endpoints, run)
        if not ((found := deliveries.get(endpoint.endpoint_id)) and found.covers(run))
    ]
