"""A webhook's receiver for tests and drills, which believes nothing that it has not checked.

It verifies signatures by itself, from the text of the Standard Webhooks specification and not
with the library that made them, and answers as it is told: fails, hangs, answers late, loses its
answer, redirects. What it acknowledged is kept in the order of arrival.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from base64 import b64decode, b64encode
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

LOOPBACK: Final = "127.0.0.1"
TOLERANCE: Final = 300
"""Seconds by which a timestamp may be off (the specification's)."""


@dataclass(frozen=True, slots=True)
class Told:
    """How to answer one request: a status, perhaps late, perhaps with headers, perhaps not at all.

    `cut`: the request counts as received and the connection is closed without an answer.
    """

    status: int = HTTPStatus.NO_CONTENT
    seconds: float = 0.0
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request that was signed as it should be."""

    webhook_id: str
    run_id: str
    sequence: int
    type: str
    at: float
    status: int
    signatures: int


@dataclass
class Subscriber:
    """What it has heard. `answer` decides about a request by its number and its event.

    `says` is what its `status_url` calls the last event instead of the truth; `asked` counts.
    """

    secrets: list[str] = field(default_factory=list)
    answer: Callable[[int, dict[str, Any]], Told] = lambda _number, _event: Told()
    clock: Callable[[], float] = time.time
    status: Callable[[str], Told] | None = None
    arrivals: list[Arrival] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    greetings: int = 0
    asked: int = 0
    says: str = ""
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def heard(self, run_id: str | None = None) -> list[Arrival]:
        """Return what was acknowledged, each event once, in the order in which it came first."""
        with self.lock:
            found = [a for a in self.arrivals if a.status // 100 == 2]  # noqa: PLR2004
        first = {a.webhook_id: a for a in reversed(found) if run_id in {None, a.run_id}}
        return sorted(first.values(), key=lambda arrival: arrival.at)

    def last(self, run_id: str) -> int:
        """Return the last event of a run that was acknowledged, 0 for none."""
        return max((arrival.sequence for arrival in self.heard(run_id)), default=0)

    def out_of_order(self) -> list[str]:
        """Return the runs whose events were heard in another order than that of the log."""
        by_run: dict[str, list[int]] = {}
        for arrival in self.heard():
            by_run.setdefault(arrival.run_id, []).append(arrival.sequence)
        return [run_id for run_id, numbers in by_run.items() if numbers != sorted(numbers)]

    def strange_duplicates(self) -> list[str]:
        """Return the events that came under more than one `webhook-id`."""
        with self.lock:
            pairs = {((a.run_id, a.sequence), a.webhook_id) for a in self.arrivals}
        count = Counter(event for event, _ in pairs)
        return [f"{run_id}/{number}" for (run_id, number), n in count.items() if n > 1]

    def take(self, headers: Mapping[str, str], body: bytes) -> Told:
        """Check a request and say how it is answered."""
        if not verified(self.secrets, headers, body, self.clock()):
            self.refused.append(headers.get("webhook-id", ""))
            return Told(HTTPStatus.UNAUTHORIZED)
        event = json.loads(body)
        with self.lock:
            told = self.answer(len(self.arrivals), event)
            run_id, _, number = event["id"].partition("/")
            signatures = len(headers["webhook-signature"].split())
            status = HTTPStatus.NO_CONTENT if told.cut else told.status
            self.arrivals.append(
                Arrival(
                    headers["webhook-id"],
                    run_id,
                    int(number),
                    event["type"],
                    time.monotonic(),
                    status,
                    signatures,
                )
            )
        return told


def verified(secrets: list[str], headers: Mapping[str, str], body: bytes, now: float) -> bool:
    """Whether one of the signatures is ours, over what came, and of now.

    https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
    """
    stamp, webhook_id = headers.get("webhook-timestamp", ""), headers.get("webhook-id", "")
    if not stamp.isdigit() or abs(now - int(stamp)) > TOLERANCE or not webhook_id:
        return False
    signed = b".".join([webhook_id.encode(), stamp.encode(), body])
    for secret in secrets:
        key = b64decode(secret.removeprefix("whsec_"))
        digest = b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        if f"v1,{digest}" in headers.get("webhook-signature", "").split(" "):
            return True
    return False


class _Desk(BaseHTTPRequestHandler):
    subscriber: Subscriber

    def do_POST(self) -> None:
        """Take an event."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._say(self.subscriber.take(headers, body))

    def do_GET(self) -> None:
        """Say how far a run has been heard: what a `status_url` is for."""
        query = parse_qs(urlsplit(self.path).query)
        run_id = query.get("run_id", [""])[0]
        told = self.subscriber.status(run_id) if self.subscriber.status else None
        self.subscriber.asked += 1
        number = self.subscriber.says or str(self.subscriber.last(run_id))
        self._say(told or Told(HTTPStatus.OK), f'{{"sequence": {number}}}'.encode())

    def do_OPTIONS(self) -> None:
        """Welcome webhooks, or redirect whoever asks."""
        self.subscriber.greetings += 1
        moved = self.path.endswith("/moved")
        location = (("Location", "http://169.254.169.254/latest/meta-data"),)
        self._say(Told(HTTPStatus.FOUND, headers=location) if moved else Told(HTTPStatus.OK))

    def _say(self, told: Told, body: bytes = b"") -> None:
        if told.seconds:
            time.sleep(told.seconds)
        if told.cut:
            self.close_connection = True
            return
        with suppress(OSError):  # the sender has given up
            self.send_response(told.status)
            for name, value in told.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it is called by
        """Keep quiet: the arrivals have it."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


@contextmanager
def subscribed(**how: Any) -> Iterator[Subscriber]:
    """Run a receiver on a free port of the loopback."""
    subscriber = Subscriber(**how)
    server = _Server((LOOPBACK, 0), type("Desk", (_Desk,), {"subscriber": subscriber}))
    subscriber.url = f"http://{LOOPBACK}:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield subscriber
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
