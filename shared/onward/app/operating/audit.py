"""The audit log: what operators did, by which key, on what, when, and what they said to it."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any, Final, NoReturn

from onward.aws.audit import AuditEntry
from onward.aws.codec import dumps, iso
from onward.domain.errors import Fault, InvalidRequest

if TYPE_CHECKING:
    from onward.app.service import Service
    from onward.aws.tenants import Holder
    from onward.documents.operating import AuditEntryPage, AuditEntryView

MAX_ENTRIES: Final = 200

_ID_BYTES: Final = 8
_ENTRY: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z#[0-9a-f]{16}", re.ASCII)
_LONGEST_TOKEN: Final = 300


def audited(
    service: Service, holder: Holder, action: str, target: str = "", comment: str = ""
) -> AuditEntry:
    """Return the entry that says what a key's holder is about to do."""
    now = service.clock()
    return AuditEntry(
        entry_id=f"{iso(now)}#{service.entropy(_ID_BYTES).hex()}",
        tenant=holder.tenant,
        at=now,
        action=action,
        target=target,
        key_id=holder.key_id,
        subject=holder.subject,
        comment=comment,
    )


def list_audit(
    service: Service, tenant: str, limit: int, since: str | None, token: str | None
) -> AuditEntryPage:
    """Return a page of the tenant's entries, newest first, and the token of the next one.

    `since` is the earliest time (RFC 3339, UTC). Raises InvalidRequest.
    """
    before = None if token is None else _read(token)
    earliest = "" if since is None else since.removesuffix("Z")
    page = service.audit.newest(tenant, limit, service.clock(), since=earliest, before=before)
    return {
        "entries": [_view(entry) for entry in page.entries],
        "next_page_token": None if page.more is None else _written(page.more),
    }


def _view(entry: AuditEntry) -> AuditEntryView:
    return {
        "at": iso(entry.at),
        "action": entry.action,
        "target": entry.target,
        "key_id": entry.key_id,
        "subject": entry.subject,
        "comment": entry.comment,
    }


def _written(entry_id: str) -> str:
    return urlsafe_b64encode(dumps(entry_id).encode()).decode().rstrip("=")


def _read(token: str) -> str:
    """Return the entry that a page ended with. No secret: the tenant comes from the key."""
    entry_id: Any = None
    if len(token) <= _LONGEST_TOKEN and re.fullmatch(r"[A-Za-z0-9_-]+", token):
        try:
            entry_id = json.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        except ValueError:
            entry_id = None
    if not isinstance(entry_id, str) or not _ENTRY.fullmatch(entry_id):
        _wrong("page_token", "page_token is the next_page_token of a page")
    return entry_id


def _wrong(name: str, message: str) -> NoReturn:
    raise InvalidRequest(message, (Fault(f"/{name}", message),))
