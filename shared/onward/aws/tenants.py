"""What belongs to a tenant: its tickets and the submit keys of its runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from onward.aws import codec, keys

if TYPE_CHECKING:
    from onward.aws.codec import Item


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom an API key was issued to, and what for."""

    tenant: str
    subject: str
    roles: frozenset[str]
    key_id: str = ""


@dataclass(frozen=True, slots=True)
class SubmitKey:
    """The run that an Idempotency-Key made, the digest of its body, and when the key runs out."""

    run_id: str
    digest: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class RunTicket:
    """What a ticket is for, which run it shows, by which key it was had, and when it runs out.

    Without a key it is of a release that tied tickets to nothing, and opens nothing.
    """

    use: str
    run_id: str
    key_id: str
    expires_at: int


class Tenants:
    """The tenants' partitions of the `runs` table, read consistently."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the `runs` table."""
        self._client = client
        self._table = table

    def old_keys(self, tenant: str) -> list[tuple[str, Holder]]:
        """Return the SHA-256 and holder of keys that a release before `access` issued."""
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
            ExpressionAttributeValues={
                ":pk": {"S": keys.tenant_pk(tenant)},
                ":sk": {"S": keys.KEY},
            },
            ConsistentRead=True,
        )
        return [
            (
                row["sk"]["S"].removeprefix(keys.KEY),
                Holder(tenant, row["subject"]["S"], frozenset(r["S"] for r in row["roles"]["L"])),
            )
            for page in pages
            for row in page["Items"]
        ]

    def put_run_ticket(self, tenant: str, digest: str, ticket: RunTicket) -> None:
        """Store a ticket by its SHA-256; the ticket itself is stored nowhere."""
        row = _key(tenant, keys.TICKET + digest) | codec.item(asdict(ticket))
        self._client.put_item(TableName=self._table, Item=row | {"schema": codec.SCHEMA})

    def run_ticket(self, tenant: str, digest: str) -> RunTicket | None:
        """Return what a ticket is for, also when it has run out; None when nobody issued it."""
        encoded = self._item(tenant, keys.TICKET + digest)
        if encoded is None:
            return None
        row = codec.plain(encoded)
        return RunTicket(row["use"], row["run_id"], row.get("key_id", ""), row["expires_at"])

    def submitted(self, tenant: str, digest: str, now: float) -> SubmitKey | None:
        """Return what a submit key made; None when it is new or has run out."""
        encoded = self._item(tenant, keys.IDEMPOTENCY + digest)
        if encoded is None:
            return None
        row = codec.plain(encoded)
        held = SubmitKey(row["run_id"], row["digest"], row["expires_at"])
        return None if held.expires_at < now else held

    def _item(self, tenant: str, sk: str) -> Item | None:
        answer = self._client.get_item(
            TableName=self._table, Key=_key(tenant, sk), ConsistentRead=True
        )
        row: Item | None = answer.get("Item")
        return row


def submit_key_item(tenant: str, digest: str, held: SubmitKey) -> Item:
    """Encode a submit key for the transaction that creates its run."""
    return _key(tenant, keys.IDEMPOTENCY + digest) | codec.item(
        {"run_id": held.run_id, "digest": held.digest, "expires_at": held.expires_at}
    )


def _key(tenant: str, sk: str) -> Item:
    return {"pk": {"S": keys.tenant_pk(tenant)}, "sk": {"S": sk}}
