"""Who may speak to the emulator: whoever addresses this machine, is no foreign page, and signs.

    request ─► Host ─► Origin ─┬─ an API that is deployed here: its own authorisation decides
                               ├─ GET of the emulator's health
                               └─ everything else: a version 4 signature of this stack's secret

As released the emulator answers every Host with `Access-Control-Allow-Origin: *` and asks for no
credentials. A page that a developer visits could then create and run a function as that
developer, straight or by rebinding a name of its own to 127.0.0.1, and so could any other user
of the machine. AWS checks signatures too, so what is signed here needs no change there.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, quote

from ministack.core import sigv4

from infra.local.outages import Outages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

NAMES: Final = ("127.0.0.1", "localhost")
HEALTH: Final = "/_ministack/health"

_API: Final = re.compile(r"/_aws/execute-api/[0-9a-f]+(?P<rest>/.*)?")
_SOCKET_CONNECTIONS: Final = "/@connections/"
_BAD_REQUEST: Final = 400
_FORBIDDEN: Final = 403
_POLICY_VIOLATION: Final = 1008
"""WebSocket close code (RFC 6455, 7.4.1); before the handshake it is answered as 403."""


class Door:
    """An ASGI application in front of the emulator's.

    `secret` is the secret access key with which this stack's own processes sign, and nothing
    else knows it; `port` is the one that is listened on.
    """

    def __init__(self, app: App, port: int, secret: str, outages: Outages) -> None:
        self._app = app
        self._outages = outages
        self._hosts = frozenset(f"{name}:{port}" for name in NAMES)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        self._secret = secret

    @classmethod
    def before(cls, app: App) -> Door:
        """Return the door of this process, by the environment that it was started with."""
        port, secret = int(os.environ["GATEWAY_PORT"]), os.environ["AWS_SECRET_ACCESS_KEY"]
        return cls(app, port, secret, Outages.here())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it before anything of the emulator has seen it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        fault = self._fault_of_headers(scope)
        if fault is None and not _is_open(scope):
            body = await _whole(receive)
            fault = self._fault_of_signature(scope, body)
            receive = _replayed(body, receive)
        if fault is not None:
            await _refuse(scope, receive, send, fault)
        elif busy := self._outages.refuses(scope.get("headers", [])):
            await _answer(send, _BAD_REQUEST, busy)
        else:
            await self._app(scope, receive, send)

    def _fault_of_headers(self, scope: Scope) -> str | None:
        """Say what is wrong with Host or Origin; browsers set both, and no page can change them.

        Every value counts: which of two a server believes differs from server to server.
        """
        if not _all_among(_values(scope, b"host"), self._hosts, at_least=1):
            return f"this is {' or '.join(sorted(self._hosts))}; no other Host is answered"
        if not _all_among(_values(scope, b"origin"), self._origins, at_least=0):
            return "pages of another origin are not answered"
        return None

    def _fault_of_signature(self, scope: Scope, body: bytes) -> str | None:
        if scope["type"] != "http":
            return "there is no such socket"
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in _pairs(scope)}
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        presigned = "authorization" not in headers
        read = sigv4.parse_query_signature if presigned else sigv4.parse_header_signature
        signature = read(query if presigned else headers)
        if isinstance(signature, tuple):
            return "a request to the emulator itself is signed with the stack's secret access key"
        path = (scope.get("raw_path") or quote(scope["path"]).encode()).decode("latin-1")
        failure = sigv4.header_signature_failure(
            signature, self._secret, scope["method"], path, query, headers, body,
            presigned=presigned,
        )  # fmt: skip
        return None if failure is None else str(failure[1])


def _is_open(scope: Scope) -> bool:
    """Whether a path needs no signature: our APIs have keys of their own, health tells nothing."""
    if scope["path"] == HEALTH:
        return bool(scope["type"] == "http" and scope["method"] == "GET")
    api = _API.fullmatch(scope["path"])
    return api is not None and _SOCKET_CONNECTIONS not in (api["rest"] or "")


def _pairs(scope: Scope) -> list[tuple[bytes, bytes]]:
    return [(name.lower(), value) for name, value in scope.get("headers", ())]


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1").lower() for found, value in _pairs(scope) if found == name]


def _all_among(values: list[str], allowed: frozenset[str], *, at_least: int) -> bool:
    return len(values) >= at_least and all(value in allowed for value in values)


async def _whole(receive: Receive) -> bytes:
    """Read a body to its end; a client that leaves in the middle has signed something else."""
    chunks: list[bytes] = []
    more = True
    while more:
        message = await receive()
        chunks.append(message.get("body", b""))
        more = bool(message.get("more_body"))
    return b"".join(chunks)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a body that was read already to whoever reads it next, once."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return left.pop() if left else await receive()

    return replay


async def _refuse(scope: Scope, receive: Receive, send: Send, fault: str) -> None:
    if scope["type"] == "websocket":
        await receive()  # the handshake, which is answered by closing
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        return
    document = {"__type": "AccessDeniedException", "message": fault}
    await _answer(send, _FORBIDDEN, json.dumps(document).encode())


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"x-content-type-options", b"nosniff")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
