"""Tickets for one run: what a browser may show where it cannot send a header.

An EventSource has a URL and nothing else. A URL is kept in histories and logs, so what stands in
it opens one run's events, for reading, for an hour.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from onward.app.access.keys import TENANT
from onward.app.reading.read_run import find_run
from onward.aws.codec import iso
from onward.aws.tenants import RunTicket
from onward.domain.errors import Unauthenticated

if TYPE_CHECKING:
    from onward.app.service import Service
    from onward.aws.tenants import Holder
    from onward.documents.runs import RunTicketView

TICKET_SECONDS: Final = 3600

_SECRET_BYTES: Final = 24
_TICKET: Final = re.compile(rf"ot_({TENANT.pattern})_[A-Za-z0-9_-]{{32}}")


def issue_run_ticket(service: Service, holder: Holder, run_id: str) -> RunTicketView:
    """Store a ticket by its SHA-256 and return its text, which nobody can read again.

    Raises RunNotFound.
    """
    find_run(service, holder.tenant, run_id)
    secret = urlsafe_b64encode(service.entropy(_SECRET_BYTES)).decode()
    text = f"ot_{holder.tenant}_{secret}"
    expires_at = int(service.clock()) + TICKET_SECONDS
    ticket = RunTicket("sse", run_id, holder.key_id, expires_at)
    service.tenants.put_run_ticket(holder.tenant, _digest(text), ticket)
    return {"ticket": text, "use": "sse", "run_id": run_id, "expires_at": iso(expires_at)}


def redeem_run_ticket(service: Service, text: str, run_id: str) -> Holder:
    """Return who may read a run's events, without any role; raises Unauthenticated.

    A ticket is void with the key that it was had by. Expiry is told by the clock: the table's own
    deletion of expired rows lags by days.
    """
    shape = _TICKET.fullmatch(text)
    found = shape and service.tenants.run_ticket(shape[1], _digest(text))
    if not shape or not found or found.expires_at < service.clock():
        raise Unauthenticated("nobody issued this ticket, or it has run out")
    if (found.use, found.run_id) != ("sse", run_id):
        raise Unauthenticated("this ticket is for something else")
    return replace(service.door.admit(shape[1], found.key_id), roles=frozenset())


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
