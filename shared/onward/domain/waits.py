"""What a step waits for: a person's decision, a signal, or a time.

A wait holds nothing: it is a row with a time, and nobody runs for it. Terms are what a plan says;
what is asked or awaited is a row of the run, born when the step is claimed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

DAY: Final = 86_400.0


class OnExpiry(StrEnum):
    """What becomes of a step that nobody answered in time.

    `fail`: it fails. `reject`: as if a person had rejected it (approvals). `skip`: it is skipped,
    and its output is null (signals).
    """

    FAIL = "fail"
    REJECT = "reject"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class ApprovalTerms:
    """Who may approve an action, and by when (`expires`, in seconds; None: whenever).

    No groups: any approver may. `editable` are the members of the input that an approver may
    change. `not_submitter`: whoever submitted the run may not.
    """

    groups: tuple[str, ...] = ()
    expires: float | None = None
    on_expiry: OnExpiry = OnExpiry.FAIL
    editable: tuple[str, ...] = ()
    not_submitter: bool = False


@dataclass(frozen=True, slots=True)
class WaitTerms:
    """What a step without a tool waits for: the signal of that name, or a time.

    `seconds` is how long a step sleeps; None where its input says until when. A signal's payload
    has to fit `schema`, a JSON Schema.
    """

    signal: str | None = None
    seconds: float | None = None
    schema: Any = None
    expires: float | None = None
    on_expiry: OnExpiry = OnExpiry.FAIL


class ApprovalState(StrEnum):
    """Where an approval stands. `withdrawn`: its run ended or was cancelled before a decision."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """An action that somebody is asked to approve, and what was decided. Epoch seconds.

    `action_version` is what was proposed: decisions name it. `approved_version` is what may be
    done: another one where the input was edited. A decision is used once, by its action.
    """

    step_id: str
    state: ApprovalState
    tenant: str
    tool: str
    action_version: str
    asked_at: float
    expires_at: float | None = None
    groups: tuple[str, ...] = ()
    editable: tuple[str, ...] = ()
    not_submitter: bool = False
    on_expiry: OnExpiry = OnExpiry.FAIL
    approved_version: str | None = None
    decided_by: str | None = None
    decided_at: float | None = None
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Awaited:
    """What a step without a tool waits for: `until` a time, or for a signal by that time.

    Signals are addressed by name and `key`.
    """

    step_id: str
    signal: str | None = None
    key: str | None = None
    until: float | None = None
    on_expiry: OnExpiry = OnExpiry.FAIL
