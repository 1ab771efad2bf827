from __future__ import annotations

from typing import Any

import pytest
from onward.app.live.socket_tickets import TICKET_SECONDS, redeem_socket_ticket
from onward.app.service import Service
from onward.aws.socket_tickets import SocketTicket

from tests.store.caller import Caller
from tests.store.conftest import CURSORS, Time, caller, issue


def redeem(service: Service, text: str) -> SocketTicket | None:
    return redeem_socket_ticket(service.tickets, service.door, text, service.clock())


def test_a_ticket_opens_once(service: Service, acme: Caller) -> None:
    """For its key's tenant and subject; who comes second finds nothing."""
    made = acme.post("/tickets", {"use": "ws"})
    assert 201 == made.status
    assert "no-store" == made.headers["cache-control"]
    assert ("wss://sockets.example/live", "2025-11-29T21:00:30.000Z") == (
        made.body["url"],
        made.body["expires_at"],
    )
    found = redeem(service, made.body["ticket"])
    assert found is not None
    assert ("acme", "ada") == (found.tenant, found.subject)
    assert redeem(service, made.body["ticket"]) is None


def test_a_ticket_runs_out(service: Service, acme: Caller, time: Time) -> None:
    """After half a minute, whether or not its row is still there."""
    text = acme.post("/tickets", {"use": "ws"}).body["ticket"]
    time.now += TICKET_SECONDS + 1
    assert redeem(service, text) is None


@pytest.mark.parametrize("text", ["", "wst_", "wst_none", "x", "wst_" + "a" * 1000])
def test_what_is_no_ticket_opens_nothing(service: Service, text: str) -> None:
    """Nor does it fail."""
    assert redeem(service, text) is None


def test_nothing_else_is_taken(acme: Caller) -> None:
    """What a ticket is asked for, it is not limited to."""
    refused = acme.post("/tickets", {"use": "ws", "more": 1})
    assert (422, "invalid_request") == (refused.status, refused.body["code"])


def test_a_ticket_needs_a_key(service: Service) -> None:
    """Any role will do: what a ticket shows, a key shows."""
    assert 401 == caller(service, None).post("/tickets", {"use": "ws"}).status
    approver = caller(service, issue(service, "acme", "approver"))
    assert 201 == approver.post("/tickets", {"use": "ws"}).status


def test_the_text_is_stored_nowhere(service: Service, acme: Caller, dynamodb: Any) -> None:
    """Whoever reads the table can open nothing."""
    text = acme.post("/tickets", {"use": "ws"}).body["ticket"]
    assert text not in str(dynamodb.scan(TableName=CURSORS)["Items"])
