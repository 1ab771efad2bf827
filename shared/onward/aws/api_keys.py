"""API keys at rest: `KEY#tenant`, `key_…` in the table `access`.

Only whoever holds AWS credentials of the account puts such a row. The service reads them and may
update `revoked_at` and `last_used_at`, which its role's policy says as well; a row without the
rest, which such an update could leave behind, is no key.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from onward.aws import codec
from onward.aws.together import write_together
from onward.domain.access import KEY_ID_PREFIX, ApiKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onward.aws.codec import Item

KEPT_SECONDS: Final = 30 * 86_400
"""How long an expired key stays in the list."""

_PARTITION: Final = "KEY#"
_NEEDED: Final = frozenset({"digest", "subject", "roles", "created_at"})


class ApiKeys:
    """The keys of all tenants, read consistently: a revoked one is refused by the next read."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the `access` table."""
        self._client = client
        self._table = table

    def put(self, key: ApiKey) -> bool:
        """Store a new key; False when there is one of that id already."""
        until = key.expires_at
        row = codec.item(
            {
                "subject": key.subject,
                "roles": sorted(key.roles),
                "digest": key.digest,
                "created_at": key.created_at,
                "valid_until": until,
                "expires_at": None if until is None else int(until) + KEPT_SECONDS,
            }
        )
        try:
            self._client.put_item(
                TableName=self._table,
                Item=_place(key.tenant, key.key_id) | row | {"schema": codec.SCHEMA},
                ConditionExpression="attribute_not_exists(pk)",
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def get(self, tenant: str, key_id: str) -> ApiKey | None:
        """Return a key, also one that opens nothing any more; None when nobody issued it."""
        answer = self._client.get_item(
            TableName=self._table, Key=_place(tenant, key_id), ConsistentRead=True
        )
        return _read(answer["Item"]) if "Item" in answer else None

    def of(self, tenant: str) -> list[ApiKey]:
        """Return a tenant's keys, the oldest first."""
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
            ExpressionAttributeValues={
                ":pk": {"S": _PARTITION + tenant},
                ":sk": {"S": KEY_ID_PREFIX},
            },
            ConsistentRead=True,
        )
        rows = (_read(encoded) for page in pages for encoded in page["Items"])
        return sorted((key for key in rows if key is not None), key=lambda key: key.created_at)

    def used(self, key: ApiKey, now: float, since: float) -> None:
        """Note that a key was used, unless somebody has noted it since a time.

        two processes   read: used long ago ─► update if older: done
                        read: used long ago ─► update if older: refused, and all is well
        """
        try:
            self._client.update_item(
                TableName=self._table,
                Key=_place(key.tenant, key.key_id),
                UpdateExpression="SET last_used_at = :now",
                ConditionExpression=(
                    "attribute_exists(sk) AND attribute_not_exists(revoked_at) AND"
                    " (attribute_not_exists(last_used_at) OR last_used_at <= :since)"
                ),
                ExpressionAttributeValues={
                    ":now": {"N": str(int(now))},
                    ":since": {"N": str(int(since))},
                },
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return

    def revoke(self, key: ApiKey, now: float, beside: Sequence[dict[str, Any]]) -> bool:
        """Revoke a key in one transaction with other writes; False when it is revoked already.

        Of two who revoke it at once one is refused, and its entry in the audit log with it.
        Raises Conflict where its use was being noted at that moment.
        """
        update = {
            "TableName": self._table,
            "Key": _place(key.tenant, key.key_id),
            "UpdateExpression": "SET revoked_at = :now",
            "ConditionExpression": "attribute_exists(sk) AND attribute_not_exists(revoked_at)",
            "ExpressionAttributeValues": {":now": {"N": repr(now)}},
        }
        return write_together(self._client, [{"Update": update}, *beside])


def _place(tenant: str, key_id: str) -> Item:
    return {"pk": {"S": _PARTITION + tenant}, "sk": {"S": key_id}}


def _read(encoded: Item) -> ApiKey | None:
    row = codec.plain(encoded)
    if not row.keys() >= _NEEDED:
        return None
    until, used, revoked = (row.get(n) for n in ("valid_until", "last_used_at", "revoked_at"))
    return ApiKey(
        key_id=row["sk"],
        tenant=row["pk"].removeprefix(_PARTITION),
        subject=row["subject"],
        roles=frozenset(json.loads(row["roles"])),
        digest=row["digest"],
        created_at=float(row["created_at"]),
        expires_at=None if until is None else float(until),
        last_used_at=None if used is None else float(used),
        revoked_at=None if revoked is None else float(revoked),
    )
