"""Amazon Bedrock on loopback: a real HTTP server that answers Converse from a script."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Answer:
    """One scripted reply; `hang` keeps the connection open without one until the test ends."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False


def says(value: Any, *, tokens: tuple[int, int] = (100, 20)) -> Answer:
    """The model calls the tool with this input."""
    call = {"toolUse": {"toolUseId": "t1", "name": "answer", "input": value}}
    return stops("tool_use", [{"text": "Let me see."}, call], tokens)


def stops(
    reason: str, content: list[dict[str, Any]], tokens: tuple[int, int] = (100, 20)
) -> Answer:
    """The model stops for a reason, having said this."""
    sent, received = tokens
    body = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": reason,
        "usage": {"inputTokens": sent, "outputTokens": received, "totalTokens": sent + received},
        "metrics": {"latencyMs": 5},
    }
    return Answer(200, body)


def refuses(status: int, code: str, **headers: str) -> Answer:
    """The service answers with an error."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"message": f"{code} it is"}, {"x-amzn-errortype": code} | named)


HANGS = Answer(200, {}, hang=True)


@dataclass
class Bedrock:
    """The scripted service; `asked` holds the model and body of each request."""

    url: str
    script: list[Answer]
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def prompt(self, number: int) -> str:
        """The text of one request."""
        text: str = self.asked[number][1]["messages"][0]["content"][0]["text"]
        return text


def serve() -> Iterator[Bedrock]:
    """Serve until the generator is closed."""
    bedrock = Bedrock("", [])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            bedrock.asked.append((unquote(self.path.split("/")[2]), body))
            answer = bedrock.script.pop(0)
            if answer.hang:
                bedrock.over.wait(30)
                return
            content = json.dumps(answer.body).encode()
            self.send_response(answer.status)
            headers = {"content-type": "application/json", "content-length": str(len(content))}
            for name, value in (headers | answer.headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    bedrock.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield bedrock
    finally:
        bedrock.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
