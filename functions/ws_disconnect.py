"""Forget a socket that was closed; rows expire where this is never called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.app.live.answer_socket import forget_socket
from onward.compose_live import cursors, key_sockets, socket_of
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Delete what the socket left."""
    socket = socket_of(event)
    with log(context, connection=socket.connection, tenant=socket.tenant):
        forget_socket(cursors("ws_disconnect"), key_sockets("ws_disconnect"), socket)
        return {"statusCode": 200}
