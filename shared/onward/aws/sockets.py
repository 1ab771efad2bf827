"""Frames to open sockets, through API Gateway's management API."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FRAME_BYTES: Final = 32 * 1024
"""The largest frame of API Gateway (a larger message is cut into several, and billed so)."""


class SocketGone(LookupError):
    """The socket is closed, or was never one of ours."""


class Sockets:
    """The sockets of one WebSocket stage."""

    def __init__(self, client: Callable[[], Any]) -> None:
        """`client` returns the management API's client; it is called when there is a frame."""
        self._make = client
        self._lock = threading.Lock()

    def post(self, connection: str, text: str) -> None:
        """Send one frame; raises SocketGone."""
        client = self._client()
        try:
            client.post_to_connection(ConnectionId=connection, Data=text.encode())
        except client.exceptions.GoneException as error:
            raise SocketGone(connection) from error

    def hang_up(self, connection: str) -> bool:
        """Close a socket and return whether it was open; one that is closed stays so."""
        client = self._client()
        try:
            client.delete_connection(ConnectionId=connection)
        except client.exceptions.GoneException:
            return False
        return True

    def _client(self) -> Any:
        """Return the client, made once: the first frames may come from several threads."""
        with self._lock:
            return self._make()


def frame(document: Mapping[str, Any]) -> str:
    """Return a frame's text."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def fits(text: str) -> bool:
    """Whether a text is one frame."""
    return len(text.encode()) <= FRAME_BYTES


def reachable(url: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return where clients open a stage's sockets: its address, or its place in an emulator.

    `wss://{api}.execute-api.{region}.amazonaws.com/{stage}` is in no emulator's power.
    """
    endpoint = environ.get("AWS_ENDPOINT_URL", "")
    if not endpoint:
        return url
    parts = urlsplit(url)
    api, service, _ = (parts.hostname or "").split(".", 2)
    here = f"{endpoint.rstrip('/')}/_aws/{service}/{api}{parts.path}"
    return here.replace("http", "ws", 1)


def management(url: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return where frames for a stage's sockets are handed in."""
    return reachable(url, environ).replace("ws", "http", 1)
