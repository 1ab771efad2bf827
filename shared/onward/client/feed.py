"""What a socket says of one run, read without a socket: each event once and in order.

The same for both clients; whoever owns the connection asks this what its frames mean.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from onward.client.errors import OnwardProblem
from onward.domain.events import ENDS as RUN_ENDS
from onward.domain.events import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onward.client.wire import BackOff
    from onward.documents.runs import CloudEvent, EventPage

QUIET_SECONDS: Final = 15.0
"""After so long without a frame the service is asked where the log is; sockets idle ten minutes."""

ENDS: Final = frozenset(NAMESPACE + kind for kind in RUN_ENDS)
"""Types of the events with which a run ends."""

TRIES: Final = 3
"""Sockets in a row that bring nothing; then a run is followed by polling alone for a while."""

_POLLING_SECONDS: Final = 60.0
_LONGEST_REST: Final = 30.0
_STATUS: Final = {"run_not_found": 404, "too_many_subscriptions": 429}
# What reading JSON of another shape than was promised can raise.
_ODD: Final = (KeyError, TypeError, ValueError, OverflowError, RecursionError)


class Sign(Enum):
    """What a frame without an event asks for."""

    NOTHING = "nothing"
    LOOK = "look"
    """The log may have ended: a page tells for certain."""
    RECONNECT = "reconnect"
    """Something is missing, or the socket is about to be closed."""


@dataclass(slots=True)
class Feed:
    """One run's events behind a position, over as many sockets as it takes."""

    run_id: str
    position: int
    reconnect_by: datetime | None = None
    pinged: bool = False
    heard: bool = False
    ended: bool = False

    def subscription(self) -> str:
        """Return the message that asks for everything behind the position."""
        self.reconnect_by, self.pinged = None, False
        return json.dumps(
            {"action": "subscribe", "run_id": self.run_id, "last_event_id": self.position}
        )

    def quiet(self) -> str | None:
        """Return what to say after a time without frames; None when the socket is dead."""
        if self.pinged:
            return None
        self.pinged = True
        return json.dumps({"action": "ping"})

    def take(self, text: str | bytes) -> CloudEvent | Sign:
        """Return the event of a frame if it is the next one, else what the frame asks for.

        What is no frame of ours, such as the gateway's "Internal server error" or the words of a
        handler that died, says that something went wrong on the way: it asks for another socket.
        Raises OnwardProblem for what the service refuses.
        """
        self.pinged = False
        try:
            frame = json.loads(text)
            return self._meaning(frame) if isinstance(frame, dict) else Sign.RECONNECT
        except _ODD:
            return Sign.RECONNECT

    def _meaning(self, frame: dict[str, Any]) -> CloudEvent | Sign:
        """Return what a frame means; raises one of `_ODD` where it lacks what its type promises."""
        kind = frame.get("type")
        if kind == "event":
            return self._event(frame["event"])
        if kind == "subscribed":
            behind = frame["as_of_seq"] > self.position
            self.reconnect_by = _moment(frame["reconnect_by"])
            # What is behind the position comes by itself; where nothing is, nothing does.
            return Sign.NOTHING if behind else Sign.LOOK
        if kind == "pong":
            if self.run_id not in frame["runs"]:
                return Sign.RECONNECT
            # After such a silence either nothing happens or its wake-up is lost: a page tells.
            self.heard = True
            return Sign.LOOK
        if kind == "snapshot":
            self.take_up(int(frame["as_of_seq"]))
            return Sign.LOOK
        if kind == "error":
            status = _STATUS.get(frame["code"], 400)
            raise OnwardProblem(frame["code"], status, frame["message"])
        return Sign.RECONNECT

    def accept(self, event: CloudEvent) -> bool:
        """Move on to an event, whichever way it came; False for one that was there before."""
        sequence = int(event["sequence"])
        if sequence <= self.position:
            return False
        self.position = sequence
        return True

    def take_up(self, seq: int) -> None:
        """Go on behind `seq`: the log has no events behind the position, which is another log's.

        What happened in between is in the snapshot (`get`) and nowhere else.
        """
        self.position = seq
        self.heard = True

    def refused(self, problem: OnwardProblem) -> None:
        """Go on where a page was refused with 410; raises the problem if that is no help."""
        seq = problem.as_of_seq
        if problem.code != "cursor_expired" or seq is None or seq == self.position:
            raise problem
        self.take_up(seq)

    def read(self, page: EventPage) -> list[CloudEvent]:
        """Return what is new on a page, and learn whether that is all there will ever be."""
        fresh = [event for event in page["events"] if self.accept(event)]
        self.ended = page["ended"] and self.position >= page["as_of_seq"]
        return fresh

    def rest(self, page: EventPage) -> float:
        """Return the seconds that a page asks to wait before the next: it could not be held."""
        wish: Any = page.get("retry_after", 0)
        if self.ended or not isinstance(wish, int | float):
            return 0.0
        return min(_LONGEST_REST, max(0.0, wish))

    def after(self, event: CloudEvent) -> Sign:
        """Return what is to be done once an event was passed on."""
        if event["type"] in ENDS:
            return Sign.LOOK
        due = self.reconnect_by is not None and datetime.now(UTC) >= self.reconnect_by
        return Sign.RECONNECT if due else Sign.NOTHING

    def _event(self, event: Any) -> CloudEvent | Sign:
        if not (isinstance(event["id"], str) and isinstance(event["type"], str)):
            raise TypeError("an event has an id and a type")
        sequence = int(event["sequence"])
        if sequence > self.position + 1:
            return Sign.RECONNECT
        fresh: CloudEvent = event
        if not self.accept(fresh):
            return Sign.NOTHING
        self.heard = True
        return fresh


@dataclass(slots=True)
class Turns:
    """Whose turn it is, a socket's or polling's.

    A socket counts for what it brings, an event or at least an answer after a silence. One that
    does not open, is refused or closed at once, or greets and then leaves events out, is followed
    by a page and a pause, so whatever is wrong with sockets the run is followed.
    """

    back_off: BackOff
    missed: int = 0
    polling_until: float = -math.inf
    pauses: Iterator[float] = field(init=False)

    def __post_init__(self) -> None:
        self.pauses = self.back_off.pauses(math.inf)

    def pause(self) -> float | None:
        """Return how long to wait (s) before the next socket; None while it is polling's turn."""
        if self.missed >= TRIES and self.back_off.clock() < self.polling_until:
            return None
        return next(self.pauses)

    def brought(self, feed: Feed) -> bool:
        """Whether the socket before brought anything; if it did not, a page is to be polled."""
        heard, feed.heard = feed.heard, False
        if heard or feed.ended:
            self.missed, self.pauses = 0, self.back_off.pauses(math.inf)
            return True
        self.missed += 1
        self.polling_until = self.back_off.clock() + _POLLING_SECONDS
        return False


def whole(event: CloudEvent, page: EventPage) -> CloudEvent:
    """Return an event with its data, from the page that its frame named for it."""
    found = page["events"]
    if not found or found[0]["id"] != event["id"]:
        raise OnwardProblem("cursor_expired", 410, "the event is not kept any more")
    return found[0]


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without an offset is no time")
    return moment


def address(ticket: Any) -> str:
    """Return where a ticket opens a socket."""
    return f"{ticket['url']}?ticket={ticket['ticket']}"
