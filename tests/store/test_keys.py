from __future__ import annotations

from typing import Any

import pytest
from onward.app.keys import Doorkeeper, issue_key
from onward.app.service import Service
from onward.domain.errors import Unauthenticated

from tests import faults
from tests.store.caller import Caller
from tests.store.conftest import RUNS, Time, caller, issue


@pytest.fixture
def door(service: Service) -> Doorkeeper:
    return Doorkeeper(service.tenants, service.clock)


def test_an_issued_key_names_its_holder(service: Service, door: Doorkeeper) -> None:
    """Tenant, subject and roles come back; the scheme's case does not matter."""
    key = issue(service, "acme", "submitter", "approver:finance")
    holder = door.authenticate(f"bearer {key}")
    assert ("acme", "ada") == (holder.tenant, holder.subject)
    assert {"submitter", "approver:finance"} == holder.roles


def test_the_key_itself_is_stored_nowhere(service: Service, dynamodb: Any) -> None:
    """Who reads the table cannot call the API."""
    secret = issue(service, "acme", "submitter").split("_", 2)[2]
    assert secret not in str(dynamodb.scan(TableName=RUNS)["Items"])


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic b3c6b3c=",
        "Bearer ow_acme_short",
        "Bearer ow_ACME_0123456789abcdef",
        "Bearer ow_acme_0123456789abcdef0123 extra",
        "Bearer ow_acme_0123456789abcdef0123\n",
        "Bearer ow_acme_0123456789abcdef0123",
        "Bearer ow_" + "a" * 33 + "_0123456789abcdef0123",
        "Bearer ow_acme_" + "a" * 5000,
    ],
)
def test_nobody_else_gets_in(door: Doorkeeper, header: str | None) -> None:
    """Neither a malformed key nor one that looks right and was never issued."""
    with pytest.raises(Unauthenticated):
        door.authenticate(header)


def test_a_key_opens_its_own_tenant_only(service: Service, door: Doorkeeper) -> None:
    """The tenant in the text is part of what was hashed."""
    key = issue(service, "acme", "submitter")
    with pytest.raises(Unauthenticated):
        door.authenticate("Bearer " + key.replace("acme", "evil"))


def test_a_found_key_is_kept_for_a_minute(
    service: Service, door: Doorkeeper, dynamodb: Any, time: Time
) -> None:
    """One read a minute; a withdrawn key is shut out after that."""
    header = "Bearer " + issue(service, "acme", "submitter")
    reads = faults.calls(dynamodb, "GetItem")
    door.authenticate(header)
    ((row,),) = [[row] for row in dynamodb.scan(TableName=RUNS)["Items"]]
    dynamodb.delete_item(TableName=RUNS, Key={"pk": row["pk"], "sk": row["sk"]})
    time.now += 59
    door.authenticate(header)
    assert len(reads) == 1
    time.now += 2
    with pytest.raises(Unauthenticated):
        door.authenticate(header)


def test_an_unknown_key_is_looked_up_each_time(service: Service, door: Doorkeeper) -> None:
    """A key works from the moment it is issued, also if it was tried before."""
    known = iter([b"a" * 24, b"a" * 24])
    text = issue_key(service.tenants, "other", "x", ["worker"], lambda _: next(known))
    header = "Bearer " + text.replace("other", "acme")
    with pytest.raises(Unauthenticated):
        door.authenticate(header)
    issue_key(service.tenants, "acme", "x", ["worker"], lambda _: next(known))
    assert door.authenticate(header).tenant == "acme"


@pytest.mark.parametrize(
    ("tenant", "roles"),
    [("Acme", ["submitter"]), ("", ["submitter"]), ("a" * 33, ["submitter"]), ("acme", [])],
)
def test_a_key_that_could_not_be_used_is_not_issued(
    service: Service, tenant: str, roles: list[str]
) -> None:
    """Tenants that do not fit the key's text, and keys that may do nothing."""
    with pytest.raises(ValueError, match="match"):
        issue(service, tenant, *roles)
    with pytest.raises(ValueError, match="roles"):
        issue(service, "acme", "emperor")


def test_only_submitters_and_operators_submit(service: Service) -> None:
    """Whoever may read and not submit is told so."""
    body = {"workflow": "speak", "input": {"text": "hi"}}
    for role, status in {"submitter": 202, "operator": 202, "approver": 403, "worker": 403}.items():
        reply = caller(service, issue(service, "acme", role)).post("/runs", body)
        assert status == reply.status
    assert "operator or submitter" in reply.body["detail"]


def test_any_role_of_the_tenant_reads(service: Service, acme: Caller) -> None:
    """An approver sees what is to be approved."""
    path = acme.post("/runs", {"workflow": "speak", "input": {"text": "hi"}}).headers["location"]
    assert caller(service, issue(service, "acme", "approver")).get(path).status == 200
