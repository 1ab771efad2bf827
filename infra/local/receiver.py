"""The outside of the drills: what refunds write to, and the truth about what was written.

It is a process of its own that knows nothing of Onward: `python -m infra.local.receiver LEDGER`
prints its address and serves until it is ended. Every arrival and every effect is a line of the
ledger file, which it reads again when it is started anew.

POST /writes   {order_id, action, body}; headers Idempotency-Key, Fence and, to rehearse, Rehearse
GET  /writes   ?key=          what was written under a key: for probes
GET  /ledger   ?order_id=     arrivals, effects and refusals of each action; requests in flight
POST /faults   {order_id, action, kind, times, seconds}, or {order_id, action, discipline}
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

LOOPBACK: Final = "127.0.0.1"

DISCIPLINES: Final = {
    "number": "keys",
    "release": "fences",
    "book": "none",
    "notify": "keys",
    "account": "keys",
    "close": "keys",
}
"""What a part of the outside does with a write that comes again: `keys` answers as it did the
first time, `fences` keeps the one with the highest fence and refuses lower ones, and `none`
writes once more. A receiver of the last kind is where resending does harm."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger: an `arrival`, or what became of it.

    That is an `effect`, a `repeat` of one whose key is known, a `replacement` of one whose fence
    was lower, or it was `rejected` for its fence or `refused` as a fault told.
    """

    what: str
    order_id: str
    action: str
    key: str
    fence: int
    at: float
    reference: str = ""
    amount: str = ""

    @property
    def subject(self) -> tuple[str, str]:
        """What there must be one effect of."""
        return self.order_id, self.action


@dataclass(slots=True)
class Program:
    """A fault that strikes so many times; `seconds` is how late, for those that are late."""

    kind: str
    times: int
    seconds: float


@dataclass(slots=True)
class Books:
    """What was written. Every method holds the lock, and the ledger file is ahead of the answer."""

    ledger: Path
    entries: list[Entry] = field(default_factory=list)
    programs: dict[tuple[str, str], list[Program]] = field(default_factory=dict)
    disciplines: dict[tuple[str, str], str] = field(default_factory=dict)
    in_flight: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        """Take up the ledger where an earlier process left it."""
        if self.ledger.exists():
            lines = self.ledger.read_text().splitlines()
            self.entries = [Entry(**json.loads(line)) for line in lines]

    def note(self, what: str, of: Entry, reference: str = "") -> Entry:
        """Write one line down."""
        line = replace(of, what=what, at=time.time(), reference=reference)
        with self.lock, self.ledger.open("a") as file:
            file.write(json.dumps(asdict(line)) + "\n")
            self.entries.append(line)
        return line

    def write(self, arrival: Entry) -> tuple[HTTPStatus, dict[str, Any]]:
        """Let a request have its effect, or none, as this part of the outside would."""
        with self.lock:
            discipline = self.disciplines.get(
                arrival.subject, DISCIPLINES.get(arrival.action, "keys")
            )
            standing = self._standing(arrival, discipline)
            if standing is None:
                reference = f"{arrival.action}-{len(self.entries):06d}"
                return HTTPStatus.CREATED, _receipt(self.note("effect", arrival, reference))
            if discipline == "fences" and arrival.fence < standing.fence:
                self.note("rejected", arrival)
                return HTTPStatus.CONFLICT, {"error": f"fence {standing.fence} came before"}
            newer = discipline == "fences" and arrival.fence > standing.fence
            what = "replacement" if newer else "repeat"
            return HTTPStatus.OK, _receipt(self.note(what, arrival, standing.reference))

    def _standing(self, arrival: Entry, discipline: str) -> Entry | None:
        """Return what an arrival meets: under its key, or whatever holds the highest fence."""
        if discipline == "none":
            return None
        mine = [e for e in self.entries if e.subject == arrival.subject and e.reference]
        if discipline == "keys":
            return next((e for e in mine if e.key == arrival.key), None)
        return max(mine, key=lambda entry: entry.fence, default=None)

    def under(self, key: str) -> list[dict[str, Any]]:
        """Return the receipts of what was written under a key."""
        return [_receipt(entry) for entry in self._effects(key)]

    def amounts(self, key: str) -> list[str]:
        """Return the amounts that were written under a key."""
        return [entry.amount for entry in self._effects(key)]

    def _effects(self, key: str) -> list[Entry]:
        with self.lock:
            return [e for e in self.entries if e.what == "effect" and e.key == key]

    def counts(self, order_id: str | None) -> dict[str, dict[str, dict[str, int]]]:
        """Return how often each kind of line was written, by order and action."""
        found: dict[str, dict[str, dict[str, int]]] = {}
        with self.lock:
            tally = Counter((e.order_id, e.action, e.what) for e in self.entries)
        for (order, action, what), count in tally.items():
            if order_id in {None, order}:
                found.setdefault(order, {}).setdefault(action, {})[what] = count
        return found

    def program(self, told: dict[str, Any]) -> None:
        """Take orders: a discipline for a subject, or a fault to come."""
        subject = (str(told["order_id"]), str(told["action"]))
        with self.lock:
            if "discipline" in told:
                self.disciplines[subject] = str(told["discipline"])
                return
            fault = Program(
                str(told["kind"]), int(told.get("times", 1)), float(told.get("seconds", 0))
            )
            self.programs.setdefault(subject, []).append(fault)

    def fault(self, arrival: Entry) -> Program | None:
        """Return the programmed fault that strikes this arrival, and count it down."""
        with self.lock:
            for fault in self.programs.get(arrival.subject, []):
                if fault.times > 0:
                    fault.times -= 1
                    return fault
        return None


def _receipt(entry: Entry) -> dict[str, Any]:
    return {"reference": entry.reference, "action": entry.action, "order_id": entry.order_id}


class Desk(BaseHTTPRequestHandler):
    """Serves one request; a thread each, so that late ones hold up nobody."""

    books: Books

    def do_POST(self) -> None:
        """Take a write or an order what to do with writes."""
        told = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if urlsplit(self.path).path == "/faults":
            self.books.program(told)
            self._say(HTTPStatus.OK, {})
            return
        entry = Entry(
            "arrival",
            str(told["order_id"]),
            str(told["action"]),
            self.headers.get("Idempotency-Key", ""),
            int(self.headers.get("Fence", 0)),
            time.time(),
            amount=str(told.get("body", {}).get("amount", "")),
        )
        with self.books.lock:
            self.books.in_flight += 1
        try:
            self._write(self.books.note("arrival", entry))
        finally:
            with self.books.lock:
                self.books.in_flight -= 1

    def do_GET(self) -> None:
        """Tell what was written."""
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/writes":
            key = query.get("key", "")
            found = {"effects": self.books.under(key), "amounts": self.books.amounts(key)}
            self._say(HTTPStatus.OK, found)
            return
        counts = self.books.counts(query.get("order_id"))
        self._say(HTTPStatus.OK, {"orders": counts, "in_flight": self.books.in_flight})

    def _write(self, arrival: Entry) -> None:
        """Carry a write out as the fault says that strikes it, if one does."""
        kind, seconds = self._fault(arrival)
        if kind == "row_lock":
            self.books.note("refused", arrival)
            self._say(HTTPStatus.LOCKED, {"error": "the row is locked by another transaction"})
            return
        if kind == "rate_limit":
            self.books.note("refused", arrival)
            after = {"Retry-After": f"{seconds:g}"}
            self._say(HTTPStatus.TOO_MANY_REQUESTS, {"error": "too many requests"}, after)
            return
        if kind == "late_landing":
            # Whoever sent this may be dead by then; the request is not.
            time.sleep(seconds)
        status, answer = self.books.write(arrival)
        if kind == "lost_reply":
            return
        if kind == "slow":
            time.sleep(seconds)
        self._say(status, answer)

    def _fault(self, arrival: Entry) -> tuple[str, float]:
        """Return what the sender wants to rehearse, or what was programmed before."""
        kind, _, seconds = self.headers.get("Rehearse", "").partition(";")
        if kind:
            return kind, float(seconds or 0)
        programmed = self.books.fault(arrival)
        return (programmed.kind, programmed.seconds) if programmed else ("", 0.0)

    def _say(
        self, status: HTTPStatus, answer: dict[str, Any], headers: dict[str, str] | None = None
    ) -> None:
        body = json.dumps(answer).encode()
        with suppress(OSError):  # the sender is gone
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it is called by
        """Keep quiet: the ledger has it."""


class Server(ThreadingHTTPServer):
    """Takes bursts: fifty refunds may ring at once."""

    request_queue_size = 256
    daemon_threads = True


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    handler = type("Handler", (Desk,), {"books": Books(options.ledger)})
    server = Server((LOOPBACK, options.port), handler)
    print(json.dumps({"url": f"http://{LOOPBACK}:{server.server_port}"}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
