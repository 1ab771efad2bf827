"""A run's log from a position on: at once, or as soon as there is more of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from onward.app.access.keys import HELD_SECONDS
from onward.app.reading.read_run import find_run, is_expired
from onward.aws.codec import iso
from onward.domain.errors import CursorExpired
from onward.domain.events import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from onward.app.service import Reading, Service
    from onward.aws.waiting_slots import Slot
    from onward.documents.runs import CloudEvent, EventPage
    from onward.domain.model import Event, Run

MAX_WAIT: Final = 20.0
"""Seconds that a request may be held; API Gateway gives up after 30."""

MAX_EVENTS: Final = 1000

RETRY_SECONDS: Final = (2, 8)
"""From and to which an answer asks for a pause that could not be held: by chance, so that those
who were turned away together do not come back together."""

_FIRST_PAUSE, _LAST_PAUSE, _GROWTH = 0.1, 1.0, 1.5
_MANY: Final = 1_000_000


def replay_events(
    service: Service,
    tenant: str,
    run_id: str,
    *,
    after: int,
    limit: int,
    wait: float,
    admit: Callable[[], object] = lambda: None,
) -> EventPage:
    """Return the events after `after`, in order and without a gap.

    With `wait` (seconds) an empty page is held until there is something in it, the run has
    ended, or the time is up. Where as many requests are held as may be, it is answered at once,
    with `retry_after` seconds after which to ask again.

    `ended`: the run is over and this page reaches the end of its log. The page ends before an
    event that is not visible yet, so no position skips one. `admit` raises where the caller may
    read no more, and is asked every two seconds meanwhile. Raises RunNotFound, or CursorExpired,
    which bears the run's `seq`, for a position before what is kept of the log or beyond its end:
    whoever stands there knows another log (a table that was restored), and would wait for its
    events for ever.
    """
    with _held(service) as hold:
        return _awaited(
            service, tenant, run_id, after=after, limit=limit, wait=wait, admit=admit, hold=hold
        )


def _awaited(  # noqa: PLR0913 - what the caller asked for, and what holds the request
    service: Service,
    tenant: str,
    run_id: str,
    *,
    after: int,
    limit: int,
    wait: float,
    admit: Callable[[], object],
    hold: Callable[[float], bool],
) -> EventPage:
    asked = service.clock()
    until = asked + wait
    pause = _FIRST_PAUSE
    while True:
        if service.clock() - asked >= HELD_SECONDS:
            admit()
            asked = service.clock()
        run = find_run(service, tenant, run_id)
        found = read_log(service, run, after, limit)
        ended = run.status.ended and (found[-1].seq if found else after) >= run.seq
        left = until - service.clock()
        if found or ended or left <= 0:
            return _page(run, found, after, ended=ended)
        if not hold(left):
            return _page(run, found, after, ended=ended) | {"retry_after": _retry(service)}
        service.sleep(min(pause, left))
        pause = min(_LAST_PAUSE, pause * _GROWTH)


@contextmanager
def _held(service: Service) -> Iterator[Callable[[float], bool]]:
    """Yield what takes a slot for some seconds, once, and give it back in the end."""
    taken: list[Slot] = []

    def hold(seconds: float) -> bool:
        if not taken and (slot := _slot(service, seconds)) is not None:
            taken.append(slot)
        return bool(taken)

    try:
        yield hold
    finally:
        for slot in taken:
            service.slots.release(slot, service.clock())


def _slot(service: Service, seconds: float) -> Slot | None:
    """Take a slot for the rest of a wait; which one is tried first is left to chance."""
    first = int(service.chance() * _MANY)
    return service.slots.take(service.drive.new_id(), service.clock(), seconds, first)


def _retry(service: Service) -> int:
    least, most = RETRY_SECONDS
    return least + round(service.chance() * (most - least))


def read_log(service: Reading, run: Run, after: int, limit: int) -> list[Event]:
    """Return the dense events after `after`: what is behind every page and every socket.

    `run` was read after whoever asks got to know the position, and consistently: a row that
    stands behind the position proves that the log ends before it. Raises CursorExpired there, and
    for a position before what is kept of the log.
    """
    if after > run.seq:
        text = f"the log ends before this position; the run stands at {run.seq}"
        raise CursorExpired(text, run.seq)
    if run.seq == after:
        return []
    if is_expired(run, service.clock()):
        text = f"the events are no longer kept; the run stands at {run.seq}"
        raise CursorExpired(text, run.seq)
    return service.reader.events(run.run_id, after, limit)


def cloud_event(run_id: str, event: Event) -> CloudEvent:
    """Return an event as a CloudEvent 1.0; `sequence` sorts as text (its Sequence extension)."""
    return {
        "specversion": "1.0",
        "id": f"{run_id}/{event.seq}",
        "source": f"/runs/{run_id}",
        "type": NAMESPACE + event.type,
        "time": iso(event.at),
        "sequence": f"{event.seq:010d}",
        "datacontenttype": "application/json",
        "data": event.data,
    }


def _page(run: Run, found: list[Event], after: int, *, ended: bool) -> EventPage:
    last = found[-1].seq if found else after
    return {
        "events": [cloud_event(run.run_id, event) for event in found],
        "next_after": last,
        # The log may have grown since the run row was read.
        "as_of_seq": max(run.seq, found[-1].seq) if found else run.seq,
        "ended": ended,
    }
