from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from onward.app.service import Service
from onward.observability import logger

from tests.store.caller import Caller
from tests.store.conftest import RUNS, Time, caller, issue
from tests.store.submitting import HELLO, rows


@pytest.fixture
def run_id(acme: Caller) -> str:
    return str(acme.post("/runs", HELLO).body["run_id"])


@pytest.fixture
def nobody(service: Service) -> Caller:
    """A browser: it sends no key."""
    return caller(service, None)


def ticket(caller: Caller, run_id: str) -> str:
    reply = caller.post("/tickets", {"use": "sse", "run_id": run_id})
    assert 201 == reply.status, reply.body
    return str(reply.body["ticket"])


def test_a_ticket_opens_one_runs_events(acme: Caller, nobody: Caller, run_id: str) -> None:
    """As a page and as a stream, again and again; nothing else, and no other run's."""
    shown = ticket(acme, run_id)
    other = acme.post("/runs", HELLO).body["run_id"]
    for accept in ("application/json", "text/event-stream") * 2:
        reply = nobody.get(f"/runs/{run_id}/events", {"Accept": accept}, ticket=shown)
        assert 200 == reply.status
    for path in (f"/runs/{other}/events", f"/runs/{run_id}", "/runs", "/tools"):
        assert 401 == nobody.get(path, ticket=shown).status
    assert 401 == nobody.send("POST", "/runs", b"{}", query={"ticket": shown}).status


def test_a_ticket_runs_out_by_the_clock(
    acme: Caller, nobody: Caller, run_id: str, time: Time
) -> None:
    """After an hour, although the row may be there for days."""
    path, shown = f"/runs/{run_id}/events", ticket(acme, run_id)
    time.now += 3600
    assert 200 == nobody.get(path, ticket=shown).status
    time.now += 1
    assert (401, "unauthenticated") == (
        (reply := nobody.get(path, ticket=shown)).status,
        reply.body["code"],
    )


def test_a_ticket_says_when_it_runs_out(acme: Caller, run_id: str) -> None:
    """And is not to be kept on the way."""
    reply = acme.post("/tickets", {"use": "sse", "run_id": run_id})
    expected = {"use": "sse", "run_id": run_id, "expires_at": "2025-11-29T22:00:00.000Z"}
    assert expected == {name: reply.body[name] for name in expected}
    assert "no-store" == reply.headers["cache-control"]


def test_the_table_does_not_hold_the_ticket(acme: Caller, run_id: str, dynamodb: Any) -> None:
    """Its hash only, and when TTL may delete it."""
    shown = ticket(acme, run_id)
    assert shown not in str(dynamodb.scan(TableName=RUNS))
    (row,) = rows(dynamodb, "TICKET#")
    assert {"N": "1764453600"} == row["expires_at"]


def test_a_key_goes_over_a_ticket(acme: Caller, run_id: str) -> None:
    """A bad ticket beside a good key harms nobody, a bad key is told."""
    assert 200 == acme.get(f"/runs/{run_id}/events", ticket="nonsense").status


@pytest.mark.parametrize(
    "shown", ["", "nonsense", "ot_acme_" + "x" * 32, "ot_ACME_" + "x" * 32, "ot_acme_x", "é"]
)
def test_what_is_no_ticket_opens_nothing(nobody: Caller, run_id: str, shown: str) -> None:
    """401 like without one, also of another tenant's shape."""
    reply = nobody.get(f"/runs/{run_id}/events", ticket=shown)
    assert (401, "unauthenticated") == (reply.status, reply.body["code"])


def test_a_ticket_does_not_open_another_tenants_run(
    service: Service, nobody: Caller, run_id: str
) -> None:
    """There is none to be had for it."""
    evil = caller(service, issue(service, "evil", "operator"))
    reply = evil.post("/tickets", {"use": "sse", "run_id": run_id})
    assert (404, "run_not_found") == (reply.status, reply.body["code"])


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["/use", "/run_id"]),
        ({"use": "ws", "run_id": "run_1"}, ["/run_id"]),
        ({"use": "tv", "run_id": "run_1"}, ["/use"]),
        ({"use": "sse", "run_id": 1, "more": 2}, ["/more", "/run_id"]),
        ([], [""]),
    ],
)
def test_a_wish_is_checked(acme: Caller, body: Any, pointers: list[str]) -> None:
    """Every fault is named; a socket's ticket is for no run."""
    reply = acme.post("/tickets", body)
    assert 422 == reply.status
    assert sorted(pointers) == sorted(fault["pointer"] for fault in reply.body["errors"])


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What the log says."""
    kept = io.StringIO()
    handler = logging.StreamHandler(kept)
    handler.setFormatter(logger().registered_formatter)
    logging.getLogger("onward").addHandler(handler)
    yield kept
    logging.getLogger("onward").removeHandler(handler)


def test_a_ticket_is_in_no_log(
    acme: Caller, nobody: Caller, run_id: str, written: io.StringIO
) -> None:
    """Neither when it is issued nor when it is used."""
    shown = ticket(acme, run_id)
    nobody.get(f"/runs/{run_id}/events", ticket=shown)
    assert '"tenant":"acme"' in written.getvalue().splitlines()[-1]
    assert shown not in written.getvalue()
