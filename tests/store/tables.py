"""The stack's tables in moto, as its template shapes them."""

from __future__ import annotations

from typing import Any

PROJECTED: dict[str, dict[str, Any]] = {
    "by_tenant": {
        "ProjectionType": "INCLUDE",
        "NonKeyAttributes": ["status", "workflow", "run_id", "ended_at"],
    },
    "due": {"ProjectionType": "KEYS_ONLY"},
    "open": {
        "ProjectionType": "INCLUDE",
        "NonKeyAttributes": ["status", "workflow", "run_id", "created_at", "ended_at"],
    },
    "active": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["steps_total", "children"]},
}


def new_tables(dynamodb: Any, runs: str, idempotency: str, *pairs: str) -> None:
    """Make the table of runs, that of records, and those of two keys and nothing else."""
    strings = "pk sk tenant_pk created_at due_shard active_pk active_sk open_pk open_sk"
    dynamodb.create_table(
        TableName=runs,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            *({"AttributeName": name, "AttributeType": "S"} for name in strings.split()),
            {"AttributeName": "due_at", "AttributeType": "N"},
        ],
        KeySchema=_schema("pk", "sk"),
        GlobalSecondaryIndexes=[
            {
                "IndexName": name,
                "KeySchema": _schema(*attributes),
                "Projection": PROJECTED[name],
            }
            for name, attributes in {
                "by_tenant": ("tenant_pk", "created_at"),
                "due": ("due_shard", "due_at"),
                "active": ("active_pk", "active_sk"),
                "open": ("open_pk", "open_sk"),
            }.items()
        ],
    )
    for name in pairs:
        dynamodb.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in ("pk", "sk")],
            KeySchema=_schema("pk", "sk"),
        )
    dynamodb.create_table(
        TableName=idempotency,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=_schema("id"),
    )


def _schema(*names: str) -> list[dict[str, str]]:
    kinds = ("HASH", "RANGE")
    return [
        {"AttributeName": name, "KeyType": kind} for name, kind in zip(names, kinds, strict=False)
    ]
