"""Let a run's log and checkpoints expire, or not after all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from onward.aws import keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from onward.domain.model import Run

EXPIRING: Final = (keys.EVENT, keys.STEP, keys.PLAN)
"""The run itself stays, with what it was asked, its ledger of effects and its deliveries."""


class Retention:
    """Sets and removes `expires_at`, which the table's TTL goes by, days late at times."""

    def __init__(self, client: Any, table: str, clock: Callable[[], float]) -> None:
        """Use a boto3 DynamoDB client and the name of the `runs` table."""
        self._client = client
        self._table = table
        self._clock = clock

    def expire(self, run: Run, at: int, until: float) -> bool:
        """Let the rows go at a time (epoch seconds); False when that is not done at `until`.

            patrol      rows, rows, …              run row if seq unchanged: refused ─► keep
            operator               resume ─► keep

        The run row comes last and is what readers go by: a resume in between is seen there, and
        a look that ran out of time is taken up by the next one where it stopped.
        """
        for sk in self._rows(run.run_id, "attribute_not_exists(expires_at)"):
            if self._clock() >= until:
                return False
            self._set(run.run_id, sk, at)
        try:
            self._client.update_item(
                TableName=self._table,
                Key=_key(run.run_id, keys.RUN),
                UpdateExpression="SET expired_at = :at",
                ConditionExpression="seq = :seen",
                ExpressionAttributeValues={
                    ":at": {"N": str(at)},
                    ":seen": {"N": str(run.seq)},
                },
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            self.keep(run.run_id)
        return True

    def keep(self, run_id: str) -> None:
        """Let nothing of a run go."""
        for sk in (*self._rows(run_id, "attribute_exists(expires_at)"), keys.RUN):
            self._client.update_item(
                TableName=self._table,
                Key=_key(run_id, sk),
                UpdateExpression="REMOVE expires_at, expired_at",
                ConditionExpression="attribute_exists(pk)",
            )

    def _set(self, run_id: str, sk: str, at: int) -> None:
        self._client.update_item(
            TableName=self._table,
            Key=_key(run_id, sk),
            UpdateExpression="SET expires_at = :at",
            ConditionExpression="attribute_exists(pk)",
            ExpressionAttributeValues={":at": {"N": str(at)}},
        )

    def _rows(self, run_id: str, which: str) -> Iterator[str]:
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="pk = :pk",
            FilterExpression=which,
            ExpressionAttributeValues={":pk": {"S": keys.run_pk(run_id)}},
            ProjectionExpression="sk",
            ConsistentRead=True,
        )
        for page in pages:
            for row in page["Items"]:
                if row["sk"]["S"].startswith(EXPIRING):
                    yield row["sk"]["S"]


def _key(run_id: str, sk: str) -> dict[str, Any]:
    return {"pk": {"S": keys.run_pk(run_id)}, "sk": {"S": sk}}
