"""The audit log at rest: who did what, newest last, one partition a tenant in the table `runs`.

An entry is written in the transaction of what it tells of, so neither is there without the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from onward.aws import codec

if TYPE_CHECKING:
    from onward.aws.codec import Item

MAX_COMMENT: Final = 1000
"""Characters; an entry stays below 2 KB."""

_PARTITION: Final = "AUDIT#"
_FIRST: Final = "0"
"""Before every time."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One action of an operator: when, what, on what, by which key and whose, and what they said.

    `entry_id` sorts by time. `at` in epoch seconds.
    """

    entry_id: str
    tenant: str
    at: float
    action: str
    target: str
    key_id: str
    subject: str
    comment: str = ""


class AuditPage(NamedTuple):
    """Entries, newest first, and the id of the last one where there may be more."""

    entries: list[AuditEntry]
    more: str | None


class AuditLog:
    """Entries are put and read, and leave by their expiry alone."""

    def __init__(self, client: Any, table: str, keep_seconds: int) -> None:
        """Use a boto3 DynamoDB client and the name of the `runs` table."""
        self._client = client
        self._table = table
        self._keep_seconds = keep_seconds

    def write(self, entry: AuditEntry) -> dict[str, Any]:
        """Return the write that adds an entry, for the transaction of what it tells of."""
        row = codec.item(
            {
                "at": entry.at,
                "action": entry.action,
                "target": entry.target,
                "key_id": entry.key_id,
                "subject": entry.subject,
                "comment": entry.comment[:MAX_COMMENT],
                "expires_at": int(entry.at) + self._keep_seconds,
            }
        )
        item = _place(entry.tenant, entry.entry_id) | row | {"schema": codec.SCHEMA}
        return {
            "Put": {
                "TableName": self._table,
                "Item": item,
                "ConditionExpression": "attribute_not_exists(pk)",
            }
        }

    def note(self, entry: AuditEntry) -> None:
        """Add an entry for what is no commit of ours, before it is done."""
        self._client.put_item(**self.write(entry)["Put"])

    def newest(
        self, tenant: str, limit: int, now: float, *, since: str = "", before: str | None = None
    ) -> AuditPage:
        """Return entries from `since` on (RFC 3339) and before an id, without expired ones.

        A page has at most `limit`, and may have fewer where there are more.
        """
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :pk AND sk >= :since",
            "FilterExpression": "expires_at > :now",
            "ExpressionAttributeValues": {
                ":pk": {"S": _PARTITION + tenant},
                ":since": {"S": since or _FIRST},
                ":now": {"N": str(int(now))},
            },
            "ScanIndexForward": False,
            "Limit": limit,
            "ConsistentRead": True,
        }
        if before is not None:
            request["ExclusiveStartKey"] = _place(tenant, before)
        answer = self._client.query(**request)
        more = answer.get("LastEvaluatedKey")
        return AuditPage(
            [_read(tenant, encoded) for encoded in answer["Items"]],
            None if more is None else str(more["sk"]["S"]),
        )


def _place(tenant: str, entry_id: str) -> Item:
    return {"pk": {"S": _PARTITION + tenant}, "sk": {"S": entry_id}}


def _read(tenant: str, encoded: Item) -> AuditEntry:
    row = codec.plain(encoded)
    return AuditEntry(
        entry_id=row["sk"],
        tenant=tenant,
        at=float(row["at"]),
        action=row["action"],
        target=row.get("target", ""),
        key_id=row.get("key_id", ""),
        subject=row.get("subject", ""),
        comment=row.get("comment", ""),
    )
