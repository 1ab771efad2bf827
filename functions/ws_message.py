"""Answer what a client says on its socket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.app.live.answer_socket import answer_socket
from onward.compose_live import desk, socket_of
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Carry out one message; replies and errors go by the socket, not by this answer."""
    socket = socket_of(event)
    route = event["requestContext"]["routeKey"]
    with log(context, connection=socket.connection, tenant=socket.tenant, route=route):
        answer_socket(desk(), socket, event.get("body") or "")
        return {"statusCode": 200}
