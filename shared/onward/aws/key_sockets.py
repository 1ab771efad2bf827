"""Sockets by the key that opened them: `KEY#tenant#key`, `CONN#connection` in `cursors`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from onward.aws import codec

if TYPE_CHECKING:
    from onward.aws.codec import Item

_CONNECTION: Final = "CONN#"


@dataclass(frozen=True, slots=True)
class KeySocket:
    """A socket and when its handshake began (epoch seconds)."""

    connection: str
    connected_at: float


class KeySockets:
    """Written when a socket opens, read when its key is revoked; consistently."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the `cursors` table."""
        self._client = client
        self._table = table

    def put(self, tenant: str, key_id: str, socket: KeySocket, expires_at: int) -> None:
        """Note a socket that is being opened."""
        row = codec.item({"connected_at": socket.connected_at, "expires_at": expires_at})
        place = _place(tenant, key_id, socket.connection)
        self._client.put_item(TableName=self._table, Item=place | row | {"schema": codec.SCHEMA})

    def of(self, tenant: str, key_id: str) -> list[KeySocket]:
        """Return the sockets that a key opened, also some that are closed by now."""
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": _partition(tenant, key_id)}},
            ConsistentRead=True,
        )
        rows = [codec.plain(encoded) for page in pages for encoded in page["Items"]]
        return [
            KeySocket(row["sk"].removeprefix(_CONNECTION), float(row["connected_at"]))
            for row in rows
        ]

    def forget(self, tenant: str, key_id: str, connection: str) -> None:
        """Forget a socket that is closed."""
        self._client.delete_item(TableName=self._table, Key=_place(tenant, key_id, connection))


def _partition(tenant: str, key_id: str) -> str:
    return f"KEY#{tenant}#{key_id}"


def _place(tenant: str, key_id: str, connection: str) -> Item:
    return {"pk": {"S": _partition(tenant, key_id)}, "sk": {"S": _CONNECTION + connection}}
