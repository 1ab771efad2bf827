"""A service on a real socket that answers from a table, for commands that must find one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class ScriptedApi:
    """Routes are `"METHOD /path"` → status and JSON, or bytes; events are paged like the real log.

    What is in `turns` is answered first, each once.
    """

    url: str = ""
    routes: dict[str, tuple[int, Any]] = field(default_factory=dict)
    turns: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)
    log: list[dict[str, Any]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def answer(self, asked: Asked) -> tuple[int, Any]:
        self.asked.append(asked)
        parts = urlsplit(asked.path)
        route = f"{asked.method} {parts.path}"
        if self.turns.get(route):
            return self.turns[route].pop(0)
        if parts.path.endswith("/events"):
            after = int(parse_qs(parts.query)["after"][0])
            page = {"events": self.log[after:], "next_after": len(self.log), "ended": True}
            return 200, page | {"as_of_seq": len(self.log)}
        missing = {"code": "run_not_found", "detail": "no such run", "status": 404}
        return self.routes.get(route, (404, missing))


def serve() -> Iterator[ScriptedApi]:
    """Answer on a free port of this machine until the generator is closed."""
    api = ScriptedApi()

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, document = api.answer(
                Asked(self.command, self.path, dict(self.headers.items()), body)
            )
            content = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            """Keep the test output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
