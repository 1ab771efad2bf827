"""Alarms on tables: what DynamoDB refuses for minutes, a commit waits out and a run is late by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.alarms.alarm import Alarm
from infra.alarms.readings import indexes, table_throttles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aws_cdk import aws_dynamodb as dynamodb


def table_alarms(*tables: dynamodb.Table) -> Iterator[Alarm]:
    """Yield what rings on throttled reads and writes of each table and of each of its indexes.

    A full index holds up the writes of its table; only its own metric names it.
    """
    for table in tables:
        for index in ("", *indexes(table)):
            for kind in ("Read", "Write"):
                name = "".join(part.capitalize() for part in index.split("_"))
                yield Alarm(
                    name=f"{table.node.id}{name}{kind}Throttles",
                    metric=table_throttles(table, kind, index),
                    says="Requests for a table or an index are throttled for minutes.",
                    runbook="throttled-table",
                    of=(3, 5),
                )
