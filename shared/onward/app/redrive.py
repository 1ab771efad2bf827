"""Deliveries that ran out of tries: list them, and try them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from onward.app.wake_notify import wake_up
from onward.aws.codec import iso

if TYPE_CHECKING:
    from onward.app.downstream import Downstream
    from onward.aws.queues import Letter
    from onward.aws.run_reader import RunReader
    from onward.domain.delivery import Delivery
    from onward.domain.model import Run

MOST: Final = 500
"""Dead deliveries in one answer; the oldest come first."""


def deliveries_of(downstream: Downstream, run: Run) -> list[dict[str, Any]]:
    """Return how far each endpoint has got with a run, and its last tries."""
    rows = downstream.deliveries.of_run(run.run_id).values()
    return [_view(row, run) for row in rows]


def dead_deliveries(downstream: Downstream, reader: RunReader, tenant: str) -> list[dict[str, Any]]:
    """Return a tenant's deliveries whose wake-up lies in the dead-letter queue."""
    found = []
    for row in downstream.deliveries.dead(tenant):
        run = reader.run(row.run_id)
        if run is not None:
            found.append(_view(row, run))
        if len(found) >= MOST:
            break
    return found


def redrive(downstream: Downstream, tenant: str) -> int:
    """Try every dead delivery of a tenant again; return how many.

    A letter is deleted after its wake-up is in the queue again, never before: a death in
    between sends it twice. Other tenants' letters stay where they are. A delivery is dead no
    more once its letter is gone: should this wake-up be lost, the patrol wakes as for any other.
    """
    queue, dead = downstream.bell.queue(), downstream.dead()
    sent: set[tuple[str, str]] = set()
    others: list[Letter] = []
    for letter in dead.letters():
        run_id, endpoint_id = _about(letter)
        if letter.body.get("tenant") != tenant:
            others.append(letter)
            continue
        if (run_id, endpoint_id) not in sent:
            once = downstream.bell.new_id()
            after = letter.body.get("after")
            said = {} if after is None else {"after": after}
            queue.send_ordered([wake_up(run_id, tenant, endpoint_id, once, **said)])
            sent.add((run_id, endpoint_id))
            row = downstream.deliveries.get(run_id, endpoint_id)
            if row.dead_since is not None and row.given_up is None:
                downstream.deliveries.dismiss(row)
        dead.delete(letter)
    for letter in others:
        dead.show_again(letter.handle, 0)
    left = [row for row in downstream.deliveries.dead(tenant) if _key(row) not in sent]
    queue.send_ordered(
        wake_up(row.run_id, tenant, row.endpoint_id, downstream.bell.new_id()) for row in left
    )
    return len(sent) + len(left)


def _about(letter: Letter) -> tuple[str, str]:
    return str(letter.body.get("run_id")), str(letter.body.get("endpoint_id"))


def _key(row: Delivery) -> tuple[str, str]:
    return row.run_id, row.endpoint_id


def _view(row: Delivery, run: Run) -> dict[str, Any]:
    dead, next_try = row.dead_since, row.next_try
    return {
        "run_id": row.run_id,
        "endpoint_id": row.endpoint_id,
        "state": row.state(run),
        "acked_seq": row.acked_seq,
        "attempts": row.attempts,
        "last_error": row.last_error,
        "next_try": None if next_try is None else iso(next_try),
        "dead_since": None if dead is None else iso(dead),
        "given_up": row.is_given_up(run),
        "tries": [
            {"at": iso(each.at), "sequence": each.seq, "outcome": each.outcome}
            for each in row.history
        ],
    }
