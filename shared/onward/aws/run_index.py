"""The runs of a tenant by age, over the indexes `by_tenant` and `open`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from onward.aws import codec, keys
from onward.aws.open_index import OPEN, Kind, open_pk
from onward.domain.model import RunStatus

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


@dataclass(frozen=True, slots=True)
class Shelf:
    """A partition of an index, with the names of its keys; a run's age is the second one."""

    index: str
    names: tuple[str, str]
    partition: str

    def key(self, position: Position) -> Item:
        """Return what DynamoDB goes on from, behind a position."""
        return {
            self.names[0]: {"S": self.partition},
            self.names[1]: {"S": position.created_at},
            "pk": {"S": keys.run_pk(position.run_id)},
            "sk": {"S": keys.RUN},
        }

    def position(self, key: Item) -> Position:
        """Return the position that such a key is of."""
        run_id = key["pk"]["S"].removeprefix(keys.run_pk(""))
        return Position(key[self.names[1]]["S"], run_id)


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

        Those that need reconciliation are those that wait for a person, however they stand: the
        index `open` has no others, so that none but they are read.
        Fewer, with a position to go on from, only when 10 queries (10,000 runs, or 10 MB) had
        not more of them: a filter that matches nothing must not read a tenant's whole past.
        """
        rows: list[Item] = []
        shelf, filters = _shelf(tenant, wanted)
        request = self._request(shelf, filters, limit)
        start = None if after is None else shelf.key(after)
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
        return Found(shown, None if start is None else shelf.position(start))

    def _request(self, shelf: Shelf, wanted: Mapping[str, str], limit: int) -> dict[str, Any]:
        """One row more than the page is asked for: it tells whether there is a next page."""
        names = {f"#{name}": name for name in _SHOWN}
        request: dict[str, Any] = {
            "TableName": self._table,
            "IndexName": shelf.index,
            "KeyConditionExpression": f"{shelf.names[0]} = :partition",
            "ExpressionAttributeValues": {":partition": {"S": shelf.partition}}
            | {f":{name}": {"S": value} for name, value in wanted.items()},
            "ProjectionExpression": ", ".join(names),
            "ExpressionAttributeNames": names,
            "ScanIndexForward": False,
            "Limit": ROWS_A_READ if wanted else limit + 1,
        }
        if wanted:
            request["FilterExpression"] = " AND ".join(f"#{name} = :{name}" for name in wanted)
        return request


def _shelf(tenant: str, wanted: Mapping[str, str]) -> tuple[Shelf, dict[str, str]]:
    """Return where to look for runs, and what of the wish is left to filter by."""
    if wanted.get("status") == RunStatus.NEEDS_RECONCILIATION:
        left = {name: value for name, value in wanted.items() if name != "status"}
        return Shelf(OPEN, ("open_pk", "open_sk"), open_pk(Kind.RECONCILIATION, tenant)), left
    return Shelf(BY_TENANT, ("tenant_pk", "created_at"), keys.tenant_pk(tenant)), dict(wanted)
