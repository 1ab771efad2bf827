"""Wake the sockets of a run: "bring its subscribers up to date from their cursors".

A wake-up may come twice, late or out of order, and one that is lost is made good by the next.
The stream's are made unique by `run/seq`; whoever else wakes uses fresh ids. With the stream's
id, a catch-up for the last event of a run would be taken for the stream's own, which was handled
before the subscription was there, and be swallowed for five minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onward.aws.queues import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.aws.cursors import Cursors
    from onward.aws.queues import Queue
    from onward.domain.model import Run


@dataclass(frozen=True, slots=True)
class PassedOn:
    """What one push leaves to another; `hops` counts how often that was done in a row."""

    run_id: str
    hops: int


def live_wake_up(run_id: str, once: str, after: int | None = None, hops: int = 0) -> Message:
    """Return a wake-up; those of one run are handled one after the other.

    `after` is where sockets that are up to date stand: the pusher may read on from there before
    it knows who listens.
    """
    hint = {} if after is None else {"after": after}
    passed = {"hops": hops} if hops else {}
    return Message({"run_id": run_id, **hint, **passed}, run_id, once)


def closing(tenant: str, key_id: str, once: str) -> Message:
    """Return the order to close the sockets of a key; a second one does no harm."""
    return Message({"tenant": tenant, "key_id": key_id}, f"key/{tenant}/{key_id}", once)


@dataclass(frozen=True, slots=True)
class Siren:
    """Who wakes sockets that were left behind: behind a last event no other wake-up comes."""

    cursors: Cursors
    queue: Callable[[], Queue]
    new_id: Callable[[], str]

    def sound(self, run: Run, now: float) -> bool:
        """Wake a run's sockets if one of them was not sent everything; whether one was not.

        One that is gone is found out by the pusher, which then forgets it.
        """
        listening = self.cursors.subscriptions(run.run_id, now)
        if all(sub.told and sub.at >= run.seq for sub in listening):
            return False
        self.queue().send_ordered([live_wake_up(run.run_id, self.new_id())])
        return True
