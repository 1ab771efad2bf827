"""Wake the queues for what the log says; the log is the outbox."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from onward.app.delivering.wake_notify import wake_up
from onward.app.live.wake_live import live_wake_up
from onward.domain.events import ENDS, RunWaiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onward.app.delivering.wake_notify import Subscribers
    from onward.aws.queues import Queue
    from onward.domain.delivery import Endpoint

RUN_PREFIX = "RUN#"
INDEX_LAG: Final = 1
"""Seconds after which an index is believed to show a commit."""

_SOCKETS: Final = ""
"""Stands for all sockets of a run among the endpoints that were told."""

_QUEUED: Final = "queued"
"""Stands for all queued runs of a tenant there."""

_MAKES_ROOM: Final = ENDS | {RunWaiting.type}


@dataclass(frozen=True, slots=True)
class Outlets:
    """Where the outbox leads."""

    start: Queue
    notify: Queue
    notify_slow: Queue
    live: Queue
    subscribers: Subscribers


def publish_outbox(records: Sequence[dict[str, Any]], outlets: Outlets) -> str | None:
    """Send what stream records ask for, in their order; return where it stopped, if it did.

    The first record that cannot be sent is reported and nothing after it is tried: a later
    record must not overtake it (powertools-lambda-python#2850 goes on and sends twice). An
    endpoint is woken once a batch for a run, at the first record that it is to hear of, under
    the number of the last one: it reads the log itself, which is all there by now. So are a run's
    sockets, whether or not somebody listens: only the pusher knows.
    """
    spans = _spans(records)
    told: set[tuple[str, str]] = set()
    for record in records:
        try:
            _publish(record["dynamodb"]["NewImage"], outlets, spans, told)
        except Exception:  # noqa: BLE001 - reported to the stream, which tries again
            return str(record["dynamodb"]["SequenceNumber"])
    return None


def _make_room(image: dict[str, Any], outlets: Outlets, told: set[tuple[str, str]]) -> None:
    """Let queued runs of a tenant be started, one of whose runs is not driven any more.

    A little later, for the index that is counted follows the table.
    """
    tenant = image["tenant"]["S"]
    if image["type"]["S"] in _MAKES_ROOM and (tenant, _QUEUED) not in told:
        outlets.start.send([{"tenant": tenant}], delay=INDEX_LAG)
        told.add((tenant, _QUEUED))


def _publish(
    image: dict[str, Any],
    outlets: Outlets,
    spans: dict[str, tuple[int, int]],
    told: set[tuple[str, str]],
) -> None:
    start = start_message(image)
    if start is not None:
        outlets.start.send([start])
    run_id = _run(image)
    if (run_id, _SOCKETS) not in told:
        first, last = spans[run_id]
        outlets.live.send_ordered([live_wake_up(run_id, f"{run_id}/{last}", first - 1)])
        told.add((run_id, _SOCKETS))
    if "tenant" not in image:
        return  # written by a release from before there were endpoints
    _make_room(image, outlets, told)
    tenant, kind = image["tenant"]["S"], image["type"]["S"]
    woken = [
        endpoint
        for endpoint in outlets.subscribers.of(tenant)
        if (run_id, endpoint.endpoint_id) not in told and (kind in ENDS or endpoint.wants(kind))
    ]
    _wake(outlets, run_id, spans[run_id][1] if woken else 0, woken)
    told.update((run_id, endpoint.endpoint_id) for endpoint in woken)


def _wake(outlets: Outlets, run_id: str, seq: int, endpoints: Sequence[Endpoint]) -> None:
    """Wake endpoints, those that are known to be slow in their lane."""
    now = outlets.subscribers.clock()
    for queue, slow in ((outlets.notify, False), (outlets.notify_slow, True)):
        messages = [
            wake_up(run_id, each.tenant, each.endpoint_id, f"{run_id}/{seq}/{each.endpoint_id}")
            for each in endpoints
            if each.slow(now) is slow
        ]
        if messages:
            queue.send_ordered(messages)


def start_message(image: dict[str, Any]) -> dict[str, Any] | None:
    """Return the message that starts an execution; None for events that do not ask for one."""
    if "start" not in image:
        return None
    return {
        "run_id": _run(image),
        "generation": int(image["start"]["N"]),
        **({"tenant": image["tenant"]["S"]} if "tenant" in image else {}),
    }


def _spans(records: Sequence[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """Return the first and the last event of each run in a batch; none of senseless records."""
    spans: dict[str, tuple[int, int]] = {}
    for record in records:
        with suppress(LookupError, TypeError, ValueError):
            image = record["dynamodb"]["NewImage"]
            seq = int(image["seq"]["N"])
            first, last = spans.get(_run(image), (seq, seq))
            spans[_run(image)] = min(first, seq), max(last, seq)
    return spans


def _run(image: dict[str, Any]) -> str:
    return str(image["pk"]["S"]).removeprefix(RUN_PREFIX)
