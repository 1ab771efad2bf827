"""Follow one run: over sockets, and by long polling wherever there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from websockets.exceptions import InvalidHandshake, InvalidURI, WebSocketException
from websockets.sync.client import connect

from onward.client.errors import ClientError, OnwardProblem
from onward.client.feed import QUIET_SECONDS, Feed, Sign, address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from websockets.sync.client import ClientConnection

    from onward.client.shapes import Event, Page, SocketTicket

OPEN_SECONDS = 10.0
_TRIES = 3


class Follower:
    """Yields each event once and in order until the run has ended.

    `ticket` asks once for a ticket, and `page` for the events after a position, held for some
    seconds; it outlasts a service that is away for a while.
    """

    def __init__(
        self,
        feed: Feed,
        ticket: Callable[[], SocketTicket],
        page: Callable[[int, float], Page],
        wait: float,
    ) -> None:
        """Follow from the feed's position; `wait` is how long a page is held (s)."""
        self._feed = feed
        self._ticket = ticket
        self._page = page
        self._wait = wait
        self._ended = False

    def __iter__(self) -> Iterator[Event]:
        """Sockets while they open; after each one that did not, one page by polling."""
        missed = 0
        while not self._ended:
            socket = self._open() if missed < _TRIES else None
            if socket is None:
                missed += 1
                yield from self._look(self._wait)
                continue
            missed = 0
            with socket:
                yield from self._listen(socket)

    def _open(self) -> ClientConnection | None:
        """Open a socket; None where the service has none, or is not there."""
        try:
            ticket = self._ticket()
            socket = connect(
                address(ticket), proxy=_proxy(ticket), open_timeout=OPEN_SECONDS, close_timeout=1
            )
        except (ClientError, InvalidHandshake, InvalidURI, OSError, KeyError, TypeError):
            return None
        return socket

    def _listen(self, socket: ClientConnection) -> Iterator[Event]:
        """Yield until the socket breaks, is due for another, or the run has ended."""
        feed, sign = self._feed, Sign.NOTHING
        try:
            socket.send(feed.subscription())
            while sign is not Sign.RECONNECT and not self._ended:
                try:
                    taken = feed.take(socket.recv(timeout=QUIET_SECONDS))
                except TimeoutError:
                    word = feed.quiet()
                    if word is None:
                        return
                    socket.send(word)
                    continue
                if isinstance(taken, Sign):
                    sign = taken
                else:
                    yield self._whole(taken)
                    sign = feed.after(taken)
                if sign is Sign.LOOK:
                    yield from self._look(0)
        except (WebSocketException, OSError):
            return

    def _look(self, wait: float) -> Iterator[Event]:
        """Yield what a page has, and learn whether that is all there will ever be."""
        feed = self._feed
        page = self._page(feed.position, wait)
        for event in page["events"]:
            if feed.accept(event):
                yield event
        self._ended = page["ended"] and feed.position >= page["as_of_seq"]

    def _whole(self, event: Event) -> Event:
        """Return an event with its data, which a frame only names where it is large."""
        if "data" in event:
            return event
        found = self._page(int(event["sequence"]) - 1, 0)["events"]
        if not found or found[0]["id"] != event["id"]:
            raise OnwardProblem("cursor_expired", 410, "the event is not kept any more")
        return found[0]


def _proxy(ticket: Any) -> Literal[True] | None:
    """The environment's proxy is for what is not on this machine."""
    local = ("ws://127.", "ws://localhost", "ws://[::1]")
    return None if str(ticket["url"]).startswith(local) else True
