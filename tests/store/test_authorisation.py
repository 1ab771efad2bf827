"""Every route by every kind of caller; a route that is not in the matrix fails it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from onward.app.operating.revoke_key import revoke_key
from onward.app.service import Service
from onward.http.routes import OPEN, ROUTES, TICKETED

from tests.store.caller import Caller, Reply
from tests.store.conftest import ACCESS, CURSORS, RUNS, Time, caller, issue, issued
from tests.store.submitting import HELLO

OPERATOR = {"operator"}
SUBMITTER = {"submitter", "operator"}
ANYBODY = {"submitter", "approver", "approver:finance", "operator", "worker"}
"""Of the tenant: a key that may do nothing else may read."""

ENDPOINT = {"url": "http://127.0.0.1:9/hook"}


@dataclass(frozen=True)
class Case:
    """Whose keys a route is for, and a body that it takes."""

    roles: set[str]
    body: Any = None
    query: dict[str, object] = field(default_factory=dict)


MATRIX = {
    ("GET", "/runs"): Case(ANYBODY),
    ("POST", "/runs"): Case(SUBMITTER, HELLO),
    ("GET", "/runs/<run_id>"): Case(ANYBODY),
    ("GET", "/runs/<run_id>/events"): Case(ANYBODY),
    ("GET", "/runs/<run_id>/effects"): Case(ANYBODY),
    ("POST", "/runs/<run_id>/resume"): Case(OPERATOR, {}),
    ("POST", "/runs/<run_id>/cancel"): Case(SUBMITTER, {}),
    ("POST", "/runs/<run_id>/steps/<step_id>/resolution"): Case(OPERATOR, {"outcome": "abandon"}),
    ("GET", "/approvals"): Case(ANYBODY),
    ("POST", "/runs/<run_id>/approvals/<step_id>"): Case(
        {"approver", "approver:finance"}, {"decision": "approve", "action_version": "v"}
    ),
    ("POST", "/patrol"): Case(OPERATOR),
    ("POST", "/tickets"): Case(ANYBODY, {"use": "ws"}),
    ("GET", "/stats/recovery"): Case(ANYBODY),
    ("POST", "/uploads"): Case(SUBMITTER, {"name": "a.txt", "size": 1}),
    ("GET", "/artifacts/<ref>"): Case(ANYBODY),
    ("GET", "/workflows"): Case(ANYBODY),
    ("GET", "/tools"): Case(ANYBODY),
    ("GET", "/openapi.json"): Case(ANYBODY),
    ("PUT", "/endpoints/<endpoint_id>"): Case(OPERATOR, ENDPOINT),
    ("GET", "/endpoints/<endpoint_id>"): Case(OPERATOR),
    ("DELETE", "/endpoints/<endpoint_id>"): Case(OPERATOR),
    ("GET", "/endpoints"): Case(OPERATOR),
    ("POST", "/endpoints/<endpoint_id>/rotate"): Case(OPERATOR, {}),
    ("GET", "/deliveries"): Case(OPERATOR),
    ("POST", "/deliveries/redrive"): Case(OPERATOR),
    ("GET", "/keys"): Case(OPERATOR),
    ("DELETE", "/keys/<key_id>"): Case(OPERATOR, query={"last": "true"}),
    ("GET", "/audit"): Case(OPERATOR),
}
KEYED = sorted(set(MATRIX) - {("GET", path) for path in OPEN})


@dataclass
class Acme:
    """What a tenant has, and how its routes are called."""

    service: Service
    run_id: str
    ref: str
    key_id: str
    key: str
    endpoint_id: str = "billing"

    def call(self, route: tuple[str, str], key: str | None, **query: object) -> Reply:
        case, (method, path) = MATRIX[route], route
        names = {"run_id": self.run_id, "ref": self.ref, "key_id": self.key_id, "step_id": "first"}
        for name, value in {**names, "endpoint_id": self.endpoint_id}.items():
            path = path.replace(f"<{name}>", value)
        body = None if case.body is None else json.dumps(case.body).encode()
        return caller(self.service, key).send(method, path, body, query={**case.query, **query})

    def rows(self, dynamodb: Any) -> dict[tuple[str, str, str], Any]:
        """Everything that is stored of the tenant, but for what tells when a key was used."""
        return {
            (table, row["pk"]["S"], row["sk"]["S"]): row
            for table in (RUNS, ACCESS, CURSORS)
            for row in dynamodb.scan(TableName=table)["Items"]
            if "acme" in row["pk"]["S"] or self.run_id in row["pk"]["S"]
        }


@pytest.fixture
def acme(service: Service) -> Acme:
    key, key_id = issued(service, "acme", "operator")
    operator = caller(service, key)
    made = operator.send("PUT", "/endpoints/billing", json.dumps(ENDPOINT).encode())
    assert 201 == made.status
    upload = operator.post("/uploads", {"name": "a.txt", "size": 1}).body["artifact"]["ref"]
    return Acme(service, operator.post("/runs", HELLO).body["run_id"], upload, key_id, key)


def test_every_route_is_in_the_matrix() -> None:
    """Whoever adds one says here who may call it."""
    assert {(method, rule) for method, rule, _ in ROUTES} == MATRIX.keys()


@pytest.mark.parametrize("route", KEYED, ids=" ".join)
def test_a_route_is_for_its_roles_and_nobody_else(acme: Acme, route: tuple[str, str]) -> None:
    """403 for the others, whether or not there is anything at the address."""
    for role in sorted(ANYBODY - MATRIX[route].roles):
        reply = acme.call(route, issue(acme.service, "acme", role))
        assert (403, "forbidden") == (reply.status, reply.body["code"]), role
    for role in sorted(MATRIX[route].roles):
        status = acme.call(route, issue(acme.service, "acme", role)).status
        assert status in {200, 201, 202, 204, 302, 404, 409}, (role, status)


@pytest.mark.parametrize("route", KEYED, ids=" ".join)
def test_no_route_opens_without_a_valid_key(
    acme: Acme, route: tuple[str, str], dynamodb: Any, time: Time
) -> None:
    """None, one that is none, one that nobody issued, one that ended and one that was revoked."""
    service = acme.service
    ended = issue(service, "acme", "operator", "submitter", expires_at=time.now + 1)
    time.now += 1
    revoked, key_id = issued(service, "acme", "operator", "submitter")
    revoke_key(service, service.door.admit("acme", acme.key_id), key_id, "", last=False)
    before = acme.rows(dynamodb)

    for key in (None, "", "nonsense", "ow_acme_short", "ow_acme_" + "a" * 32, ended, revoked):
        reply = acme.call(route, key)
        assert (401, "unauthenticated") == (reply.status, reply.body["code"]), key
        assert "Bearer" in reply.headers["www-authenticate"]
    assert before == acme.rows(dynamodb)


@pytest.mark.parametrize("route", KEYED, ids=" ".join)
def test_another_tenants_key_sees_and_changes_nothing(
    acme: Acme, route: tuple[str, str], dynamodb: Any
) -> None:
    """404 for what is named, as if it were not there; what is listed is one's own."""
    before, key = acme.rows(dynamodb), issue(acme.service, "umbra", *ANYBODY)

    reply = acme.call(route, key)

    if "<" in route[1] and route[0] != "PUT":
        assert 404 == reply.status
    else:
        assert reply.status < 300
        for theirs in (acme.run_id, acme.key_id, acme.ref):
            assert theirs not in json.dumps(reply.body)
    assert before == acme.rows(dynamodb)


@pytest.mark.parametrize("route", KEYED, ids=" ".join)
def test_a_ticket_opens_what_it_is_for_and_no_other_route(
    acme: Acme, route: tuple[str, str]
) -> None:
    """The events of its run, and those only as long as its key is valid."""
    service, wish = acme.service, {"use": "sse", "run_id": acme.run_id}
    text, key_id = issued(service, "acme", "approver")
    ticket = caller(service, text).post("/tickets", wish).body["ticket"]

    reply = acme.call(route, None, ticket=ticket)

    assert (200 if route[1] in TICKETED else 401) == reply.status
    revoke_key(service, service.door.admit("acme", acme.key_id), key_id, "", last=False)
    assert 401 == acme.call(route, None, ticket=ticket).status


@pytest.mark.parametrize("path", sorted(OPEN))
def test_an_open_path_is_open(service: Service, path: str) -> None:
    """With any key or none."""
    for key in (None, "nonsense", issue(service, "acme", "worker")):
        reply = Caller(caller(service, None).handler, key).get(path)
        assert 200 == reply.status
