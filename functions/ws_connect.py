"""Note a socket that is being opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.app.live.answer_socket import open_socket
from onward.compose_live import cursors, door, key_sockets, socket_of
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Let the socket open, unless its key was revoked; its first message comes after this."""
    socket = socket_of(event)
    with log(context, connection=socket.connection, tenant=socket.tenant):
        held, admits = key_sockets("ws_connect"), door("ws_connect").admits
        opened = open_socket(cursors("ws_connect"), held, admits, socket)
        return {"statusCode": 200 if opened else 403}
