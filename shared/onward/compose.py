"""Put the parts together for one function, once per cold start."""

from __future__ import annotations

import os
import random
import time
from functools import cache
from typing import TYPE_CHECKING
from uuid import uuid4

from onward.app.carry_out import Drive
from onward.aws.blobs import Blobs
from onward.aws.clients import client
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.settings import settings

if TYPE_CHECKING:
    from onward.settings import Settings


@cache
def drive(function: str) -> Drive:
    """Return what moves runs, over the real clock, chance and ids."""
    held = settings(function)
    dynamodb = client("dynamodb")
    return Drive(
        reader=RunReader(dynamodb, held.runs_table),
        store=RunStore(dynamodb, held.runs_table),
        blobs=lambda tenant: blobs(held, tenant),
        clock=time.time,
        new_id=lambda: uuid4().hex,
        chance=random.random,
        sleep=time.sleep,
    )


def blobs(held: Settings, tenant: str) -> Blobs:
    """Return one tenant's blobs."""
    return Blobs(client("s3"), held.artifacts_bucket, tenant)


def end_process() -> None:
    """End this process at once: a hung tool must not outlive its attempt's deadline."""
    os._exit(70)


def until(context: object) -> float:
    """Return when Lambda ends this invocation, in epoch seconds."""
    remaining: int = context.get_remaining_time_in_millis()  # type: ignore[attr-defined]
    return time.time() + remaining / 1000
