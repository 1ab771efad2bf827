"""Let those open a socket who bring a ticket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.app.live.socket_tickets import redeem_socket_ticket
from onward.compose_live import clock, door, tickets
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer a policy for this one connection; its context goes along with every message."""
    text = (event.get("queryStringParameters") or {}).get("ticket", "")
    with log(context) as line:
        ticket = redeem_socket_ticket(tickets(), door("authorize"), text, clock())
        line.append_keys(allowed=ticket is not None)
        statement = {
            "Action": "execute-api:Invoke",
            "Effect": "Deny" if ticket is None else "Allow",
            "Resource": event["methodArn"],
        }
        return {
            "principalId": "nobody" if ticket is None else ticket.subject,
            "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
            "context": {} if ticket is None else {"tenant": ticket.tenant, "key_id": ticket.key_id},
        }
