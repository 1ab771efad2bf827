"""Look after a run that has ended: was its end heard, and when may its log go?

What a look finds                     what is done about it
    somebody has not heard it         it is woken, again after 1, 2, 4, 8 … minutes
    a socket was not sent all of it   its run's sockets are woken, at the same distances
    for a day nobody could reach it   the delivery is given up, and called dead
    a write is in doubt still         it is counted again every four hours: a person is to answer
    everybody has heard it            a time is set from which its log and checkpoints are gone,
                                      where the stack says so; when it has come, their rows are
                                      left to expire
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from onward.domain.delivery import lagging
from onward.metrics import Metric, count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.app.delivering.wake_notify import Bell
    from onward.app.live.wake_live import Siren
    from onward.aws.deliveries import Deliveries
    from onward.aws.endpoints import Endpoints
    from onward.aws.retention import Retention
    from onward.aws.run_store import RunStore
    from onward.domain.delivery import Delivery, Endpoint
    from onward.domain.model import Run

SHORTEST: Final = 60
LONGEST: Final = 4 * 3600
SLICE: Final = 5.0
"""Seconds of a round that one run's expiry may take: others behind it may stand still."""

GIVE_UP: Final = 24 * 3600
"""Seconds after the end."""


class FollowUp(StrEnum):
    """What was done about an end."""

    WOKEN = "notified_again"
    PUSHED = "pushed_again"
    GIVEN_UP = "given_up"


@dataclass(frozen=True, slots=True)
class Ends:
    """What looking after ends takes. `keep_seconds`: how long logs stay; 0 for ever."""

    endpoints: Endpoints
    deliveries: Deliveries
    bell: Bell
    siren: Siren
    retention: Retention
    keep_seconds: int


def follow_up(ends: Ends, store: RunStore, run: Run, now: float, until: float) -> list[FollowUp]:
    """Look at a run that has ended, and say when to look again; safe twice at once."""
    endpoints = ends.endpoints.of(run.tenant)
    deliveries = ends.deliveries.of_run(run.run_id) if endpoints else {}
    lag = lagging(run, endpoints, deliveries)
    later = int(now + min(LONGEST, max(SHORTEST, now - (run.ended_at or now))))
    done = []
    if lag:
        done = _tell_again(ends, run, lag, deliveries, now)
        store.move_due(run, None if FollowUp.GIVEN_UP in done else later)
    pushed = ends.siren.sound(run, now)
    if pushed and not lag:
        store.move_due(run, later)
    if not pushed and not lag:
        _let_go(ends, store, run, now, min(until, now + SLICE))
    return [*done, *([FollowUp.PUSHED] if pushed else [])]


def _tell_again(
    ends: Ends, run: Run, lag: list[Endpoint], deliveries: Mapping[str, Delivery], now: float
) -> list[FollowUp]:
    """Wake who has not heard of an end; give up after a day, and on who is disabled at once.

    Somebody has to decide about a disabled endpoint; enabling it wakes what is listed as dead.
    """
    passed = now - (run.ended_at or now)
    count(Metric.UNSYNCED_SECONDS, round(passed, 3))
    rows = {e.endpoint_id: _row(ends, run, e, deliveries) for e in lag}
    lost = [e for e in lag if passed >= GIVE_UP or not e.active]
    for endpoint in lost:
        if not rows[endpoint.endpoint_id].is_given_up(run):
            ends.deliveries.give_up(rows[endpoint.endpoint_id], run, now)
    if len(lost) == len(lag):
        return [FollowUp.GIVEN_UP]
    # A resting endpoint's messages come again by themselves; one that has not agreed yet has
    # what it is to hear parked.
    due = [
        endpoint
        for endpoint in lag
        if endpoint.reachable
        and not endpoint.resting(now)
        and (rows[endpoint.endpoint_id].next_try or 0) <= now
    ]
    ends.bell.ring(run, due, retry=True)
    return [FollowUp.WOKEN] if due else []


def _row(ends: Ends, run: Run, endpoint: Endpoint, deliveries: Mapping[str, Delivery]) -> Delivery:
    found = deliveries.get(endpoint.endpoint_id)
    return found or ends.deliveries.get(run.run_id, endpoint.endpoint_id)


def _let_go(ends: Ends, store: RunStore, run: Run, now: float, until: float) -> None:
    """Say from when on the log is gone, and once it is, let its rows expire, look after look.

    Nothing goes whose end was not heard; a dead delivery keeps it all. So does a question that
    is open (an operator who abandons it lets the log go), and a write that is to be looked at.
    """
    if run.looks:
        store.move_due(run, int(now) + SHORTEST)
        return
    if run.waiting:
        count(Metric.NEEDS_RECONCILIATION)
        store.move_due(run, int(now) + LONGEST)
        return
    if run.expired_at is None:
        if not ends.keep_seconds or run.ended_at is None:
            store.move_due(run, None)
            return
        gone_at = int(run.ended_at) + ends.keep_seconds
        store.move_due(run, gone_at + SHORTEST, gone_at)
    elif run.expired_at + SHORTEST <= now:
        done = ends.retention.let_go(run, until)
        store.move_due(run, None if done else int(now) + SHORTEST)
