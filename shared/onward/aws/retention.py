"""Let the log and the checkpoints of a run go whose time is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.aws import keys
from onward.aws.rows import EXPIRING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from onward.aws.blobs import Blobs
    from onward.domain.model import Run


class Retention:
    """Sets `expires_at`, which the table's TTL goes by, days late at times.

    Readers go by the run row's `expired_at`, which was set long before; a run that is resumed
    until then loses it in the same commit, and later none is resumed. So nothing is ever marked
    that somebody may still need.
    """

    def __init__(
        self,
        client: Any,
        table: str,
        blobs: Callable[[str], Blobs],
        clock: Callable[[], float],
    ) -> None:
        """Use a boto3 DynamoDB client, the name of the `runs` table and tenants' blobs."""
        self._client = client
        self._table = table
        self._blobs = blobs
        self._clock = clock

    def let_go(self, run: Run, until: float) -> bool:
        """Mark the rows of a run and delete its payloads.

        False when that is not done at `until`, for the next to go on.
        """
        return self._mark(run.run_id, until) and self._blobs(run.tenant).delete_payloads(
            run.run_id, lambda: self._clock() < until
        )

    def _mark(self, run_id: str, until: float) -> bool:
        for sk in self._rows(run_id):
            now = self._clock()
            if now >= until:
                return False
            try:
                self._client.update_item(
                    TableName=self._table,
                    Key={"pk": {"S": keys.run_pk(run_id)}, "sk": {"S": sk}},
                    UpdateExpression="SET expires_at = :now",
                    ConditionExpression="attribute_exists(pk)",
                    ExpressionAttributeValues={":now": {"N": str(int(now))}},
                )
            except self._client.exceptions.ConditionalCheckFailedException:
                continue  # gone meanwhile
        return True

    def _rows(self, run_id: str) -> Iterator[str]:
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="pk = :pk",
            FilterExpression="attribute_not_exists(expires_at)",
            ExpressionAttributeValues={":pk": {"S": keys.run_pk(run_id)}},
            ProjectionExpression="sk",
            ConsistentRead=True,
        )
        for page in pages:
            for row in page["Items"]:
                if row["sk"]["S"].startswith(EXPIRING):
                    yield row["sk"]["S"]
