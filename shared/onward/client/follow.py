"""Follow one run: over sockets, and by long polling wherever there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from onward.client.errors import ClientError, OnwardProblem
from onward.client.feed import QUIET_SECONDS, Feed, Sign, Turns, address, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from websockets.sync.client import ClientConnection

    from onward.client.wire import BackOff
    from onward.documents.runs import CloudEvent, EventPage, SocketTicketView

OPEN_SECONDS = 10.0

NOT_OPENED = (
    ClientError,
    WebSocketException,
    OSError,
    ImportError,  # the library for a SOCKS proxy
    KeyError,
    TypeError,
    ValueError,  # what is no ticket, and addresses that are none
)
"""What getting a ticket and opening a socket with it can raise."""


class Follower:
    """Yields each event once and in order until the run has ended.

    `ticket` asks once for a ticket, and `page` for the events after a position, held for some
    seconds; it outlasts a service that is away for a while.
    """

    def __init__(
        self,
        feed: Feed,
        ticket: Callable[[], SocketTicketView],
        page: Callable[[int, float], EventPage],
        wait: float,
        back_off: BackOff,
    ) -> None:
        """Follow from the feed's position; `wait` is how long a page is held (s)."""
        self._feed = feed
        self._ticket = ticket
        self._page = page
        self._wait = wait
        self._back_off = back_off

    def __iter__(self) -> Iterator[CloudEvent]:
        """Sockets while they bring something; after each one that did not, a page by polling."""
        feed, turns = self._feed, Turns(self._back_off)
        while not feed.ended:
            pause = turns.pause()
            if pause is not None:
                self._back_off.sleep(pause)
                yield from self._over_socket()
                if turns.brought(feed):
                    continue
            yield from self._look(self._wait)

    def _over_socket(self) -> Iterator[CloudEvent]:
        """Yield what one socket brings; nothing where there is none."""
        socket = self._open()
        if socket is not None:
            with socket:
                yield from self._listen(socket)

    def _open(self) -> ClientConnection | None:
        """Open a socket; None where the service has none, or is not there."""
        try:
            ticket = self._ticket()
            socket = connect(
                address(ticket), proxy=proxy(ticket), open_timeout=OPEN_SECONDS, close_timeout=1
            )
        except NOT_OPENED:
            return None
        return socket

    def _listen(self, socket: ClientConnection) -> Iterator[CloudEvent]:
        """Yield until the socket breaks, is due for another, or the run has ended."""
        feed, sign = self._feed, Sign.NOTHING
        try:
            socket.send(feed.subscription())
            while sign is not Sign.RECONNECT and not self._feed.ended:
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

    def _look(self, wait: float) -> Iterator[CloudEvent]:
        """Yield what a page has, and learn whether that is all there will ever be."""
        feed = self._feed
        try:
            page = self._page(feed.position, wait)
        except OnwardProblem as problem:
            feed.refused(problem)
            return
        yield from feed.read(page)
        if rest := feed.rest(page):
            self._back_off.sleep(rest)

    def _whole(self, event: CloudEvent) -> CloudEvent:
        """Return an event with its data, which a frame only names where it is large."""
        if "data" in event:
            return event
        return whole(event, self._page(int(event["sequence"]) - 1, 0))


def proxy(ticket: Any) -> Literal[True] | None:
    """Return the proxy to take: the environment's proxy is for what is not on this machine."""
    local = ("ws://127.", "ws://localhost", "ws://[::1]")
    return None if str(ticket["url"]).startswith(local) else True
