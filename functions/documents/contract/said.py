"""What a rule reads from one sentence."""

from __future__ import annotations

from typing import NamedTuple


class Said(NamedTuple):
    """A value for people, and what the reviewers' rules look at; the caller knows the place."""

    value: str
    tags: tuple[str, ...] = ()
    days: int | None = None
    amount: float | None = None
    currency: str = ""
