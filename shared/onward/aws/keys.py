"""Keys of the `runs` table: one partition a run, one a tenant."""

from __future__ import annotations

from typing import Final
from zlib import crc32

RUN_PREFIX: Final = "RUN#"
RUN: Final = "RUN"
SUBMISSION: Final = "SUBMISSION"
PLAN: Final = "PLAN#"
STEP: Final = "STEP#"
EVENT: Final = "EVENT#"
EFFECT: Final = "EFFECT#"
TICKET: Final = "TICKET#"
KEY: Final = "KEY#"
IDEMPOTENCY: Final = "IDEM#"
ENDPOINT: Final = "ENDPOINT#"
DELIVERY: Final = "DELIVERY#"

DUE_SHARDS: Final = 8
PENDING_SHARD: Final = "PENDING"
"""The partition of the `due` index that lists the endpoints which are to be asked again."""


def run_pk(run_id: str) -> str:
    """Return the partition of a run."""
    return RUN_PREFIX + run_id


def tenant_pk(tenant: str) -> str:
    """Return the partition of a tenant."""
    return f"TENANT#{tenant}"


def plan_sk(key: str) -> str:
    """Return the sort key of a planned step: `PLAN#part#step`."""
    return PLAN + key


def step_sk(step_id: str) -> str:
    """Return the sort key of a claimed step."""
    return STEP + step_id


def effect_sk(step_id: str) -> str:
    """Return the sort key of a step's action in the ledger."""
    return EFFECT + step_id


def event_sk(seq: int) -> str:
    """Return the sort key of an event; ten digits, so that the order of text is that of seq."""
    return f"{EVENT}{seq:010d}"


def dead_shard(tenant: str) -> str:
    """Return the partition of the `due` index that lists a tenant's dead deliveries."""
    return f"DEAD#{tenant}"


def waiting_shard(tenant: str, endpoint_id: str) -> str:
    """Return the partition of the `due` index that lists what waits for an endpoint to agree."""
    return f"WAITS#{tenant}#{endpoint_id}"


def due_shard(run_id: str) -> str:
    """Return the run's partition of the `due` index."""
    return f"DUE#{crc32(run_id.encode()) % DUE_SHARDS}"
