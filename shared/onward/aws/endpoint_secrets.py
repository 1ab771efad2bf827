"""Signing keys of webhooks at rest: `SECRET#tenant`, the endpoint's id in the table `access`.

Whoever registers endpoints puts and replaces them and cannot read any; whoever signs reads them.
A rotation therefore copies the current one aside within the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.aws import codec
from onward.domain.delivery import Secret

if TYPE_CHECKING:
    from onward.aws.codec import Item
    from onward.domain.delivery import Endpoint


class EndpointSecrets:
    """Writes for the transactions of endpoints, and the reading for those who sign."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the `access` table."""
        self._client = client
        self._table = table

    def of(self, tenant: str, endpoint_id: str) -> tuple[Secret, ...]:
        """Return an endpoint's keys, the current one first; none where none was put here yet."""
        answer = self._client.get_item(
            TableName=self._table, Key=_place(tenant, endpoint_id), ConsistentRead=True
        )
        row = codec.plain(answer.get("Item", {}))
        if "current" not in row:
            return ()
        found = [Secret(row["current"])]
        if "previous" in row:
            found.append(Secret(row["previous"], float(row["previous_until"])))
        return tuple(found)

    def put(self, endpoint: Endpoint, secrets: tuple[Secret, ...]) -> dict[str, Any]:
        """Return the write that gives an endpoint these keys, whatever it had."""
        current, *older = secrets
        row: dict[str, object] = {"current": current.text}
        for previous in older[:1]:
            row |= {"previous": previous.text, "previous_until": previous.until}
        item = _place(endpoint.tenant, endpoint.endpoint_id) | codec.item(row)
        return {"Put": {"TableName": self._table, "Item": item | {"schema": codec.SCHEMA}}}

    def rotate(self, endpoint: Endpoint, secret: str, until: float) -> dict[str, Any]:
        """Return the write that puts a key first; the one before it is valid until a time.

        Of two rotations at once the later one keeps the key of the earlier one beside its own.
        """
        update = {
            "UpdateExpression": "SET previous = #c, previous_until = :until, #c = :new",
            "ConditionExpression": "attribute_exists(#c)",
            "ExpressionAttributeNames": {"#c": "current"},
            "ExpressionAttributeValues": {":new": {"S": secret}, ":until": {"N": repr(until)}},
        }
        return self._update(endpoint, update)

    def forget(self, endpoint: Endpoint) -> dict[str, Any]:
        """Return the write that drops an endpoint's keys; an empty row is left."""
        update = {
            "UpdateExpression": "REMOVE #c, previous, previous_until",
            "ExpressionAttributeNames": {"#c": "current"},
        }
        return self._update(endpoint, update)

    def _update(self, endpoint: Endpoint, update: dict[str, Any]) -> dict[str, Any]:
        place = _place(endpoint.tenant, endpoint.endpoint_id)
        return {"Update": {"TableName": self._table, "Key": place} | update}


def _place(tenant: str, endpoint_id: str) -> Item:
    return {"pk": {"S": f"SECRET#{tenant}"}, "sk": {"S": endpoint_id}}
