"""The runs of a tenant by age, over the index `by_tenant`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from onward.aws import codec, keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.aws.codec import Item

BY_TENANT: Final = "by_tenant"

MAX_READS: Final = 10
"""Queries of one call."""

ROWS_A_READ: Final = 1000
"""Rows that a query with a filter looks at; they are some 300 bytes, and a query ends at 1 MB."""

_SHOWN: Final = ("run_id", "workflow", "status", "created_at", "ended_at")


class Position(NamedTuple):
    """A place in a tenant's list: behind this run."""

    created_at: str
    run_id: str


class Found(NamedTuple):
    """Rows, newest first, and where to go on; None at the end of the list."""

    rows: list[dict[str, Any]]
    more: Position | None


class RunIndex:
    """Reads the index. It follows the table by some milliseconds: an index cannot do better."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the `runs` table."""
        self._client = client
        self._table = table

    def newest(
        self, tenant: str, wanted: Mapping[str, str], limit: int, after: Position | None
    ) -> Found:
        """Return up to `limit` runs whose attributes are as wanted.

        Fewer, with a position to go on from, only when 10 queries (10,000 runs, or 10 MB) had
        not more of them: a filter that matches nothing must not read a tenant's whole past.
        """
        rows: list[Item] = []
        request = self._request(tenant, wanted, limit)
        start = None if after is None else _key(tenant, after)
        for _ in range(MAX_READS):
            answer = self._client.query(
                **request, **({"ExclusiveStartKey": start} if start else {})
            )
            rows += answer["Items"]
            start = answer.get("LastEvaluatedKey")
            if start is None or len(rows) > limit:
                break
        shown = [codec.plain(row) for row in rows[:limit]]
        if len(rows) > limit:
            return Found(shown, Position(shown[-1]["created_at"], shown[-1]["run_id"]))
        return Found(shown, None if start is None else _position(start))

    def _request(self, tenant: str, wanted: Mapping[str, str], limit: int) -> dict[str, Any]:
        """One row more than the page is asked for: it tells whether there is a next page."""
        names = {f"#{name}": name for name in _SHOWN}
        request: dict[str, Any] = {
            "TableName": self._table,
            "IndexName": BY_TENANT,
            "KeyConditionExpression": "tenant_pk = :tenant",
            "ExpressionAttributeValues": {":tenant": {"S": keys.tenant_pk(tenant)}}
            | {f":{name}": {"S": value} for name, value in wanted.items()},
            "ProjectionExpression": ", ".join(names),
            "ExpressionAttributeNames": names,
            "ScanIndexForward": False,
            "Limit": ROWS_A_READ if wanted else limit + 1,
        }
        if wanted:
            request["FilterExpression"] = " AND ".join(f"#{name} = :{name}" for name in wanted)
        return request


def _key(tenant: str, position: Position) -> Item:
    return {
        "tenant_pk": {"S": keys.tenant_pk(tenant)},
        "created_at": {"S": position.created_at},
        "pk": {"S": keys.run_pk(position.run_id)},
        "sk": {"S": keys.RUN},
    }


def _position(key: Item) -> Position:
    return Position(key["created_at"]["S"], key["pk"]["S"].removeprefix(keys.run_pk("")))
