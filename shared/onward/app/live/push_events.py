"""Bring the sockets that listen to a run up to date from their cursors: what sends events.

Nobody else sends them, and one process at a time does it for a run (the queue's group). So a
replay and what happens meanwhile are one loop, in which nothing can overtake anything:

    subscribe   writes the cursor row ──► queues a catch-up
    commit      writes the events     ──► the stream queues a wake-up
    push        reads rows, then the log, then posts, then moves each cursor that is still there

Whichever comes first, the push that handles the later of the two messages sees both.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from onward.app.live.wake_live import PassedOn
from onward.app.reading.read_run import is_expired, read_run
from onward.app.reading.replay_events import cloud_event, read_log
from onward.aws.codec import iso
from onward.aws.failures import may_pass
from onward.aws.sockets import SocketGone, fits, frame
from onward.domain.delivery import SPARE_HOPS
from onward.domain.errors import CursorExpired, OnwardError

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.aws.blobs import Blobs
    from onward.aws.cursors import Cursors, Subscription
    from onward.aws.run_reader import RunReader
    from onward.domain.delivery import SyncStatus
    from onward.domain.model import Event, Run

PAGE: Final = 25
"""Events between two writes of a cursor: what a process that dies may send a second time."""

FAILED_POSTS: Final = 5
"""Posts to a socket in a row that fail, counted on its subscription; then it is hung up on."""

_AT_ONCE: Final = 8
"""Sockets that are posted to at the same time."""


class PushIncomplete(OnwardError):
    """Some sockets could not be reached for now; their cursors stand where they stood."""


class _Late(Exception):
    """The time of this push is up."""


@dataclass(frozen=True, slots=True)
class Live:
    """Where runs are read, who listens, and the way to their sockets.

    `post` sends a frame, or raises SocketGone; `hang_up` closes a socket. `again` queues another
    wake-up of a run. `sync` tells for a snapshot who has heard of a run, `admits` whether a
    tenant's key still opens anything.
    """

    reader: RunReader
    blobs: Callable[[str], Blobs]
    cursors: Cursors
    post: Callable[[str, str], None]
    hang_up: Callable[[str], object]
    failed: Callable[[Subscription], int]
    again: Callable[[PassedOn], None]
    sync: Callable[[Run], SyncStatus]
    admits: Callable[[str, str], bool]
    clock: Callable[[], float]


def push_events(
    live: Live, run_id: str, until: float, *, after: int | None = None, hops: int = 0
) -> int:
    """Send every subscriber of a run what it lacks until a time; return how many there are.

    Cursors are read before the log, so a log that looks shorter than a cursor says is shorter.
    The run's row is read meanwhile, and again where a position is beyond it; so are the events
    behind `after`, which are there already whenever somebody stands at that position. What does
    not fit into the time is left to another wake-up, and takes no try off this one: a chain of
    `hops` so far, each of which sends somebody a frame, so that the log bounds it. Sockets that
    take nothing are hung up on in the end: their clients come back for the rest.

    Raises PushIncomplete, or what is no passing failure, after all others were served.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        row = pool.submit(live.reader.run, run_id)
        ahead = None if after is None else pool.submit(live.reader.events, run_id, after, PAGE)
        listening = live.cursors.subscriptions(run_id, live.clock())
        run = row.result()
        if run is None:
            return 0
        log = _Log(live, run)
        if after is not None and ahead is not None:
            log.expect(after, ahead.result())
        mine = [sub for sub in listening if sub.tenant == run.tenant and _may_hear(live, sub)]
        outcomes = list(pool.map(lambda sub: _reached(live, log, sub, until), mine))
    missed = [error for error in outcomes if error is not None and not isinstance(error, _Late)]
    for error in missed:
        if not may_pass(error):
            raise error
    if missed:
        raise PushIncomplete(f"{len(missed)} of {len(mine)} sockets of {run_id} still wait")
    if any(outcomes):
        if hops > SPARE_HOPS + (run.seq + 1) * len(mine):
            raise PushIncomplete(f"{hops} wake-ups in a row did not bring {run_id} to its end")
        live.again(PassedOn(run_id, hops + 1))
    return len(mine)


def _may_hear(live: Live, sub: Subscription) -> bool:
    """Whether a socket's key still opens anything; where not, the socket is closed."""
    if not sub.key_id or live.admits(sub.tenant, sub.key_id):
        return True
    live.hang_up(sub.connection)
    live.cursors.drop(sub)
    return False


@dataclass(frozen=True, slots=True)
class _Piece:
    """Frames with the position after each, and whether more may follow."""

    frames: tuple[tuple[int, str], ...]
    more: bool


@dataclass(frozen=True, slots=True)
class _Log:
    """A run's log as frames, read once for all subscribers at the same position."""

    live: Live
    run: Run
    known: dict[int, _Piece] = field(default_factory=dict)

    def after(self, at: int) -> _Piece:
        """Return what comes after a position: events, or the state where they are not there."""
        if at not in self.known:
            try:
                self.known[at] = self._events(at)
            except CursorExpired:
                self.known[at] = self._state()
        return self.known[at]

    def _events(self, at: int) -> _Piece:
        """Return the events; raises CursorExpired where the log does not reach the position.

        A page may reach further than the run row that was read before it, so a position beyond
        the row's is checked against the row of now.
        """
        run = self.run
        if at > run.seq:
            run = self.live.reader.run(run.run_id) or run
        return self._piece(read_log(self.live, run, at, PAGE))

    def expect(self, at: int, found: list[Event]) -> None:
        """Take events that were read before it was known whether they may be: not of old runs."""
        if found and not is_expired(self.run, self.live.clock()):
            self.known[at] = self._piece(found)

    def _piece(self, found: list[Event]) -> _Piece:
        frames = tuple((event.seq, _event_frame(self.run.run_id, event)) for event in found)
        return _Piece(frames, more=len(found) == PAGE)

    def _state(self) -> _Piece:
        run_id = self.run.run_id
        found = read_run(self.live, self.run.tenant, run_id, sync=self.live.sync)
        document: Any = found.document
        at = int(document["as_of_seq"])
        text = frame({"type": "snapshot", "run": document, "as_of_seq": at})
        if not fits(text):
            short = {"run_id": run_id, "status": document["status"], "ref": f"/runs/{run_id}"}
            text = frame({"type": "snapshot", "run": short, "as_of_seq": at})
        return _Piece(((at, text),), more=True)


def _reached(live: Live, log: _Log, sub: Subscription, until: float) -> Exception | None:
    """Bring one subscription up to date; return why it is not. No socket holds up another."""
    try:
        while (further := _page(live, log, sub, until)) is not None:
            sub = further
    except SocketGone:
        live.cursors.drop(sub)
    except Exception as error:  # noqa: BLE001 - raised by the caller, after all others
        return error
    return None


def _page(live: Live, log: _Log, sub: Subscription, until: float) -> Subscription | None:
    """Send a page and move the cursor over what was sent; None when there is no more to send."""
    piece = log.after(sub.at)
    frames = piece.frames if sub.told else ((sub.at, _greeting(log.run, sub)), *piece.frames)
    sent = sub
    failure: Exception | None = None
    for position, text in frames:
        if live.clock() >= until:
            failure = _Late()
            break
        try:
            live.post(sub.connection, text)
        except SocketGone:
            raise
        except Exception as error:  # noqa: BLE001 - raised below, once the cursor has moved
            failure = error
            break
        sent = replace(sent, at=position, told=True)
    if sent != sub and not live.cursors.move(sub, sent.at):
        return None
    if failure is None:
        return sent if piece.more else None
    if not isinstance(failure, _Late) and live.failed(sub) >= FAILED_POSTS:
        live.hang_up(sub.connection)
        raise SocketGone(sub.connection) from failure
    raise failure


def _greeting(run: Run, sub: Subscription) -> str:
    return frame(
        {
            "type": "subscribed",
            "run_id": run.run_id,
            "after": sub.at,
            "as_of_seq": run.seq,
            "reconnect_by": iso(sub.reconnect_by),
        }
    )


def _event_frame(run_id: str, event: Event) -> str:
    """Return an event's frame; one that is too large names where its data is (`dataref`).

    https://github.com/cloudevents/spec/blob/main/cloudevents/extensions/dataref.md
    """
    whole: dict[str, Any] = {**cloud_event(run_id, event)}
    text = frame({"type": "event", "event": whole})
    if fits(text):
        return text
    del whole["data"]
    where = {"dataref": f"/runs/{run_id}/events?after={event.seq - 1}&limit=1"}
    return frame({"type": "event", "event": whole | where})
