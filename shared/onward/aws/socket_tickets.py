"""Tickets that open one socket: `TICKET#hash` in the table `cursors`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onward.aws import codec


@dataclass(frozen=True, slots=True)
class SocketTicket:
    """By which key of whom a ticket was had, and until when it opens a socket (epoch seconds)."""

    tenant: str
    subject: str
    key_id: str
    expires_at: int


class SocketTickets:
    """Stored by their SHA-256; the text itself is stored nowhere."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the `cursors` table."""
        self._client = client
        self._table = table

    def put(self, digest: str, ticket: SocketTicket) -> None:
        """Store a new ticket."""
        row = codec.item(
            {
                "tenant": ticket.tenant,
                "subject": ticket.subject,
                "key_id": ticket.key_id,
                "expires_at": ticket.expires_at,
            }
        )
        self._client.put_item(
            TableName=self._table, Item=_key(digest) | row | {"schema": codec.SCHEMA}
        )

    def take(self, digest: str, now: float) -> SocketTicket | None:
        """Use a ticket up; None when there is none, it is too old, or somebody was faster.

        The deletion is the use: of two sockets with one ticket, one finds the row.
        """
        try:
            answer = self._client.delete_item(
                TableName=self._table,
                Key=_key(digest),
                ConditionExpression="expires_at > :now",
                ExpressionAttributeValues={":now": {"N": str(int(now))}},
                ReturnValues="ALL_OLD",
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return None
        row = codec.plain(answer["Attributes"])
        return SocketTicket(row["tenant"], row["subject"], row.get("key_id", ""), row["expires_at"])


def _key(digest: str) -> codec.Item:
    return {"pk": {"S": f"TICKET#{digest}"}, "sk": {"S": "TICKET"}}
