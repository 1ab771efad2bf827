"""Wake the sockets of a run: "bring its subscribers up to date from their cursors".

A wake-up may come twice, late or out of order, and one that is lost is made good by the next.
The stream's are made unique by `run/seq`; whoever else wakes uses fresh ids. With the stream's
id, a catch-up for the last event of a run would be taken for the stream's own, which was handled
before the subscription was there, and be swallowed for five minutes.
"""

from __future__ import annotations

from onward.aws.queues import Message


def live_wake_up(run_id: str, once: str) -> Message:
    """Return a wake-up; those of one run are handled one after the other."""
    return Message({"run_id": run_id}, run_id, once)
