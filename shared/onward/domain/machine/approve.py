"""A person decides on an action that a step proposes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

from onward.domain.errors import ActionChanged, AlreadyDecided, ApprovalExpired, NotWaiting
from onward.domain.machine import ledger
from onward.domain.machine.finish import bounded, rest
from onward.domain.machine.move import queue_again, stop
from onward.domain.machine.waiting import reject
from onward.domain.model import Failure, StepStatus, Wait
from onward.domain.wait_events import StepApproved, StepRejected
from onward.domain.waits import ApprovalRequest, ApprovalState

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import Step
    from onward.domain.protocol import DecideApproval, Decision


class _Decided(TypedDict):
    step_id: str
    by: str
    comment: str


def decide_approval(turn: Turn, command: DecideApproval) -> Decision:
    """Take a person's decision; the driver goes on from there.

    The first decision counts, and is answered again in the same words whatever became of the run
    since: a repeated request changes nothing. Whether this person may decide, and what they may
    edit, was checked before. Raises NotWaiting, ActionChanged, AlreadyDecided, ApprovalExpired.
    """
    step = turn.step(command.step_id)
    request = turn.find(ApprovalRequest, command.step_id)
    if step is None or request is None:
        raise NotWaiting(f"step {command.step_id} asks for no approval")
    if _is_repeated(request, command):
        return stop(turn)
    _refuse_late(turn, step, request, command)
    version = command.edited.digest if command.edited else request.action_version
    turn.put_record(
        replace(
            request,
            state=ApprovalState.APPROVED if command.approve else ApprovalState.REJECTED,
            approved_version=version if command.approve else None,
            decided_by=command.by,
            decided_at=turn.now,
            comment=command.comment,
        )
    )
    who = _Decided(step_id=step.step_id, by=command.by, comment=command.comment)
    if command.approve:
        edited = command.edited is not None
        turn.emit(StepApproved(**who, action_version=version, edited=edited))
        _approve(turn, step, command)
    else:
        turn.emit(StepRejected(**who, action_version=version))
        reject(turn, step, Failure("rejected", _said(command)))
    queue_again(turn)
    return stop(turn)


def _is_repeated(request: ApprovalRequest, command: DecideApproval) -> bool:
    """Whether a decision is the one that was taken: its word, what it named, and its edit."""
    if request.action_version != command.action_version:
        return False
    if command.approve:
        version = command.edited.digest if command.edited else request.action_version
        return request.state is ApprovalState.APPROVED and request.approved_version == version
    return request.state is ApprovalState.REJECTED


def _refuse_late(turn: Turn, step: Step, request: ApprovalRequest, command: DecideApproval) -> None:
    if request.action_version != command.action_version:
        raise ActionChanged(
            f"step {step.step_id} proposes action {request.action_version}, "
            f"not {command.action_version}"
        )
    if request.state in {ApprovalState.APPROVED, ApprovalState.REJECTED}:
        raise AlreadyDecided(f"step {step.step_id} was {request.state.value} already")
    expires_at = request.expires_at
    if request.state is ApprovalState.EXPIRED or (
        expires_at is not None and turn.now >= expires_at
    ):
        raise ApprovalExpired(f"the approval of step {step.step_id} has expired")
    if step.step_id not in turn.run.waiting or turn.run.status.ended:
        raise NotWaiting(f"step {step.step_id} waits for an approval no more")


def _approve(turn: Turn, step: Step, command: DecideApproval) -> None:
    """Let the action be done: what was edited is another one, under a key of its own.

    Nothing was sent before the first decision, so there is no effect that could be doubled.
    """
    if command.edited is not None:
        step = replace(step, input=command.edited.payload)
        ledger.edit(turn, turn.planned(step.plan_key), step, command.edited.digest)
    turn.put(replace(step, status=StepStatus.BACKING_OFF))
    rest(turn, step.step_id, Wait(StepStatus.BACKING_OFF, turn.now))


def _said(command: DecideApproval) -> str:
    comment = f": {command.comment}" if command.comment else ""
    return bounded(Failure("rejected", f"rejected by {command.by}{comment}")).message
