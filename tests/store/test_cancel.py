"""Cancelling over the API: answered alike again, kept in the logs, refused after another end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.app.driving.carry_out import carry_out
from onward.domain.protocol import Begin, Complete

from tests.builders import payload
from tests.store.conftest import caller, issue
from tests.store.submitting import HELLO, submit

if TYPE_CHECKING:
    from onward.app.service import Service


def test_a_cancelled_run_says_so_and_why(service: Service) -> None:
    """At once where nothing is under way outside; the same again changes nothing."""
    who = caller(service, issue(service, "acme", "submitter"))
    run_id = who.post("/runs", HELLO).body["run_id"]
    first = who.post(f"/runs/{run_id}/cancel", {"reason": "wrong order"})
    assert (202, "cancelled") == (first.status, first.body["status"])
    assert ("cancelled", "wrong order") == (
        first.body["error"]["code"],
        first.body["error"]["message"],
    )
    again = who.post(f"/runs/{run_id}/cancel", {})
    assert (202, first.body["as_of_seq"]) == (again.status, again.body["as_of_seq"])
    operator = caller(service, issue(service, "acme", "operator"))
    entries = operator.get("/audit").body["entries"]
    found = [(e["target"], e["comment"]) for e in entries if e["action"] == "run.cancel"]
    assert [(run_id, "wrong order")] == found


def test_a_run_that_has_ended_cannot_be_cancelled(service: Service) -> None:
    """409, and it stays as it is; another tenant's is not there."""
    one = {"plan": {"steps": [{"id": "a", "tool": "say", "input": {"text": "x"}}]}, "input": {}}
    run_id = submit(service, one)
    until = service.clock() + 60
    carry_out(service.drive, run_id, 1, Begin(), until)
    carry_out(service.drive, run_id, 1, Complete("a", 1, payload("x")), until)
    who = caller(service, issue(service, "acme", "submitter"))
    refused = who.post(f"/runs/{run_id}/cancel", {})
    assert (409, "already_terminal") == (refused.status, refused.body["code"])
    assert "succeeded" == who.get(f"/runs/{run_id}").body["status"]
    other = caller(service, issue(service, "other", "submitter"))
    assert 404 == other.post(f"/runs/{run_id}/cancel", {}).status
