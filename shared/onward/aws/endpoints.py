"""Webhook subscriptions at rest: `TENANT#t`, `ENDPOINT#id`."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from onward.aws import codec, keys
from onward.aws.changes import change
from onward.domain.delivery import Endpoint, Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.aws.codec import Item

TOMBSTONE_SECONDS: Final = 7 * 86_400
"""A deleted endpoint's row stays as long as a wake-up for it may lie in a queue, and half."""


class Endpoints:
    """A tenant's endpoints, read consistently. A deleted one leaves an empty row that expires."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the `runs` table."""
        self._client = client
        self._table = table

    def of(self, tenant: str) -> list[Endpoint]:
        """Return a tenant's endpoints, the disabled ones too."""
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
            ExpressionAttributeValues={
                ":pk": {"S": keys.tenant_pk(tenant)},
                ":sk": {"S": keys.ENDPOINT},
            },
            ConsistentRead=True,
        )
        rows = (_read(tenant, encoded) for page in pages for encoded in page["Items"])
        return [endpoint for endpoint in rows if endpoint is not None]

    def get(self, tenant: str, endpoint_id: str) -> Endpoint | None:
        """Return one endpoint."""
        answer = self._client.get_item(
            TableName=self._table, Key=_key(tenant, endpoint_id), ConsistentRead=True
        )
        return _read(tenant, answer["Item"]) if "Item" in answer else None

    def create(self, endpoint: Endpoint) -> bool:
        """Store a new endpoint; False when there is one of that id already."""
        row = codec.item(
            {
                "url": endpoint.url,
                "event_types": list(endpoint.event_types),
                "status_url": endpoint.status_url,
                "secrets": _secrets(endpoint.secrets),
                # Text: the attribute is a key of an index, of which this row is no part.
                "created_at": codec.iso(endpoint.created_at),
            }
        )
        try:
            self._client.put_item(
                TableName=self._table,
                Item=_key(endpoint.tenant, endpoint.endpoint_id) | {"schema": codec.SCHEMA} | row,
                ConditionExpression="attribute_not_exists(pk) OR attribute_exists(deleted_at)",
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def describe(self, endpoint: Endpoint, *, anew: bool) -> bool:
        """Replace where and what an endpoint hears, and enable it again; its secrets stay.

        `anew`: it had been disabled, and is told of nothing that ended before. Nobody waited for
        it then, so nobody would look whether it hears of it now.
        """
        values: dict[str, object] = {
            "url": endpoint.url,
            "event_types": list(endpoint.event_types),
            "status_url": endpoint.status_url,
            "disabled_at": None,
            "disabled_because": None,
            "timeouts": None,
            "resting_until": None,
            "slow_until": None,
        }
        if anew:
            values["created_at"] = codec.iso(endpoint.created_at)
        return self._change(endpoint, values)

    def keep_secrets(self, endpoint: Endpoint, secrets: tuple[Secret, ...]) -> bool:
        """Replace the signing keys, unless somebody else rotated them since they were read."""
        seen = codec.dumps(_secrets(endpoint.secrets))
        return self._change(
            endpoint, {"secrets": _secrets(secrets)}, "secrets = :seen", {":seen": {"S": seen}}
        )

    def delete(self, endpoint: Endpoint, now: float) -> bool:
        """Forget an endpoint and its secrets."""
        gone: dict[str, object] = dict.fromkeys(("url", "secrets", "status_url", "event_types"))
        until = int(now) + TOMBSTONE_SECONDS
        return self._change(endpoint, gone | {"deleted_at": now, "expires_at": until})

    def disable(self, endpoint: Endpoint, because: str, now: float) -> bool:
        """Send nothing there any more, and say why, until somebody puts it again."""
        return self._change(endpoint, {"disabled_at": now, "disabled_because": because})

    def set_aside(self, endpoint: Endpoint, until: float) -> bool:
        """Note that an endpoint did not answer at once, before anything is sent it again."""
        return self._change(endpoint, {"slow_until": until})

    def slowed(self, endpoint: Endpoint, rests_until: float, slow_until: float) -> None:
        """Count a time-out, and note until when the endpoint rests if it was not the only one.

        Counted by the table: of ten senders that ran into it at once each has read none.
        """
        with suppress(self._client.exceptions.ConditionalCheckFailedException):
            self._client.update_item(
                TableName=self._table,
                Key=_key(endpoint.tenant, endpoint.endpoint_id),
                UpdateExpression="SET resting_until = :rests, slow_until = :slow ADD timeouts :one",
                ConditionExpression="attribute_exists(#url)",
                ExpressionAttributeNames={"#url": "url"},
                ExpressionAttributeValues={
                    ":rests": {"N": repr(rests_until)},
                    ":slow": {"N": repr(slow_until)},
                    ":one": {"N": "1"},
                },
            )

    def probe(self, endpoint: Endpoint, until: float) -> bool:
        """Begin the next rest; True for the one sender that may try meanwhile.

        sender A   the rest is over ─► until changed: mine ─► post
        sender B   the rest is over ────────────► until changed: refused
        """
        values, seen = {"resting_until": until}, {":seen": {"N": repr(endpoint.resting_until)}}
        return self._change(endpoint, values, "resting_until = :seen", seen)

    def answered(self, endpoint: Endpoint) -> bool:
        """Forget time-outs, for the endpoint answers; and note until when it counts as slow."""
        slow_until = endpoint.slow_until
        values = {"timeouts": None, "resting_until": None, "slow_until": slow_until}
        return self._change(endpoint, values)

    def _change(
        self,
        endpoint: Endpoint,
        values: Mapping[str, object],
        condition: str = "attribute_exists(pk)",
        seen: Item | None = None,
    ) -> bool:
        """Change a row that was not deleted meanwhile; False when the condition fails."""
        try:
            self._client.update_item(
                TableName=self._table,
                Key=_key(endpoint.tenant, endpoint.endpoint_id),
                **change(
                    values, f"attribute_exists(#url) AND {condition}", seen or {}, {"#url": "url"}
                ),
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True


def _key(tenant: str, endpoint_id: str) -> Item:
    return {"pk": {"S": keys.tenant_pk(tenant)}, "sk": {"S": keys.ENDPOINT + endpoint_id}}


def _secrets(secrets: tuple[Secret, ...]) -> list[list[object]]:
    return [[secret.text, secret.until] for secret in secrets]


def _read(tenant: str, encoded: Item) -> Endpoint | None:
    row = codec.plain(encoded)
    if "deleted_at" in row:
        return None
    resting, slow = row.get("resting_until"), row.get("slow_until")
    return Endpoint(
        endpoint_id=row["sk"].removeprefix(keys.ENDPOINT),
        tenant=tenant,
        url=row["url"],
        event_types=tuple(json.loads(row.get("event_types", "[]"))),
        created_at=codec.epoch(row["created_at"]),
        status_url=row.get("status_url"),
        secrets=tuple(Secret(*secret) for secret in json.loads(row.get("secrets", "[]"))),
        disabled_at=row.get("disabled_at"),
        disabled_because=row.get("disabled_because"),
        timeouts=row.get("timeouts", 0),
        resting_until=None if resting is None else float(resting),
        slow_until=None if slow is None else float(slow),
    )
