"""Steps that wait: for a person's decision on their action, for a signal, or for a time.

A wait holds nothing. It begins in the claim of its step, which opens no attempt, and ends in the
commit of whoever answers, or at its time by whoever notices first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onward.domain.machine import ledger
from onward.domain.machine.finish import close, fail_step, rest, skip_step, succeed_step
from onward.domain.model import Failure, Payload, Step, StepStatus, Usage, Wait
from onward.domain.wait_events import StepExpired, StepWaitingExternal, StepWaitingHuman
from onward.domain.waits import ApprovalRequest, ApprovalState, Awaited, OnExpiry

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import PlannedStep
    from onward.domain.protocol import Claim, Resolved

UNMET = Failure("condition_not_met", "its condition is not true")


def skip_unmet(turn: Turn, claim: Claim) -> None:
    """Skip a step whose condition is not true; that is no failure of anything."""
    step = Step(
        step_id=claim.step_id,
        plan_key=claim.plan_key,
        status=StepStatus.PENDING,
        fence=0,
        started_at=turn.now,
    )
    skip_step(turn, step, UNMET)


def waits(planned: PlannedStep) -> bool:
    """Whether a claim of this step opens no attempt but asks or awaits something."""
    return planned.approval is not None or planned.wait is not None


def begin_wait(turn: Turn, claim: Claim, resolved: Resolved) -> None:
    """Bear a step that waits: no attempt was made, so its fence is 0 and nobody may send."""
    planned = turn.planned(claim.plan_key)
    step = Step(
        step_id=claim.step_id,
        plan_key=claim.plan_key,
        status=StepStatus.PENDING,
        fence=0,
        index=claim.index,
        input=resolved.payload,
        started_at=turn.now,
    )
    turn.put(step)
    if planned.wait is not None:
        _await(turn, planned, step, resolved)
        return
    if planned.policy.writes:
        ledger.intend(turn, planned, step, resolved.digest)
    ask_approval(turn, planned, step, resolved.digest)


def ask_approval(turn: Turn, planned: PlannedStep, step: Step, action_version: str) -> None:
    """Propose an action to whoever may approve it, from now until the approval expires."""
    terms = planned.approval
    assert terms is not None  # noqa: S101 - the caller looked
    request = ApprovalRequest(
        step_id=step.step_id,
        state=ApprovalState.OPEN,
        tenant=turn.run.tenant,
        tool=planned.tool,
        action_version=action_version,
        asked_at=turn.now,
        expires_at=None if terms.expires is None else turn.now + terms.expires,
        groups=terms.groups,
        editable=terms.editable,
        not_submitter=terms.not_submitter,
        on_expiry=terms.on_expiry,
    )
    turn.put_record(request)
    _wait(turn, step, Wait(StepStatus.WAITING_HUMAN, request.expires_at))
    turn.emit(
        StepWaitingHuman(
            step_id=step.step_id,
            tool=planned.tool,
            action_version=action_version,
            groups=list(terms.groups),
            expires_at=request.expires_at,
        )
    )


def _await(turn: Turn, planned: PlannedStep, step: Step, resolved: Resolved) -> None:
    terms = planned.wait
    assert terms is not None  # noqa: S101 - the caller looked
    until = resolved.until
    if terms.seconds is not None:
        until = turn.now + terms.seconds
    elif terms.signal is not None:
        until = None if terms.expires is None else turn.now + terms.expires
    awaited = Awaited(step.step_id, terms.signal, resolved.key, until, terms.on_expiry)
    turn.put_record(awaited)
    _tell_waiting(turn, step, awaited)


def _tell_waiting(turn: Turn, step: Step, awaited: Awaited) -> None:
    _wait(turn, step, Wait(StepStatus.WAITING_EXTERNAL, awaited.until))
    turn.emit(
        StepWaitingExternal(
            step_id=step.step_id, until=awaited.until, signal=awaited.signal, key=awaited.key
        )
    )


def _wait(turn: Turn, step: Step, wait: Wait) -> None:
    turn.put(replace(step, status=wait.kind, ended_at=None))
    rest(turn, step.step_id, wait)


def end_wait(turn: Turn, step: Step) -> bool:
    """End a wait whose time has come; False: the step waits for nothing but its next attempt."""
    if step.status is StepStatus.WAITING_HUMAN:
        _expire_approval(turn, step)
        return True
    if step.status is not StepStatus.WAITING_EXTERNAL:
        return False
    awaited = turn.record(Awaited, step.step_id)
    if awaited.signal is None:
        succeed_step(turn, step, Payload("null"), Usage())
        return True
    turn.emit(StepExpired(step_id=step.step_id, on_expiry=awaited.on_expiry.value))
    late = Failure("wait_expired", f"no signal {awaited.signal} came in time")
    _give_up(turn, step, late, skip=awaited.on_expiry is OnExpiry.SKIP)
    return True


def _expire_approval(turn: Turn, step: Step) -> None:
    request = turn.record(ApprovalRequest, step.step_id)
    turn.put_record(replace(request, state=ApprovalState.EXPIRED, decided_at=turn.now))
    turn.emit(StepExpired(step_id=step.step_id, on_expiry=request.on_expiry.value))
    if request.on_expiry is OnExpiry.REJECT:
        reject(turn, step, Failure("rejected", "nobody approved it in time"))
    else:
        reject(turn, step, Failure("approval_expired", "nobody decided in time"))


def reject(turn: Turn, step: Step, failure: Failure) -> None:
    """Give a step up whose action will not be done; nothing of it was ever sent."""
    ledger.failed(turn, turn.planned(step.plan_key), step, unclear=False)
    _give_up(turn, step, failure, skip=False)


def _give_up(turn: Turn, step: Step, failure: Failure, *, skip: bool) -> None:
    if skip or turn.planned(step.plan_key).optional:
        skip_step(turn, step, failure)
    else:
        fail_step(turn, step, failure, failure.code)


def withdraw(turn: Turn, step: Step) -> None:
    """Take a question or a wait back with its run; a resume begins it anew."""
    if step.status is StepStatus.WAITING_HUMAN:
        request = turn.record(ApprovalRequest, step.step_id)
        turn.put_record(replace(request, state=ApprovalState.WITHDRAWN, decided_at=turn.now))
    close(turn, step, StepStatus.CANCELLED)


def wait_again(turn: Turn, step: Step) -> bool:
    """Let a step that stopped with its run wait again; False: it is to be attempted.

    A time that has passed ends its wait at once. What was not approved is asked anew.
    """
    planned = turn.planned(step.plan_key)
    if planned.wait is not None:
        awaited = turn.record(Awaited, step.step_id)
        terms = planned.wait
        if awaited.signal is not None and terms.expires is not None:
            awaited = replace(awaited, until=turn.now + terms.expires)
            turn.put_record(awaited)
        _tell_waiting(turn, replace(step, error=None), awaited)
        return True
    if planned.approval is None:
        return False
    request = turn.record(ApprovalRequest, step.step_id)
    if request.state is ApprovalState.APPROVED:
        return False
    ask_approval(turn, planned, replace(step, error=None), request.action_version)
    return True
