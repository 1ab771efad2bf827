"""Ids that sort by time."""

from __future__ import annotations

import re
from typing import Final
from uuid import UUID

ENTROPY_BYTES: Final = 10

RUN_ID: Final = re.compile(r"run_[A-Za-z0-9_-]{1,60}")
"""What can be the id of a run; anything else need not be looked up."""

_VERSION, _VARIANT = 7, 2


def uuid7(now: float, entropy: bytes) -> UUID:
    """Return a UUIDv7 (RFC 9562, 5.7): 48 bits of milliseconds, then 74 of the 80 random ones.

    `now` in epoch seconds, `entropy` 10 random bytes. The standard library has none before 3.14.
    """
    value = int(now * 1000) << 80 | int.from_bytes(entropy[:ENTROPY_BYTES], "big")
    value = value & ~(0xF << 76) | _VERSION << 76
    value = value & ~(0x3 << 62) | _VARIANT << 62
    return UUID(int=value)


def new_run_id(now: float, entropy: bytes) -> str:
    """Return the id of a new run; also the beginning of its executions' names (80 characters)."""
    return f"run_{uuid7(now, entropy).hex}"
