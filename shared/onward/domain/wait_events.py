"""Events of steps that wait; `onward.domain.events` has the others, and the table of all."""

from __future__ import annotations

from typing import Any

from onward.domain.event_data import EventData


class StepWaitingHuman(EventData):
    """Its action is proposed to whoever may approve it, until `expires_at` (epoch seconds)."""

    type = "step.waiting_human"
    shows = "waiting_human"
    step_id: str
    tool: str
    action_version: str
    groups: list[Any]
    expires_at: float | None


class StepWaitingExternal(EventData):
    """It waits until a time (epoch seconds), or by then for a signal of this name and key."""

    type = "step.waiting_external"
    shows = "waiting_external"
    step_id: str
    until: float | None
    signal: str | None = None
    key: str | None = None


class StepApproved(EventData):
    """A person approved its action; `edited`: another input than the one that was proposed."""

    type = "step.approved"
    step_id: str
    by: str
    comment: str
    action_version: str
    edited: bool


class StepRejected(EventData):
    """A person rejected its action, which will not be done."""

    type = "step.rejected"
    step_id: str
    by: str
    comment: str
    action_version: str


class StepExpired(EventData):
    """Nobody answered in time: it fails, counts as rejected, or is skipped (`on_expiry`)."""

    type = "step.expired"
    step_id: str
    on_expiry: str
