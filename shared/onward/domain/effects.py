"""What the ledger holds of actions that may touch the world."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onward.domain.model import Payload


class EffectState(StrEnum):
    """What the ledger knows of an action that may touch the world."""

    INTENDED = "intended"
    SENT = "sent"
    APPLIED = "applied"
    NOT_APPLIED = "not_applied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Effect:
    """One action of a write tool.

    `sent_fence` is the last attempt that sent it, if any did, in the invocation `sent_by`, at
    `sent_at` by that worker's own clock.
    `unknown_since`: the first send whose outcome nobody knows. `quiet_at`: from then on no
    request of an earlier attempt can still arrive, so that a probe may be believed. `proofs`
    counts how often the action was proven not applied; the key carries it as `~n`.
    `suspected_at`: since when it is believed to have happened twice. Epoch seconds.
    """

    step_id: str
    state: EffectState
    key: str
    tool: str
    action_version: str
    fence: int
    intended_at: float
    sent_fence: int | None = None
    sent_at: float | None = None
    sent_by: str | None = None
    unknown_since: float | None = None
    quiet_at: float | None = None
    proofs: int = 0
    suspected_at: float | None = None
    receipt: Payload | None = None
