"""Faults that an input may ask for, to see that nothing is lost and nothing happens twice.

They strike attempts by their number, so that the same input brings the same faults.
"""

from __future__ import annotations

import os
import signal
from ipaddress import ip_address
from threading import Event
from typing import Final, Literal
from urllib.parse import urlsplit

from onward.sdk import InvalidInput, PermissionDenied, RateLimited, StepContext, Transient
from pydantic import BaseModel, ConfigDict, Field

Kind = Literal[
    "die_before",
    "die_after_send",
    "freeze",
    "hang",
    "row_lock",
    "rate_limit",
    "lost_reply",
    "late_landing",
    "slow",
    "invalid",
    "permission",
]

DIED: Final = 9
PATIENCE: Final = 3600.0

OUTSIDE: Final = frozenset({"row_lock", "rate_limit", "lost_reply", "late_landing", "slow"})
"""Kinds that the receiver of a write plays."""


class Fault(BaseModel):
    """What goes wrong in the first `times` attempts of a step; `seconds` is how late, if late."""

    model_config = ConfigDict(extra="forbid")

    kind: Kind
    times: int = Field(default=1, ge=1, le=10)
    seconds: float = Field(default=1.0, ge=0, le=60)


Faults = dict[str, Fault]


def allow(ctx: StepContext, asked: object) -> None:
    """Raise InvalidInput if something was asked for that only a rehearsal may have."""
    if asked and not ctx.drills:
        raise InvalidInput(
            "this stack does not rehearse faults: leave `faults` and `receiver_url` out of the"
            " input, or run it where drills are allowed (onward up --drills)"
        )


def allow_receiver(ctx: StepContext, url: str) -> None:
    """Raise InvalidInput unless a rehearsal may call this address: HTTP on this machine."""
    allow(ctx, url)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        here = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        here = False
    if not here or parts.scheme not in {"http", "https"} or "@" in parts.netloc:
        raise InvalidInput("receiver_url is http:// or https:// on this machine: 127.0.0.1 or ::1")


def due(ctx: StepContext, faults: Faults) -> Fault | None:
    """Return the fault that strikes this attempt."""
    allow(ctx, faults)
    fault = faults.get(ctx.step_id)
    if fault is not None:
        # Watchers see when each attempt at such a step began, whatever becomes of it.
        ctx.progress(0.0, f"attempt {ctx.attempt}")
    return fault if fault is not None and ctx.attempt <= fault.times else None


def strike(fault: Fault | None, *, writes: bool) -> None:
    """Let a fault happen that strikes before anything is sent.

    A worker dies as if its machine were gone, freezes until somebody wakes it, or hangs until
    its time is up. What the outside does to a write is not played here but there.
    """
    if fault is None or (writes and fault.kind in OUTSIDE):
        return
    if fault.kind == "freeze":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif fault.kind == "hang":
        Event().wait(PATIENCE)
    elif fault.kind == "invalid":
        raise InvalidInput("rehearsed: the input is wrong, and will be next time")
    elif fault.kind == "permission":
        raise PermissionDenied("rehearsed: the credentials do not allow it")
    elif fault.kind == "rate_limit":
        raise RateLimited("rehearsed: too many requests", retry_after=fault.seconds)
    elif fault.kind == "row_lock":
        raise Transient("rehearsed: the row is locked by another transaction")
    elif fault.kind == "die_before" or not writes:
        die()


def die() -> None:
    """End this process as a lost machine would: nothing is told, flushed or committed."""
    os._exit(DIED)
