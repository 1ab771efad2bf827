"""Looks of the patrol at a run that has ended, over the real tables and queues."""

from __future__ import annotations

from secrets import token_bytes
from typing import Any

from onward.app.live.wake_live import Siren
from onward.app.patrol.follow_up import Ends, FollowUp, follow_up
from onward.aws.cursors import Cursors
from onward.aws.retention import Retention

from tests.store.conftest import CURSORS, RUNS, new_client
from tests.store.delivering import World
from tests.store.listening import Sockets

DAY = 86_400


def look(
    here: World, keep_seconds: int = 0, sockets: Sockets | None = None, seconds: float = 60
) -> list[FollowUp]:
    """One look of the patrol at the run."""
    cursors = Cursors(new_client("dynamodb"), CURSORS)
    siren = Siren(cursors, lambda: (sockets or missing()).queue, lambda: token_bytes(8).hex())
    ends = Ends(
        here.downstream.endpoints,
        here.downstream.deliveries,
        here.downstream.bell,
        siren,
        Retention(new_client("dynamodb"), RUNS, here.service.blobs, here.time.clock),
        keep_seconds,
    )
    now = here.time.now
    return follow_up(ends, here.service.store, here.run, now, now + seconds)


def missing() -> Sockets:
    raise AssertionError("nobody listens")


def woken(here: World) -> list[dict[str, Any]]:
    queue = here.downstream.bell.queue()
    bodies = []
    for letter in queue.letters():
        queue.delete(letter)
        bodies.append(letter.body)
    return bodies
