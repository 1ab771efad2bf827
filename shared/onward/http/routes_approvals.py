"""The calls about approvals: what waits for a person, and what they decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.app.access.keys import authorise_approver
from onward.app.operating.decide_step import StepDecision, decide_step
from onward.app.reading.list_approvals import list_approvals
from onward.http.bodies import ApprovalDecision
from onward.http.checks import checked
from onward.http.problems import Answer
from onward.http.queries import ApprovalsQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.app.service import Service
    from onward.aws.tenants import Holder
    from onward.http.requests import Request


def get_approvals(service: Service, holder: Holder, request: Request) -> Answer:
    """Answer a page of the tenant's open approvals, oldest first."""
    query = request.asked(ApprovalsQuery)
    return Answer(200, list_approvals(service, holder.tenant, query.limit, query.page_token))


def post_approval(
    service: Service, holder: Holder, request: Request, run_id: str, step_id: str
) -> Answer:
    """Take a person's decision on an action; the same decision again has the same answer."""
    authorise_approver(holder)
    body = checked(ApprovalDecision, request.body())
    approve = body.decision == "approve"
    said = StepDecision(approve, body.action_version, body.comment, body.edited_input)
    return Answer(200, decide_step(service, holder, run_id, step_id, said))


APPROVAL_ROUTES: Final[tuple[tuple[str, str, Callable[..., Answer]], ...]] = (
    ("GET", "/approvals", get_approvals),
    ("POST", "/runs/<run_id>/approvals/<step_id>", post_approval),
)
