"""The client drops in the middle of a run and comes back with its last event id.

It is a page that somebody reloads: sockets, JSON and a ticket, nothing of `onward.client`'s way
to follow a run. A worker is frozen meanwhile, so that the middle of a run is as long as it takes.

    client   1 2 3 ×  away            4 … k   live: k+1 … N
    run      1 2 3 4 … k  frozen ──────────── woken
"""

from __future__ import annotations

import json
import socket
import struct
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.request import ProxyHandler, Request, build_opener

from onward.client import ENDS
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from infra.local import workers
from infra.local.drills.finding import claims
from infra.local.drills.stage import PATIENCE, Overdue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from onward.client import CloudEvent
    from websockets.sync.client import ClientConnection

    from infra.local.drills.finding import Finding
    from infra.local.drills.stage import Refund, Stage

NAME: Final = "refresh"

_READ: Final = 3
"""Events that the client sees before its connection is gone."""

_BEYOND: Final = 1000
"""How far ahead of the log a client believes to be."""

_STEP: Final = "number"
_HELD: Final = 40.0
"""Seconds for one answer of an event stream; the service holds it up to 20."""

_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER on, for no time: closing such a socket resets its connection (socket(7))."""

_open = build_opener(ProxyHandler({})).open


@dataclass(frozen=True, slots=True)
class Halted:
    """A run that stands in its middle, at event `at`, and what its client saw before it was cut."""

    refund: Refund
    worker: int
    seen: Sequence[CloudEvent]
    at: int

    @property
    def last(self) -> int:
        """The last event that the client has seen."""
        return _number(self.seen[-1])

    def look(self, position: int | None) -> None:
        """Wake the worker once the client is where the run stands."""
        if position == self.at:
            workers.wake(self.worker)


def rehearse(stage: Stage) -> Iterator[Finding]:
    """Come back by a socket, by a stream of pages, and with an id that the log does not reach."""
    yield _missed_nothing(stage, "socket", _by_socket)
    yield _missed_nothing(stage, "page", _by_page)
    yield _ahead(stage)


def _missed_nothing(
    stage: Stage, case: str, come_back: Callable[[Stage, Halted], list[CloudEvent]]
) -> Finding:
    """Before and after together, the client has seen each event once and in order."""
    with _halted(stage) as halted:
        told = come_back(stage, halted)
    watched = replace(stage.watched(halted.refund), events=[*halted.seen, *told])
    missed, live = halted.at - halted.last, watched.run["as_of_seq"] - halted.at
    broken = claims(
        [
            (missed > 0, "nothing happened while the client was away: the drill shows nothing"),
            (live > 0, "the run had ended before the client was back: the drill shows nothing"),
            (watched.attempts(_STEP) == 1, f"{_STEP} took {watched.attempts(_STEP)} attempts"),
        ]
    )
    note = f"cut off after event {halted.last}; {missed} made up for, {live} more as they happened"
    return stage.judge(NAME, case, watched, broken, [note])


def _ahead(stage: Stage) -> Finding:
    """A log that was put back to an earlier state is met by clients that know more than it does."""
    with _halted(stage) as halted:
        frames = _frames(stage, halted, halted.at + _BEYOND)
    watched = stage.finish(halted.refund)
    kinds = [str(frame["type"]) for frame in frames]
    numbers = [_number(frame["event"]) for frame in frames if frame["type"] == "event"]
    state = next((frame for frame in frames if frame["type"] == "snapshot"), {"as_of_seq": 0})
    whole = list(range(halted.at + 1, watched.run["as_of_seq"] + 1))
    broken = claims(
        [
            (kinds[:2] == ["subscribed", "snapshot"], f"the first frames were {kinds[:2]}"),
            (kinds.count("snapshot") == 1, f"{kinds.count('snapshot')} snapshots"),
            (state["as_of_seq"] == halted.at, f"a snapshot of {state['as_of_seq']}"),
            (numbers == whole, f"the client was told {numbers}, not {whole}"),
        ]
    )
    note = f"its id was {halted.at + _BEYOND}, the log ended at {halted.at}"
    found = stage.judge(NAME, "ahead", watched, broken, [note])
    seen = f"a snapshot of event {state['as_of_seq']}, {len(numbers)} events, then {watched.last}"
    return replace(found, seen=seen)


@contextmanager
def _halted(stage: Stage) -> Iterator[Halted]:
    """See how a run begins, lose the connection, and stay away until it has gone on and stands."""
    refund = stage.submit_freezing(_STEP)
    try:
        seen = _cut_off(stage, refund)
    except BaseException:
        with suppress(Overdue):  # what was in the way of the drill is what there is to tell
            workers.wake(stage.frozen_worker())
        raise
    worker = stage.frozen_worker()
    try:
        yield Halted(refund, worker, seen, stage.onward.get(refund.run_id)["as_of_seq"])
    finally:
        workers.wake(worker)


def _cut_off(stage: Stage, refund: Refund) -> list[CloudEvent]:
    """Return the first events; then the connection is reset, and what was on its way is lost."""
    seen: list[CloudEvent] = []
    with _subscribed(stage, refund, 0) as connection:
        while len(seen) < _READ:
            frame = _frame(connection)
            if frame["type"] == "event":
                seen.append(frame["event"])
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        connection.close_socket()
    return seen


def _by_socket(stage: Stage, halted: Halted) -> list[CloudEvent]:
    """Subscribe with the last event's id."""
    frames = _frames(stage, halted, halted.last)
    return [frame["event"] for frame in frames if frame["type"] == "event"]


def _by_page(stage: Stage, halted: Halted) -> list[CloudEvent]:
    """Ask as EventSource does, which sends the last event's id each time, until it is to stop."""
    run_id = halted.refund.run_id
    ticket = stage.onward.ticket(run_id)["ticket"]
    url = f"{stage.stack.api_url}/runs/{run_id}/events?ticket={ticket}"
    seen = list(halted.seen)

    def over() -> bool:
        text = _stream(url, _number(seen[-1]))
        seen.extend(_told(text))
        halted.look(_number(seen[-1]))
        return not text

    stage.wait(over, "the stream ends", PATIENCE)
    return seen[len(halted.seen) :]


def _frames(stage: Stage, halted: Halted, after: int) -> list[dict[str, Any]]:
    """Return what a socket is sent from a position to the run's end."""
    frames: list[dict[str, Any]] = []
    with _subscribed(stage, halted.refund, after) as connection:
        while not frames or frames[-1].get("event", {}).get("type") not in ENDS:
            frame = _frame(connection)
            frames.append(frame)
            halted.look(_position(frame))
    return frames


@contextmanager
def _subscribed(stage: Stage, refund: Refund, after: int) -> Iterator[ClientConnection]:
    """Open a socket with a ticket and ask for what comes after an event."""
    ticket = stage.onward.socket_ticket()
    url = f"{ticket['url']}?ticket={ticket['ticket']}"
    wish = {"action": "subscribe", "run_id": refund.run_id, "last_event_id": after}
    try:
        with connect(url, proxy=None, open_timeout=_HELD, close_timeout=1) as connection:
            connection.send(json.dumps(wish))
            yield connection
    except (WebSocketException, OSError, ValueError) as error:
        raise Overdue(f"the socket did not last: {error!r}") from error


def _frame(connection: ClientConnection) -> dict[str, Any]:
    """Return the next frame; one that says what is wrong ends the drill."""
    frame: dict[str, Any] = json.loads(connection.recv(timeout=PATIENCE))
    if frame.get("type") not in {"subscribed", "snapshot", "event"}:
        raise Overdue(f"the socket was sent {frame}")
    return frame


def _position(frame: dict[str, Any]) -> int | None:
    """Return where a client is in the log after a frame; a greeting moves nobody."""
    if frame["type"] == "event":
        return _number(frame["event"])
    return int(frame["as_of_seq"]) if frame["type"] == "snapshot" else None


def _stream(url: str, last: int) -> str:
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last)}
    try:
        with _open(Request(url, headers=headers), timeout=_HELD) as answer:  # noqa: S310
            return str(answer.read().decode())
    except OSError as error:
        raise Overdue(f"the stream did not last: {error!r}") from error


def _told(stream: str) -> list[CloudEvent]:
    """Return the events of an answer; comments, and the word that it was the last, have no id."""
    blocks = [
        dict(line.partition(": ")[::2] for line in block.split("\n"))
        for block in stream.split("\n\n")
    ]
    return [json.loads(fields["data"]) for fields in blocks if "id" in fields]


def _number(event: CloudEvent) -> int:
    return int(event["sequence"])
