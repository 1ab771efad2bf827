from __future__ import annotations

import io
import logging
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from secrets import token_bytes
from typing import Any

import pytest
from onward.app.access.keys import Doorkeeper, aside, issue_key, lasting_key, new_key
from onward.app.operating.revoke_key import revoke_key
from onward.app.service import Service
from onward.domain.access import key_id_of
from onward.domain.errors import Unauthenticated
from onward.observability import logger

from tests import faults
from tests.store.caller import Caller
from tests.store.conftest import ACCESS, NOW, RUNS, Time, caller, issue, issued


@pytest.fixture
def door(service: Service) -> Doorkeeper:
    return service.door


def test_an_issued_key_names_its_holder(service: Service, door: Doorkeeper) -> None:
    """Tenant, subject and roles come back; the scheme's case does not matter."""
    key = issue(service, "acme", "submitter", "approver:finance")
    holder = door.authenticate(f"bearer {key}")
    assert ("acme", "ada") == (holder.tenant, holder.subject)
    assert {"submitter", "approver:finance"} == holder.roles


def test_the_key_itself_is_stored_nowhere(service: Service, dynamodb: Any) -> None:
    """Who reads the table cannot call the API."""
    secret = issue(service, "acme", "submitter").split("_", 2)[2]
    for table in (RUNS, ACCESS):
        assert secret not in str(dynamodb.scan(TableName=table)["Items"])


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


def test_a_revoked_key_is_refused_by_the_next_request(service: Service, door: Doorkeeper) -> None:
    """Each asks the row, so no process goes on believing what another has refused."""
    text, key_id = issued(service, "acme", "submitter")
    header, others = f"Bearer {text}", Doorkeeper(door.keys, service.clock)
    assert key_id == others.authenticate(header).key_id
    operator = service.door.authenticate("Bearer " + issue(service, "acme", "operator"))

    revoke_key(service, operator, key_id, "", last=False)

    for each in (door, others):
        with pytest.raises(Unauthenticated, match="revoked"):
            each.authenticate(header)
        assert not each.admits("acme", key_id)


def test_a_key_ends_at_its_expiry(service: Service, door: Doorkeeper, time: Time) -> None:
    """By the clock of whoever is asked; its row stays for a month, to be listed."""
    text = issue(service, "acme", "submitter", expires_at=time.now + 30)
    door.authenticate(f"Bearer {text}")
    time.now += 29.9
    door.authenticate(f"Bearer {text}")
    time.now += 0.1
    with pytest.raises(Unauthenticated, match="expired"):
        door.authenticate(f"Bearer {text}")
    assert ["expired"] == [key.state(time.now) for key in door.keys.of("acme")]


def test_a_row_without_a_holder_is_no_key(
    service: Service, door: Doorkeeper, dynamodb: Any
) -> None:
    """An update is all that the service may do: of a row that is not there it makes no key."""
    text = new_key("acme", token_bytes)
    key_id = key_id_of(sha256(text.encode()).hexdigest())
    place = {"pk": {"S": "KEY#acme"}, "sk": {"S": key_id}}
    dynamodb.put_item(TableName=ACCESS, Item=place | {"last_used_at": {"N": "1"}})

    with pytest.raises(Unauthenticated):
        door.authenticate(f"Bearer {text}")
    assert [] == door.keys.of("acme")


def test_half_a_hash_is_not_enough(service: Service, door: Doorkeeper, dynamodb: Any) -> None:
    """A row of that id with another hash belongs to another key."""
    text, key_id = issued(service, "acme", "submitter")
    dynamodb.update_item(
        TableName=ACCESS,
        Key={"pk": {"S": "KEY#acme"}, "sk": {"S": key_id}},
        UpdateExpression="SET digest = :other",
        ExpressionAttributeValues={":other": {"S": key_id.removeprefix("key_") + "0" * 44}},
    )
    with pytest.raises(Unauthenticated):
        door.authenticate(f"Bearer {text}")


def used(door: Doorkeeper) -> list[float | None]:
    return [key.last_used_at for key in door.keys.of("acme")]


def test_the_last_use_is_known_to_the_minute(
    service: Service, door: Doorkeeper, dynamodb: Any, time: Time
) -> None:
    """One write a minute a key, however many processes and requests there are."""
    header = "Bearer " + issue(service, "acme", "submitter")
    writes = faults.calls(dynamodb, "UpdateItem")
    processes = [Doorkeeper(door.keys, time.clock, lambda work: work()) for _ in range(3)]
    for _ in range(60):
        for process in processes:
            process.authenticate(header)
        time.now += 1
    assert 1 == len(writes)
    assert [NOW] == used(door)
    processes[0].authenticate(header)
    assert [NOW + 60] == used(door)


def test_two_who_note_a_use_at_once_write_it_once(
    service: Service, door: Doorkeeper, time: Time
) -> None:
    """The second is refused by the row, and that is no error."""
    issue(service, "acme", "submitter")
    (key,) = door.keys.of("acme")
    door.keys.used(key, time.now, time.now - 60)
    door.keys.used(key, time.now + 1, time.now - 59)
    assert [NOW] == used(door)


def test_noting_the_use_neither_delays_nor_fails_a_request(
    service: Service, dynamodb: Any, time: Time
) -> None:
    """A table that hangs and then refuses: requests are through before, and ask it once."""
    header = "Bearer " + issue(service, "acme", "submitter")
    hanging, let_go, ended = threading.Event(), threading.Event(), threading.Event()

    def hang() -> None:
        hanging.set()
        assert let_go.wait(30)
        raise TimeoutError

    def later(work: Callable[[], object]) -> None:
        def all_of_it() -> None:
            try:
                work()
            finally:
                ended.set()

        aside(all_of_it)

    door = Doorkeeper(service.door.keys, time.clock, later)
    with faults.meanwhile(dynamodb, "UpdateItem", hang) as fault:
        assert "ada" == door.authenticate(header).subject
        assert hanging.wait(30)
        assert "ada" == door.authenticate(header).subject
        assert not ended.is_set()
        let_go.set()
        assert ended.wait(30)
    assert (1, [None]) == (fault.fired, used(door))


def test_an_unknown_key_is_looked_up_each_time(service: Service, door: Doorkeeper) -> None:
    """A key works from the moment it is issued, also if it was tried before."""
    known = iter([b"a" * 24, b"a" * 24])
    keys, now = service.door.keys, service.clock()
    text, _ = issue_key(keys, "other", "x", ["worker"], lambda _: next(known), now)
    header = "Bearer " + text.replace("other", "acme")
    with pytest.raises(Unauthenticated):
        door.authenticate(header)
    issue_key(keys, "acme", "x", ["worker"], lambda _: next(known), now)
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


def test_a_busy_table_is_no_refusal(service: Service, dynamodb: Any) -> None:
    """The same key may be let in a second later; nobody is let in meanwhile."""
    who = caller(service, issue(service, "acme", "submitter"))
    with faults.throttled(dynamodb, "GetItem"):
        reply = who.get("/runs")
    assert (503, "unavailable", True) == (
        reply.status,
        reply.body["code"],
        reply.body["retryable"],
    )
    assert 200 == who.get("/runs").status


def test_a_lasting_key_is_the_same_until_it_is_revoked(
    service: Service, door: Doorkeeper, time: Time
) -> None:
    """Stored again where its row is gone, and another one once it was revoked or has ended."""

    def lasting(known: str | None) -> str:
        return lasting_key(door.keys, known, "acme", "dev", ["operator"], token_bytes, time.now)

    first = lasting(None)
    assert first == lasting(first)
    lost = new_key("acme", token_bytes)
    assert lost == lasting(lost)
    holder = door.authenticate(f"Bearer {first}")
    revoke_key(service, holder, holder.key_id, "", last=True)

    second = lasting(first)

    assert second != first
    assert {"operator"} == door.authenticate(f"Bearer {second}").roles


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What the log says."""
    kept = io.StringIO()
    handler = logging.StreamHandler(kept)
    handler.setFormatter(logger().registered_formatter)
    logging.getLogger("onward").addHandler(handler)
    yield kept
    logging.getLogger("onward").removeHandler(handler)


def test_no_key_and_no_secret_is_in_the_log(service: Service, written: io.StringIO) -> None:
    """Who called is told by the key's id; also where the key is refused, or half of one."""
    text, key_id = issued(service, "acme", "operator")
    who = caller(service, text)
    made = who.send("PUT", "/endpoints/billing", b'{"url": "http://127.0.0.1:9/hook"}')
    rotated = who.post("/endpoints/billing/rotate", {})
    ticket = who.post("/tickets", {"use": "ws"}).body["ticket"]
    who.send("DELETE", f"/keys/{key_id}", query={"last": "true", "comment": "left"})
    assert 401 == who.get("/runs").status
    assert 401 == caller(service, text + "x").get("/runs").status

    said = written.getvalue()
    assert key_id in said
    for secret in (text, text[8:], made.body["secret"], rotated.body["secret"], ticket, "left"):
        assert secret not in said
