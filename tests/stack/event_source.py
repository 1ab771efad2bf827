"""Two clients of an event stream that lose their connections at random.

`EventSource` follows the WHATWG standard (HTML, 9.2) to the letter: what a browser does.
`Script` is what somebody writes with curl: a header from the last whole frame, until `end` or
nothing comes.
Both read from a bare socket, so that an answer can be cut at any byte.
"""

from __future__ import annotations

import json
import random
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

FASTER = 20
"""The service asks for 1 s between connections; a test need not take all of it."""

_RESET = struct.pack("ii", 1, 0)
_PATIENCE = 30.0


@dataclass
class Line:
    """Connections to one address, each of which is cut after so many bytes by a die."""

    url: str
    dice: random.Random
    longest: int
    cuts: int = 0
    asked: int = 0

    def get(self, headers: dict[str, str]) -> bytes:
        """Return what arrived of one answer, head and body."""
        self.asked += 1
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        left = self.dice.randrange(self.longest)
        with socket.create_connection((parts.hostname, parts.port or 80), _PATIENCE) as line:
            line.sendall(_request(parts.path, parts.query, parts.netloc, headers))
            got = b""
            while left > 0 and (more := line.recv(left)):
                got += more
                left -= len(more)
                if _whole(got):
                    return got
            self.cuts += 1
            if self.dice.random() < 0.5:  # half of them without a goodbye
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        return got


def _request(path: str, query: str, host: str, headers: dict[str, str]) -> bytes:
    target = f"{path}?{query}" if query else path
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}", "Accept: text/event-stream"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode()


def _whole(got: bytes) -> bool:
    """Whether an answer has arrived to its last byte, by its own length."""
    head, found, body = got.partition(b"\r\n\r\n")
    fields = _fields(head)
    return bool(found) and len(body) >= int(fields.get("content-length", 0))


def _fields(head: bytes) -> dict[str, str]:
    lines = [line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:]]
    return {name.lower(): value.strip() for name, _, value in lines}


@dataclass
class EventSource:
    """The standard's state: what is dispatched, the last event's id, the time to reconnect."""

    line: Line
    seen: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    last_id: str = ""
    retry: float = 3.0
    ended: bool = False

    def run(self, until: float) -> None:
        """Connect again and again until the service says that there is nothing more."""
        while time.monotonic() < until:
            headers = {"Last-Event-ID": self.last_id} if self.last_id else {}
            head, found, body = self.line.get(headers).partition(b"\r\n\r\n")
            if found:
                status = int(head.split(b" ", 2)[1])
                if status != 200:
                    assert status == 204, head
                    return
                assert _fields(head)["content-type"].split(";")[0] == "text/event-stream"
                self._interpret(body)
            time.sleep(self.retry / FASTER)
        raise AssertionError("the stream did not end in time")

    def _interpret(self, body: bytes) -> None:
        """Dispatch every event whose empty line has arrived; discard the one that was cut."""
        data, kind, identity = "", "", self.last_id
        *lines, _cut = body.decode("utf-8", "ignore").split("\n")
        for line in lines:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if line == "":
                self.last_id = identity
                if data:
                    self._dispatch(kind or "message", data.removesuffix("\n"))
                data, kind = "", ""
            elif name == "data":
                data += value + "\n"
            elif name == "event":
                kind = value
            elif name == "id" and "\0" not in value:
                identity = value
            elif name == "retry" and value.isascii() and value.isdigit():
                self.retry = int(value) / 1000

    def _dispatch(self, kind: str, data: str) -> None:
        if kind == "end":
            self.ended = True
        else:
            self.seen.append((int(self.last_id), json.loads(data)))


@dataclass
class Script:
    """Splits at empty lines and looks for three words; of statuses it knows the 204."""

    line: Line
    key: str
    seen: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    def run(self, until: float) -> None:
        """Ask until the service says that all is told."""
        while time.monotonic() < until:
            last = {"Last-Event-ID": str(self.seen[-1][0])} if self.seen else {}
            got = self.line.get({"Authorization": f"Bearer {self.key}"} | last)
            if got.startswith(b"HTTP/1.1 204"):
                return
            *frames, _cut = got.partition(b"\r\n\r\n")[2].split(b"\n\n")
            for frame in frames:
                fields = dict(line.split(": ", 1) for line in frame.decode().split("\n"))
                if fields.get("event") == "end":
                    return
                if "id" in fields:
                    self.seen.append((int(fields["id"]), json.loads(fields["data"])))
            time.sleep(0.02)
        raise AssertionError("the stream did not end in time")
