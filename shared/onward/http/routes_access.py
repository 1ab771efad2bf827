"""The calls about keys, and about what operators did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.app.access.keys import OPERATING, authorise
from onward.app.operating.audit import list_audit
from onward.app.operating.revoke_key import list_keys, revoke_key
from onward.http.problems import Answer
from onward.http.queries import AuditQuery, RevokeQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.app.service import Service
    from onward.aws.tenants import Holder
    from onward.http.requests import Request


def get_keys(service: Service, holder: Holder, request: Request) -> Answer:  # noqa: ARG001 - routes are called alike
    """Answer the tenant's keys: whose, what for, last used, until when; never a key itself."""
    authorise(holder, OPERATING)
    return Answer(200, list_keys(service, holder.tenant))


def delete_key(service: Service, holder: Holder, request: Request, key_id: str) -> Answer:
    """Revoke a key: it opens nothing any more, and its sockets are closed."""
    authorise(holder, OPERATING)
    query = request.asked(RevokeQuery)
    revoke_key(service, holder, key_id, query.comment, last=query.last)
    return Answer(204)


def get_audit(service: Service, holder: Holder, request: Request) -> Answer:
    """Answer what the tenant's operators did, newest first."""
    authorise(holder, OPERATING)
    query = request.asked(AuditQuery)
    page = list_audit(service, holder.tenant, query.limit, query.since, query.page_token)
    return Answer(200, page)


ACCESS_ROUTES: Final[tuple[tuple[str, str, Callable[..., Answer]], ...]] = (
    ("GET", "/keys", get_keys),
    ("DELETE", "/keys/<key_id>", delete_key),
    ("GET", "/audit", get_audit),
)
