"""The due index: runs at which somebody looks if nothing moved."""

from __future__ import annotations

import random
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from onward.aws import keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

INDEX: Final = "due"
BATCH: Final = 100
"""Keys of one BatchGetItem (the API's limit)."""

READS: Final = 5
"""Tries for what a busy table leaves out; the rest is due at the next round as well."""

SLACK: Final = 5
"""Seconds by which a schedule may come early; a round must not wait for the next one then."""


class DueIndex:
    """Reads the sparse index `due`; it lags behind the table, so a look reads the run itself."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the `runs` table."""
        self._client = client
        self._table = table

    def until(self, seconds: float) -> Iterator[str]:
        """Yield the ids of runs due until a time (epoch seconds).

        Any shard may come first: a round that ends early leaves out others than the last one.
        """
        first = random.randrange(keys.DUE_SHARDS)  # noqa: S311 - fairness, no secret
        for number in range(keys.DUE_SHARDS):
            yield from self._shard(f"DUE#{(first + number) % keys.DUE_SHARDS}", seconds)

    def of_tenant(self, run_ids: Iterable[str], tenant: str) -> Iterator[str]:
        """Yield those of some runs that are a tenant's; what the index has no word of."""
        left = iter(run_ids)
        while batch := list(islice(left, BATCH)):
            request: Any = {
                "Keys": [
                    {"pk": {"S": keys.run_pk(run_id)}, "sk": {"S": keys.RUN}} for run_id in batch
                ],
                "ProjectionExpression": "pk, tenant",
            }
            theirs: set[str] = set()
            for _ in range(READS):
                answer = self._client.batch_get_item(RequestItems={self._table: request})
                theirs |= {
                    row["pk"]["S"].removeprefix(keys.RUN_PREFIX)
                    for row in answer["Responses"].get(self._table, [])
                    if row["tenant"]["S"] == tenant
                }
                request = answer.get("UnprocessedKeys", {}).get(self._table)
                if request is None:
                    break
            yield from (run_id for run_id in batch if run_id in theirs)

    def claim_round(self, now: float, seconds: int) -> bool:
        """Claim a scheduled round unless one began less than `seconds` ago; one of two wins."""
        try:
            self._client.put_item(
                TableName=self._table,
                Item={"pk": {"S": "PATROL"}, "sk": {"S": "ROUND"}, "at": {"N": repr(now)}},
                ConditionExpression="attribute_not_exists(pk) OR #at <= :before",
                ExpressionAttributeNames={"#at": "at"},
                ExpressionAttributeValues={":before": {"N": repr(now - seconds + SLACK)}},
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def _shard(self, shard: str, seconds: float) -> Iterator[str]:
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            IndexName=INDEX,
            KeyConditionExpression="due_shard = :s AND due_at <= :t",
            ExpressionAttributeValues={":s": {"S": shard}, ":t": {"N": str(int(seconds))}},
        )
        for page in pages:
            for row in page["Items"]:
                yield row["pk"]["S"].removeprefix(keys.RUN_PREFIX)
