"""The open approvals of a tenant over all runs, oldest first, over the index `open`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from onward.aws import keys
from onward.aws.open_index import OPEN, Kind, open_pk
from onward.aws.rows import APPROVAL

if TYPE_CHECKING:
    from onward.aws.codec import Item


class OpenApproval(NamedTuple):
    """Where an approval stands in the list: since when, of which run and step."""

    asked_at: str
    run_id: str
    step_id: str


class OpenApprovals:
    """Reads the index. It follows the table by some milliseconds: an index cannot do better."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the `runs` table."""
        self._client = client
        self._table = table

    def oldest(
        self, tenant: str, limit: int, after: OpenApproval | None
    ) -> tuple[list[OpenApproval], OpenApproval | None]:
        """Return up to `limit` approvals behind a place, and the place to go on from."""
        partition = open_pk(Kind.APPROVAL, tenant)
        request: dict[str, Any] = {
            "TableName": self._table,
            "IndexName": OPEN,
            "KeyConditionExpression": "open_pk = :partition",
            "ExpressionAttributeValues": {":partition": {"S": partition}},
            "ProjectionExpression": "pk, sk, open_sk",
            "Limit": limit + 1,
        }
        if after is not None:
            request["ExclusiveStartKey"] = _key(partition, after)
        found = [_place(row) for row in self._client.query(**request)["Items"]]
        return found[:limit], found[limit - 1] if len(found) > limit else None


def _key(partition: str, place: OpenApproval) -> Item:
    return {
        "open_pk": {"S": partition},
        "open_sk": {"S": place.asked_at},
        "pk": {"S": keys.run_pk(place.run_id)},
        "sk": {"S": APPROVAL.sk(place.step_id)},
    }


def _place(row: Item) -> OpenApproval:
    run_id = row["pk"]["S"].removeprefix(keys.RUN_PREFIX)
    return OpenApproval(row["open_sk"]["S"], run_id, row["sk"]["S"].removeprefix(APPROVAL.prefix))
