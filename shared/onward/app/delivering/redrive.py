"""Deliveries that ran out of tries: list them, and try them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.app.delivering.wake_notify import wake_up
from onward.aws.codec import iso

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onward.app.delivering.downstream import Downstream
    from onward.aws.queues import Letter, Queue
    from onward.aws.run_reader import RunReader
    from onward.documents.operating import DeliveryView
    from onward.domain.delivery import Delivery
    from onward.domain.model import Run

MOST: Final = 500
"""Dead deliveries in one answer; the oldest come first."""


def deliveries_of(downstream: Downstream, run: Run) -> list[DeliveryView]:
    """Return how far each endpoint has got with a run, and its last tries."""
    rows = downstream.deliveries.of_run(run.run_id).values()
    return [_view(row, run) for row in rows]


def dead_deliveries(downstream: Downstream, reader: RunReader, tenant: str) -> list[DeliveryView]:
    """Return a tenant's deliveries whose wake-up lies in the dead-letter queue."""
    found = []
    for row in downstream.deliveries.dead(tenant):
        run = reader.run(row.run_id)
        if run is not None:
            found.append(_view(row, run))
        if len(found) >= MOST:
            break
    return found


def redrive(downstream: Downstream, tenant: str, endpoint_id: str | None = None) -> int:
    """Try every dead delivery of a tenant again, or of one endpoint; return how many.

    A letter is deleted after its wake-up is in the queue again, never before: a death in
    between sends it twice. Other letters stay where they are. A delivery is dead no more once
    its letter is taken: should this wake-up be lost, the patrol wakes as for any other. It has
    all its tries again, and is marked before it is woken, so that none of its tries is forgotten.
    """
    queue, dead = downstream.bell.queue(), downstream.dead()
    sent: set[tuple[str, str]] = set()
    for letter in _letters(dead, tenant, endpoint_id):
        about = _about(letter)
        if about not in sent:
            row = downstream.deliveries.get(*about)
            if row.given_up is None or endpoint_id is not None:
                downstream.deliveries.dismiss(row)
            else:
                downstream.deliveries.revive(row)
            after = letter.body.get("after")
            said = {} if after is None else {"after": after}
            once = downstream.bell.new_id()
            queue.send_ordered([wake_up(about[0], tenant, about[1], once, **said)])
            sent.add(about)
        dead.delete(letter)
    left = [row for row in _dead(downstream, tenant, endpoint_id) if _key(row) not in sent]
    for row in left:
        if endpoint_id is None:
            downstream.deliveries.revive(row)
        else:
            downstream.deliveries.dismiss(row)
    queue.send_ordered(
        wake_up(row.run_id, tenant, row.endpoint_id, downstream.bell.new_id()) for row in left
    )
    return len(sent) + len(left)


def discard(downstream: Downstream, tenant: str, endpoint_id: str) -> None:
    """Forget what is dead of an endpoint that was deleted: nobody is to hear of it any more."""
    rows = list(_dead(downstream, tenant, endpoint_id))
    if not rows:
        return
    dead = downstream.dead()
    for letter in _letters(dead, tenant, endpoint_id):
        dead.delete(letter)
    for row in rows:
        downstream.deliveries.dismiss(row)


def _dead(downstream: Downstream, tenant: str, endpoint_id: str | None) -> Iterator[Delivery]:
    rows = downstream.deliveries.dead(tenant)
    return (row for row in rows if endpoint_id in {None, row.endpoint_id})


def _letters(dead: Queue, tenant: str, endpoint_id: str | None) -> Iterator[Letter]:
    """Yield the letters about a tenant, or one endpoint; others are shown again afterwards."""
    others: list[Letter] = []
    for letter in dead.letters():
        mine = letter.body.get("tenant") == tenant
        if mine and endpoint_id in {None, letter.body.get("endpoint_id")}:
            yield letter
        else:
            others.append(letter)
    for letter in others:
        dead.show_again(letter.handle, 0)


def _about(letter: Letter) -> tuple[str, str]:
    return str(letter.body.get("run_id")), str(letter.body.get("endpoint_id"))


def _key(row: Delivery) -> tuple[str, str]:
    return row.run_id, row.endpoint_id


def _view(row: Delivery, run: Run) -> DeliveryView:
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
