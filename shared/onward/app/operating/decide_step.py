"""A person approves or rejects the action that a step proposes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from onward.app.access.keys import may_approve
from onward.app.driving.carry_out import carry_out
from onward.app.driving.checkpoints import action_version
from onward.app.driving.wake_driver import signal
from onward.app.operating.answer_run import COMMIT_SECONDS
from onward.app.operating.audit import audited
from onward.app.payloads.store import keep, load
from onward.app.reading.list_approvals import decision_view
from onward.app.reading.read_run import find_run, is_expired
from onward.domain.condition import same
from onward.domain.errors import Fault, Forbidden, InvalidRequest, NotEditable, NotWaiting
from onward.domain.pointer import pointer
from onward.domain.protocol import DecideApproval, Resolved
from onward.domain.waits import ApprovalRequest
from onward.sdk.catalogue import load_tool
from onward.sdk.tools import ToolRefused
from onward.sdk.workflow import checked

if TYPE_CHECKING:
    from onward.app.service import Service
    from onward.aws.tenants import Holder
    from onward.documents.runs import DecisionView
    from onward.domain.model import Json, Step


@dataclass(frozen=True, slots=True)
class StepDecision:
    """What a person says of the action with this version; `edited` are members to do instead."""

    approve: bool
    action_version: str
    comment: str = ""
    edited: dict[str, Json] | None = None


def decide_step(
    service: Service, holder: Holder, run_id: str, step_id: str, said: StepDecision
) -> DecisionView:
    """Take a decision and wake the driver; answer it as it is stored, whoever asks again.

    The audit entry is in the commit. Nothing that fails after it makes the answer an error: the
    patrol signals. Raises RunNotFound, NotWaiting, Forbidden, NotEditable, InvalidRequest,
    ActionChanged, AlreadyDecided, ApprovalExpired.
    """
    tenant = holder.tenant
    if is_expired(find_run(service, tenant, run_id), service.clock()):
        raise NotWaiting("the run's log and checkpoints are kept no longer")
    rows = service.reader.rows(run_id, steps=[step_id], records=[(ApprovalRequest, step_id)])
    step, request = rows.steps[step_id], rows.of(ApprovalRequest)[step_id]
    if step is None or request is None:
        raise NotWaiting(f"step {step_id} asks for no approval")
    _refuse_others(service, holder, run_id, request)
    edited = _edited(service, holder, run_id, step, request, said)
    command = DecideApproval(
        step_id, said.approve, said.action_version, holder.subject, said.comment, edited
    )
    word = "step.approve" if said.approve else "step.reject"
    entry = audited(service, holder, word, f"{run_id}/{step_id}", said.comment)
    drive = replace(service.drive, store=service.store.beside(service.audit.write(entry)))
    carry_out(drive, run_id, None, command, drive.clock() + COMMIT_SECONDS)
    with suppress(Exception):
        signal(drive.reader, run_id, service.wake)
    decided = service.reader.rows(run_id, records=[(ApprovalRequest, step_id)])
    return decision_view(run_id, decided.of(ApprovalRequest)[step_id] or request)


def _refuse_others(service: Service, holder: Holder, run_id: str, request: ApprovalRequest) -> None:
    if not may_approve(holder, request.groups):
        groups = " or ".join(f"approver:{group}" for group in request.groups)
        raise Forbidden(f"this approval needs the role {groups or 'approver'}")
    if not request.not_submitter:
        return
    submission = service.reader.rows(run_id, submission=True).submission
    if submission is None or submission.subject == holder.subject:
        raise Forbidden("whoever submitted the run may not approve this action")


def _edited(
    service: Service,
    holder: Holder,
    run_id: str,
    step: Step,
    request: ApprovalRequest,
    said: StepDecision,
) -> Resolved | None:
    """Return the action to do instead of the proposed one; None where it is the same.

    Members that are not named stay as they were proposed.
    """
    if said.edited is None:
        return None
    if not said.approve:
        message = "only an approval edits the input"
        raise InvalidRequest(message, (Fault("/edited_input", message),))
    blobs = service.blobs(holder.tenant)
    planned = service.reader.rows(run_id, plan=[step.plan_key]).plan[step.plan_key]
    # What was edited before stands in the step's row; a repeated request is compared with that.
    proposed = load(blobs, step.input)
    before = proposed if isinstance(proposed, dict) else {}
    changed = {n for n, v in said.edited.items() if n not in before or not same(before[n], v)}
    refused = sorted(changed - set(request.editable))
    if refused:
        faults = tuple(
            Fault("/edited_input" + pointer(name), "its step does not let an approver change it")
            for name in refused
        )
        raise NotEditable(f"not editable: {', '.join(refused)}", faults)
    value: Json = before | said.edited
    with suppress(ImportError, AttributeError, ToolRefused):  # a tool of another version
        model = load_tool(planned.entry).input_model
        value = checked(TypeAdapter(model), value, "/edited_input")
    digest = action_version(planned.tool, value)
    if digest == request.action_version:
        return None
    return Resolved(keep(blobs, run_id, value), digest)
