"""Approvals that wait for a person, over all runs of a tenant; and what was decided."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from onward.app.in_parallel import in_parallel
from onward.app.payloads.store import load
from onward.aws.codec import dumps, iso
from onward.aws.open_approvals import OpenApproval
from onward.domain.errors import Fault, InvalidRequest
from onward.domain.waits import ApprovalRequest, ApprovalState

if TYPE_CHECKING:
    from onward.app.service import Service
    from onward.documents.runs import ApprovalPage, ApprovalView, DecisionView

MAX_APPROVALS: Final = 100

_LONGEST_TOKEN: Final = 300


def list_approvals(service: Service, tenant: str, limit: int, token: str | None) -> ApprovalPage:
    """Return a page of open approvals, oldest first, and the token of the next one.

    The index may still list what was just decided; each is read again, so that what is shown is
    open. Raises InvalidRequest for a token of no page.
    """
    after = None if token is None else _read(token)
    found, more = service.approvals.oldest(tenant, limit, after)
    views = in_parallel(partial(_view, service, tenant), found)
    return {
        "approvals": [view for view in views if view is not None],
        "next_page_token": None if more is None else _written(more),
    }


def _view(service: Service, tenant: str, place: OpenApproval) -> ApprovalView | None:
    run_id, step_id = place.run_id, place.step_id
    rows = service.reader.rows(
        run_id, run=True, steps=[step_id], records=[(ApprovalRequest, step_id)]
    )
    run, step, request = rows.run, rows.steps[step_id], rows.of(ApprovalRequest)[step_id]
    if run is None or step is None or request is None or request.state is not ApprovalState.OPEN:
        return None
    return {
        "run_id": run_id,
        "step_id": step_id,
        "workflow": run.workflow,
        "tool": request.tool,
        "input": load(service.blobs(tenant), step.input),
        "action_version": request.action_version,
        "groups": list(request.groups),
        "editable": list(request.editable),
        "not_submitter": request.not_submitter,
        "asked_at": iso(request.asked_at),
        "expires_at": None if request.expires_at is None else iso(request.expires_at),
        "on_expiry": request.on_expiry.value,
    }


def decision_view(run_id: str, request: ApprovalRequest) -> DecisionView:
    """Return an approval as it stands once somebody has decided."""
    return {
        "run_id": run_id,
        "step_id": request.step_id,
        "state": request.state.value,
        "tool": request.tool,
        "action_version": request.action_version,
        "approved_version": request.approved_version,
        "decided_by": request.decided_by,
        "decided_at": None if request.decided_at is None else iso(request.decided_at),
        "comment": request.comment,
    }


def _written(place: OpenApproval) -> str:
    return urlsafe_b64encode(dumps(list(place)).encode()).decode().rstrip("=")


def _read(token: str) -> OpenApproval:
    """Return the approval that a page ended with. No secret: the tenant comes from the key."""
    parts: Any = None
    if len(token) <= _LONGEST_TOKEN and re.fullmatch(r"[A-Za-z0-9_-]+", token):
        try:
            parts = json.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        except ValueError:
            parts = None
    names = len(OpenApproval._fields)
    if (
        not isinstance(parts, list)
        or len(parts) != names
        or not all(isinstance(part, str) and part for part in parts)
    ):
        message = "page_token is the next_page_token of a page"
        raise InvalidRequest(message, (Fault("/page_token", message),))
    return OpenApproval(*parts)
