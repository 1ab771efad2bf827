"""What a probe may say of a write whose outcome is unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Applied:
    """It happened; `receipt` is what the tool would have returned.

    `keys` are the idempotency keys under which the receiver holds it, where it tells: the one that
    was asked for and, if it knows of more, those as well. After a resend they tell two effects of
    one action apart; without keys only receipts that differ do.
    """

    receipt: Any
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotApplied:
    """It did not happen, and no request that was sent can make it happen any more."""


@dataclass(frozen=True, slots=True)
class Unsure:
    """The receiver cannot tell; `reason` goes into the log."""

    reason: str = "the receiver cannot tell"
