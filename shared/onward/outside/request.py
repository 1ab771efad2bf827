"""One HTTP request to somebody else's server, which may be slow, endless, or not who it says.

Redirects are not followed, an answer is read up to a limit, and everything together, the look-up
of the name included, has one deadline: a server that drips a byte a second is as late as one that
says nothing.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, RemoteDisconnected
from typing import TYPE_CHECKING, Final, TypeVar

from onward.outside.addresses import PORTS, AddressRefused, NameUnknown, parse, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onward.outside.addresses import Target

MAX_ANSWER: Final = 64 * 1024
"""Bytes of an answer that are read; the connection is closed on the rest."""

_CONNECT_SECONDS: Final = 3.0
_LEAST_SECONDS: Final = 0.05
_MOST_ADDRESSES: Final = 4

_INFORMATIONAL: Final = frozenset(range(100, 200)) - {101}
_KINDS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (RemoteDisconnected, "the connection was closed without an answer"),
    (ConnectionRefusedError, "the connection was refused"),
    (ConnectionError, "the connection was closed"),
    (ssl.SSLCertVerificationError, "its certificate is not valid"),
    (ssl.SSLError, "TLS failed"),
    (HTTPException, "the answer is no HTTP"),
    (ValueError, "the answer is no HTTP"),
)
"""By the first that an error is one of."""

T = TypeVar("T")


class NoAnswer(Exception):
    """There is no answer; the request may have been carried out all the same."""


class TimedOut(NoAnswer):
    """There was none within the time."""


class Refused(NoAnswer):
    """The address is one that nothing is sent to."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def request(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes = b"",
    *,
    seconds: float,
    local: bool,
    ports: frozenset[int] = PORTS,
) -> Reply:
    """Make one request within so many seconds; raises NoAnswer, TimedOut or Refused."""
    until = time.monotonic() + seconds
    try:
        target = parse(url, local=local)
        addresses = _in_time(lambda: resolve(target, local=local, ports=ports), seconds)[
            :_MOST_ADDRESSES
        ]
    except AddressRefused as error:
        raise Refused(str(error)) from error
    except NameUnknown as error:
        raise NoAnswer(str(error)) from error
    over = threading.Event()
    connection = HTTPConnection(target.host, target.port, timeout=seconds)
    connection.response_class = _Answer
    try:
        plain = _connected(addresses, until)
        left = max(_LEAST_SECONDS, until - time.monotonic())
        plain.settimeout(left)
        with _deadline(plain, left, over):
            connection.sock = _secured(plain, target)
            connection.request(method, target.path, body, {"Host": target.authority, **headers})
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            body = b""
            # The status line is the answer; who cannot finish the rest has answered all the same.
            with suppress(OSError, HTTPException):
                body = answer.read(MAX_ANSWER)
            return Reply(answer.status, told, body)
    except (OSError, HTTPException, ValueError) as error:
        if over.is_set() or isinstance(error, TimeoutError):
            raise TimedOut(f"no answer within {seconds:g} s") from error
        raise NoAnswer(_kind(error)) from error
    finally:
        connection.close()


class _Answer(HTTPResponse):
    """An answer behind all that only announce it (RFC 9110, 15.2); 101 is one: nothing follows.

    As released 100 alone is read past.
    """

    def begin(self) -> None:
        """Read status and headers."""
        super().begin()
        while self.status in _INFORMATIONAL:
            # Or they would be taken for read already.
            self.headers = self.msg = None  # type: ignore[assignment]
            super().begin()


def _kind(error: Exception) -> str:
    """Return what went wrong, in words of our own.

    The text of an error quotes what the other side sent, whoever that is: a banner with a
    password in it, or characters that do something to the terminal of whoever reads it.
    """
    return next((text for kind, text in _KINDS if isinstance(error, kind)), "the connection failed")


class _deadline:  # noqa: N801 - reads as the statement it is
    """Cut a connection when the time is up, whatever it is doing."""

    def __init__(self, plain: socket.socket, seconds: float, over: threading.Event) -> None:
        # A duplicate: TLS takes the socket itself over.
        self._line = plain.dup()
        self._timer = threading.Timer(seconds, self._cut, (self._line, over))
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._line.close()

    @staticmethod
    def _cut(line: socket.socket, over: threading.Event) -> None:
        over.set()
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)


def _in_time(look: Callable[[], T], seconds: float) -> T:
    """Return what a look finds that knows no time-out; raises TimedOut, and leaves it behind."""
    found: Future[T] = Future()

    def run() -> None:
        try:
            found.set_result(look())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            found.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return found.result(seconds)
    except TimeoutError as error:
        raise TimedOut(f"no address within {seconds:g} s") from error


def _connected(addresses: list[tuple[int, tuple[str, int]]], until: float) -> socket.socket:
    """Connect to the first address that answers, before a time of the monotonic clock."""
    failure: OSError | None = None
    for tried, (family, address) in enumerate(addresses):
        share = (until - time.monotonic()) / (len(addresses) - tried)
        plain = socket.socket(family, socket.SOCK_STREAM)
        plain.settimeout(max(_LEAST_SECONDS, min(share, _CONNECT_SECONDS)))
        try:
            plain.connect(address)
        except OSError as error:
            plain.close()
            failure = error
        else:
            return plain
    raise failure or OSError("no address")


def _secured(plain: socket.socket, target: Target) -> socket.socket:
    """Put TLS on a connection; the certificate has to name the host of the URL."""
    if target.scheme == "http":
        return plain
    return ssl.create_default_context().wrap_socket(plain, server_hostname=target.host)
