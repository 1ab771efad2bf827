"""Sockets on this machine that send what they are told to, and the frames to tell them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

LATER = "2099-01-01T00:00:00.000Z"
CUT = "cut"


def event(seq: int, kind: str = "step.progress", **members: Any) -> dict[str, Any]:
    made = {"id": f"run_1/{seq}", "sequence": f"{seq:010d}", "type": f"onward.{kind}"}
    return made | ({"data": {}} if "dataref" not in members else {}) | members


def sent(seq: int, kind: str = "step.progress", **members: Any) -> str:
    return json.dumps({"type": "event", "event": event(seq, kind, **members)})


def subscribed(after: int, as_of_seq: int, by: str = LATER) -> str:
    frame = {"type": "subscribed", "run_id": "run_1", "after": after, "as_of_seq": as_of_seq}
    return json.dumps(frame | {"reconnect_by": by})


@dataclass
class Sockets:
    """Each connection is sent the next script, then closed at `CUT` or held open.

    `left` is set once a client has closed one.
    """

    scripts: deque[list[str]]
    url: str = ""
    heard: list[dict[str, Any]] = field(default_factory=list)
    left: Event = field(default_factory=Event)

    def handle(self, socket: ServerConnection) -> None:
        try:
            self.heard.append(json.loads(socket.recv()))
            for frame in self.scripts.popleft() if self.scripts else []:
                if frame == CUT:
                    socket.socket.close()
                    return
                socket.send(frame)
            socket.recv()
        except (ConnectionClosed, OSError):
            self.left.set()


@contextmanager
def sockets(*scripts: list[str]) -> Iterator[Sockets]:
    scripted = Sockets(deque(scripts))
    with serve(scripted.handle, "127.0.0.1", 0) as server:
        scripted.url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield scripted
        finally:
            server.shutdown()
            thread.join()
