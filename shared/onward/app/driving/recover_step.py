"""The driver lost an attempt: close it, count it where it counts, and go on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from onward.app.driving.carry_out import carry_out
from onward.domain.limits import OVERRAN
from onward.domain.protocol import TIMED_OUT, Recover

if TYPE_CHECKING:
    from onward.app.driving.carry_out import Drive
    from onward.domain.protocol import Decision

DEAD_FOR_SURE: Final = frozenset({"Runtime.ExitError", "Sandbox.Timedout", "Runtime.OutOfMemory"})
"""Errors after which the attempt's process is gone. Everything else may still be running:
the task's time-out, a lost connection, an attempt already in progress, and what is not listed.
"""

REFUSED: Final = frozenset(
    f"Lambda.{name}"
    for name in (
        "TooManyRequestsException",
        "ResourceConflictException",
        "ResourceNotReadyException",
        "EC2ThrottledException",
        "ENILimitReachedException",
        "ENINotReadyException",
        "SubnetIPAddressLimitReachedException",
        "SnapStartNotReadyException",
        "CodeArtifactUserPendingException",
    )
)
"""What Lambda's Invoke refuses before anything runs, and may take later (its API reference). The
driver asks again without end, so it seldom comes here."""

NEVER_BEGAN: Final = REFUSED | {"NotBegun", "NoAnswer", "InFlight"}
"""The attempt's tool was not called: refused, or our own stores were busy (errors of
`execute_step` and `aws.idempotency`), or another invocation of the attempt is perhaps at it."""

FROZEN: Final = "States.Timeout"
"""The task's time was up `TASK_GRACE` after the attempt's deadline: a process that runs would have
ended itself by then, or been killed."""

NO_VERSION: Final = "Lambda.ResourceNotFoundException"

UNCOMMITTED: Final = frozenset({"Contended", "Unavailable"})
"""The attempt's tool was called, and our store was too busy for what came of it."""

_ENDED_ITSELF: Final = f"exit status {OVERRAN}"
_REQUEST: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_KILLED: Final = ("signal: killed", "Task timed out")


def recover_step(drive: Drive, event: dict[str, Any], until: float) -> Decision:
    """Decide on a lost attempt from the state that caught its error."""
    error = event.get("error") or {}
    cause, details = str(error.get("Error") or "unknown"), str(error.get("Cause") or "")
    request = _REQUEST.search(details)
    command = Recover(
        step_id=str(event["step_id"]),
        fence=int(event["fence"]),
        lane=int(event["lane"]),
        cause=TIMED_OUT if ended_itself(cause, details) else cause,
        dead=dead_for_sure(cause, details),
        request=request and request.group(),
        called=cause not in NEVER_BEGAN and cause != NO_VERSION,
        gone=cause == NO_VERSION,
        frozen=cause == FROZEN,
        costs=cause not in UNCOMMITTED,
        jitter=drive.chance(),
    )
    outcome = carry_out(drive, str(event["run_id"]), int(event["generation"]), command, until)
    return outcome.decision


def ended_itself(error: str, cause: str) -> bool:
    """Whether a process ended at its attempt's deadline, which it says by its exit status."""
    return error == "Runtime.ExitError" and _ENDED_ITSELF in cause


def dead_for_sure(error: str, cause: str) -> bool:
    """Whether a process cannot be running any more, from how Step Functions names its end.

    The process is that of the invocation whose id the cause names ("RequestId: … Error: Runtime
    exited with error: exit status 1"), and of no other.

    An out-of-memory kill arrives as Runtime.ExitError or as Lambda.Unknown with its signal.
    """
    if error in DEAD_FOR_SURE:
        return True
    return error == "Lambda.Unknown" and any(sign in cause for sign in _KILLED)
