"""The index `active`: a tenant's runs that have not ended, by what they do."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from onward.aws import codec, keys
from onward.domain.model import RunStatus

if TYPE_CHECKING:
    from onward.aws.codec import Item
    from onward.domain.model import Run

INDEX: Final = "active"
QUEUED: Final = "queued"
RUNNING: Final = "running"
WAITING: Final = "waiting"

_WAITS: Final = frozenset(
    {
        RunStatus.WAITING_HUMAN,
        RunStatus.WAITING_EXTERNAL,
        RunStatus.NEEDS_RECONCILIATION,
        RunStatus.BACKING_OFF,
    }
)


@dataclass(frozen=True, slots=True)
class Load:
    """How many runs of a tenant have not ended, and how many steps and children they have."""

    runs: int
    steps: int


def active_keys(run: Run) -> dict[str, object]:
    """Return a run's keys in the index; none once it has ended.

    The order is that of submission within each of `queued` (never driven yet), `running` and
    `waiting`. A run that is queued again is driven already: its parked driver goes on.
    """
    if run.status.ended:
        return {}
    doing = WAITING if run.status in _WAITS else RUNNING
    if run.status is RunStatus.QUEUED and run.started_at is None:
        doing = QUEUED
    return {
        "active_pk": keys.tenant_pk(run.tenant),
        "active_sk": f"{doing}#{codec.iso(run.created_at)}",
    }


class ActiveRuns:
    """Reads the index, which follows the table by some milliseconds, and admits queued runs."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the `runs` table."""
        self._client = client
        self._table = table

    def load(self, tenant: str, most: int) -> Load:
        """Count a tenant's active runs, up to one more than `most`."""
        rows = self._rows(tenant, "", most + 1)
        return Load(len(rows), sum(_steps(row) for row in rows))

    def running(self, tenant: str, most: int) -> int:
        """Count a tenant's runs that are driven now, up to `most`."""
        return len(self._rows(tenant, RUNNING, most))

    def queued(self, tenant: str, most: int) -> list[str]:
        """Return a tenant's runs that nobody has driven yet, oldest first, up to `most`."""
        rows = self._rows(tenant, QUEUED, most)
        return [row["pk"]["S"].removeprefix(keys.RUN_PREFIX) for row in rows]

    def is_queued(self, run_id: str) -> bool:
        """Whether a run waits to be admitted; false for one that was, or that is unknown."""
        return self._place(run_id).startswith(QUEUED)

    def admit(self, run_id: str) -> None:
        """Count a queued run as running from now on, before its execution is started.

            starter  running: 7 of 8 ─► admit A ─► start A        A counts at once, not only when
            another                       running: 8 of 8: held   its driver has committed

        Only what is still queued is moved: a commit of its driver has the last word.
        """
        seen = self._place(run_id)
        if not seen.startswith(QUEUED):
            return
        with suppress(self._client.exceptions.ConditionalCheckFailedException):
            self._client.update_item(
                TableName=self._table,
                Key=_key(run_id),
                UpdateExpression="SET active_sk = :running",
                ConditionExpression="active_sk = :seen",
                ExpressionAttributeValues={
                    ":running": {"S": RUNNING + seen.removeprefix(QUEUED)},
                    ":seen": {"S": seen},
                },
            )

    def _place(self, run_id: str) -> str:
        answer = self._client.get_item(
            TableName=self._table, Key=_key(run_id), ProjectionExpression="active_sk"
        )
        return str(answer.get("Item", {}).get("active_sk", {}).get("S", ""))

    def _rows(self, tenant: str, doing: str, most: int) -> list[Item]:
        """Query up to `most` rows; a page is as large as DynamoDB makes it (1 MB)."""
        condition, values = "active_pk = :t", {":t": {"S": keys.tenant_pk(tenant)}}
        if doing:
            condition += " AND begins_with(active_sk, :d)"
            values[":d"] = {"S": f"{doing}#"}
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            IndexName=INDEX,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            PaginationConfig={"MaxItems": most},
        )
        return [row for page in pages for row in page["Items"]]


def _steps(row: Item) -> int:
    held = codec.plain(row)
    return int(held.get("steps_total", 0)) + int(held.get("children", 0))


def _key(run_id: str) -> Item:
    return {"pk": {"S": keys.run_pk(run_id)}, "sk": {"S": keys.RUN}}
