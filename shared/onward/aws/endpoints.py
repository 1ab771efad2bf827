"""Webhook subscriptions at rest: `TENANT#t`, `ENDPOINT#id`."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from onward.aws import codec, keys
from onward.aws.changes import change
from onward.aws.together import write_together
from onward.domain.delivery import Endpoint, Secret
from onward.domain.errors import Conflict, Contended

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from onward.aws.codec import Item
    from onward.aws.endpoint_secrets import EndpointSecrets

_TRIES: Final = 5

ASK_AGAIN: Final = 60
"""Seconds after which an address that did not agree is asked again, the first time."""

TOMBSTONE_SECONDS: Final = 7 * 86_400
"""A deleted endpoint's row stays as long as a wake-up for it may lie in a queue, and half."""


class Endpoints:
    """A tenant's endpoints, read consistently. A deleted one leaves an empty row that expires.

    Their signing keys are in another table (`EndpointSecrets`), which is named to those who make
    endpoints or sign for them. A row of an earlier release has its keys with it until they are
    rotated.
    """

    def __init__(
        self,
        client: Any,
        table: str,
        secrets: EndpointSecrets | None = None,
        beside: Sequence[dict[str, Any]] = (),
    ) -> None:
        """Use a boto3 DynamoDB client and the name of the `runs` table."""
        self._client = client
        self._table = table
        self._secrets = secrets
        self._beside = beside

    def beside(self, write: dict[str, Any]) -> Endpoints:
        """Return endpoints whose changes each carry a write of another row, or are not made."""
        return Endpoints(self._client, self._table, self._secrets, [*self._beside, write])

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

    def signed(self, tenant: str, endpoint_id: str) -> Endpoint | None:
        """Return one endpoint with its signing keys, for those who may read them."""
        found = self.get(tenant, endpoint_id)
        if found is None or found.secrets:
            return found
        return replace(found, secrets=self._held.of(tenant, endpoint_id))

    def create(self, endpoint: Endpoint) -> bool:
        """Store a new endpoint and its keys; False when there is one of that id already."""
        row = codec.item(
            {
                "url": endpoint.url,
                "event_types": list(endpoint.event_types),
                "status_url": endpoint.status_url,
                # Text: the attribute is a key of an index, of which this row is no part.
                "created_at": codec.iso(endpoint.created_at),
            }
            | _agreement(endpoint)
        )
        put = {
            "TableName": self._table,
            "Item": _key(endpoint.tenant, endpoint.endpoint_id) | {"schema": codec.SCHEMA} | row,
            "ConditionExpression": "attribute_not_exists(pk) OR attribute_exists(deleted_at)",
        }
        keys_too = self._held.put(endpoint, endpoint.secrets)
        return self._together({"Put": put}, keys_too)

    def describe(self, endpoint: Endpoint) -> bool:
        """Replace where and what an endpoint hears, and enable it again; its secrets stay.

        So does the time since when it hears of runs: one that had been disabled goes on from
        where it was.
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
        return self._change(endpoint, values | _agreement(endpoint))

    def unasked(self, now: float) -> Iterator[Endpoint]:
        """Yield the endpoints that are to be asked again whether they want webhooks."""
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            IndexName="due",
            KeyConditionExpression="due_shard = :s AND due_at <= :now",
            ExpressionAttributeValues={
                ":s": {"S": keys.PENDING_SHARD},
                ":now": {"N": str(int(now))},
            },
        )
        for page in pages:
            for row in page["Items"]:
                tenant = row["pk"]["S"].removeprefix(keys.tenant_pk(""))
                found = self.get(tenant, row["sk"]["S"].removeprefix(keys.ENDPOINT))
                if found is not None and found.pending:
                    yield found

    def agreed(self, endpoint: Endpoint) -> bool:
        """Note that an address agreed to get webhooks; False if it is another one by now."""
        return self._answered_for(endpoint, _agreement(replace(endpoint, pending_since=None)))

    def disagreed(self, endpoint: Endpoint, because: str, ask_at: int | None) -> bool:
        """Note why an address did not agree, and when it is asked again, if it is."""
        shard = None if ask_at is None else keys.PENDING_SHARD
        values = {"pending_because": because, "due_at": ask_at, "due_shard": shard}
        return self._answered_for(endpoint, values)

    def _answered_for(self, endpoint: Endpoint, values: Mapping[str, object]) -> bool:
        """Change a row whose address is the one that was asked.

        notify    asks A ─────────────── A agrees ─► written: refused
        operator          puts B, which nobody asked
        """
        return self._change(endpoint, values, "#url = :seen", {":seen": {"S": endpoint.url}})

    def rotate(self, endpoint: Endpoint, secret: str, until: float) -> bool:
        """Put a signing key first; the one before it is valid until a time.

        False when the endpoint was deleted meanwhile, or the keys of an earlier release, which
        leave its row with this, were rotated by somebody else.
        """
        if not endpoint.secrets:
            rotated = self._held.rotate(endpoint, secret, until)
            return self._change(endpoint, {"previous_until": until}, also=[rotated])
        kept = (Secret(secret), Secret(endpoint.secrets[0].text, until))
        seen = codec.dumps([[held.text, held.until] for held in endpoint.secrets])
        return self._change(
            endpoint,
            {"secrets": None},
            "secrets = :seen",
            {":seen": {"S": seen}},
            also=[self._held.put(endpoint, kept)],
        )

    def delete(self, endpoint: Endpoint, now: float) -> bool:
        """Forget an endpoint and its secrets."""
        gone: dict[str, object] = dict.fromkeys(
            ("url", "secrets", "status_url", "event_types", "due_at", "due_shard")
        )
        until = int(now) + TOMBSTONE_SECONDS
        forgotten = [self._held.forget(endpoint)]
        return self._change(
            endpoint, gone | {"deleted_at": now, "expires_at": until}, also=forgotten
        )

    def disable(self, endpoint: Endpoint, because: str, now: float) -> bool:
        """Send nothing there any more, and say why, until somebody puts it again.

        Not if it was put with another address meanwhile, of which nobody said that it is gone.
        True for one of the senders that are told so at once: it is disabled once, and counted.
        """
        values = {"disabled_at": now, "disabled_because": because}
        condition = "#url = :seen AND attribute_not_exists(disabled_at)"
        return self._change(endpoint, values, condition, {":seen": {"S": endpoint.url}})

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
        also: Sequence[dict[str, Any]] = (),
    ) -> bool:
        """Change a row that was not deleted meanwhile; False when the condition fails."""
        update = {
            "TableName": self._table,
            "Key": _key(endpoint.tenant, endpoint.endpoint_id),
            **change(
                values, f"attribute_exists(#url) AND {condition}", seen or {}, {"#url": "url"}
            ),
        }
        if also or self._beside:
            return self._together({"Update": update}, *also)
        try:
            self._client.update_item(**update)
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def _together(self, *writes: dict[str, Any]) -> bool:
        """Write all, with what is to be beside them; False when a condition failed.

        A sender notes in the same row how long the endpoint took. Raises Contended.
        """
        for _ in range(_TRIES):
            with suppress(Conflict):
                return write_together(self._client, [*writes, *self._beside])
        raise Contended("the endpoint kept being written by others")

    @property
    def _held(self) -> EndpointSecrets:
        if self._secrets is None:
            raise TypeError("whoever only looks at endpoints has no part in their keys")
        return self._secrets


def _key(tenant: str, endpoint_id: str) -> Item:
    return {"pk": {"S": keys.tenant_pk(tenant)}, "sk": {"S": keys.ENDPOINT + endpoint_id}}


def _agreement(endpoint: Endpoint) -> dict[str, object]:
    """Return what a row says of an address that has not agreed, or of one that has."""
    since = endpoint.pending_since
    return {
        "pending_since": since,
        "pending_because": None,
        "due_at": None if since is None else int(since) + ASK_AGAIN,
        "due_shard": None if since is None else keys.PENDING_SHARD,
    }


def _read(tenant: str, encoded: Item) -> Endpoint | None:
    row = codec.plain(encoded)
    if "deleted_at" in row:
        return None
    resting, slow = row.get("resting_until"), row.get("slow_until")
    pending = row.get("pending_since")
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
        pending_since=None if pending is None else float(pending),
        pending_because=row.get("pending_because"),
    )
