"""Tickets that open sockets, where no header can be sent: used once, within 30 seconds."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from onward.aws.codec import iso
from onward.aws.socket_tickets import SocketTicket

if TYPE_CHECKING:
    from onward.app.access.keys import Doorkeeper
    from onward.app.service import Service
    from onward.aws.socket_tickets import SocketTickets
    from onward.aws.tenants import Holder
    from onward.documents.runs import SocketTicketView

TICKET_SECONDS: Final = 30

_SECRET_BYTES: Final = 24
_PREFIX: Final = "wst_"
_LONGEST: Final = 64


def issue_socket_ticket(service: Service, holder: Holder) -> SocketTicketView:
    """Return a new ticket and the address that it opens.

    It lets in whoever brings it as the key's holder would be, so it lives for one use only.
    """
    secret = urlsafe_b64encode(service.entropy(_SECRET_BYTES)).decode().rstrip("=")
    text = _PREFIX + secret
    until = int(service.clock()) + TICKET_SECONDS
    whose = (holder.tenant, holder.subject, holder.key_id)
    service.tickets.put(_digest(text), SocketTicket(*whose, until))
    return {"ticket": text, "use": "ws", "url": service.socket_url, "expires_at": iso(until)}


def redeem_socket_ticket(
    tickets: SocketTickets, door: Doorkeeper, text: str, now: float
) -> SocketTicket | None:
    """Use a ticket up and return whose it was; None when it opens nothing, or its key no more."""
    if not text.startswith(_PREFIX) or len(text) > _LONGEST:
        return None
    ticket = tickets.take(_digest(text), now)
    return ticket if ticket and door.admits(ticket.tenant, ticket.key_id) else None


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
