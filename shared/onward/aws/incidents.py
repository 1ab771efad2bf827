"""Incidents at rest: one partition a tenant and day, so that statistics read only their days."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from onward.aws.codec import SCHEMA, iso, item, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onward.aws.codec import Item
    from onward.domain.incidents import Incident
    from onward.domain.model import Run

DAY_CHARACTERS: Final = len("2026-11-29")


@dataclass(frozen=True, slots=True)
class Recovered:
    """An incident as it was written down; `seconds` from detection to resumption.

    `part`: another row is the incident; this one says that it prevented a second write as well.
    """

    run_id: str
    cause: str
    seconds: float
    step_id: str | None
    tokens_saved: int
    duplicates_prevented: int
    part: bool


def incident_pk(tenant: str, day: str) -> str:
    """Return the partition of a day (`2026-11-29`, UTC)."""
    return f"INCIDENT#{tenant}#{day}"


def incident_item(run: Run, incident: Incident) -> Item:
    """Encode an incident of a run; its key is unique because a step resumes once at a time."""
    lost, resumed = incident.interruption, iso(incident.resumed_at)
    detected = iso(lost.at)
    return item(
        {
            "pk": incident_pk(run.tenant, resumed[:DAY_CHARACTERS]),
            "sk": f"{resumed}#{run.run_id}#{incident.step_id or ''}#{run.seq}",
            "run_id": run.run_id,
            "step_id": incident.step_id,
            "cause": lost.cause,
            "detected_at": detected,
            "resumed_at": resumed,
            "seconds": round(max(0.0, incident.resumed_at - lost.at), 3),
            "tokens_saved": lost.tokens,
            "duplicates_prevented": int(lost.doubtful),
            "part": int(lost.part) or None,
        }
    )


class Incidents:
    """Incidents by day; those of commits are written with them."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the `runs` table."""
        self._client = client
        self._table = table

    def note(self, run: Run, incident: Incident) -> None:
        """Write down an incident whose repair was no commit."""
        row = incident_item(run, incident) | {"schema": SCHEMA}
        self._client.put_item(TableName=self._table, Item=row)

    def on(self, tenant: str, day: str) -> Iterator[Recovered]:
        """Yield a tenant's incidents that ended on a day."""
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": incident_pk(tenant, day)}},
        )
        for page in pages:
            for encoded in page["Items"]:
                row = plain(encoded)
                yield Recovered(
                    run_id=row["run_id"],
                    cause=row["cause"],
                    seconds=float(row["seconds"]),
                    step_id=row.get("step_id"),
                    tokens_saved=row["tokens_saved"],
                    duplicates_prevented=row["duplicates_prevented"],
                    part=bool(row.get("part")),
                )
