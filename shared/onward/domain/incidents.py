"""Interruptions, and how they were recovered."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interruption:
    """Something stopped an attempt or an execution. `tokens` is what had been paid until then.

    `doubtful`: a write had been sent, so that a second one had to be prevented. `part`: another
    row tells of the same interruption, and of what had been paid (one death cuts many lanes).
    """

    cause: str
    at: float
    tokens: int = 0
    doubtful: bool = False
    part: bool = False


@dataclass(frozen=True, slots=True)
class Incident:
    """An interruption and when it was over, in epoch seconds."""

    interruption: Interruption
    resumed_at: float
    step_id: str | None = None
