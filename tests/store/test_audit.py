"""What operators did is written in the transaction in which they did it."""

from __future__ import annotations

from typing import Any

import pytest
from onward.app.service import Service
from onward.aws.audit import AuditEntry
from onward.aws.codec import iso
from onward.domain.errors import Fatal
from onward.domain.model import RunStatus

from tests import faults
from tests.store import scripted_tools as tools
from tests.store.caller import Caller
from tests.store.conftest import AUDIT_SECONDS, Time, caller, issue, issued
from tests.store.driver import Driver
from tests.store.runs import RUN_ID, Journey, journey, steps


@pytest.fixture
def key(service: Service) -> tuple[str, str]:
    return issued(service, "acme", "operator")


@pytest.fixture
def operator(service: Service, key: tuple[str, str]) -> Caller:
    return caller(service, key[0])


@pytest.fixture
def run(service: Service, time: Time, script: None) -> Journey:
    """A run of one step that has not begun."""
    plan = steps({"id": "pay", "tool": "once", "input": {"value": 1}})
    return journey(service.store, service.reader, service.blobs("acme"), time, plan)


def fails(run: Journey) -> None:
    tools.SCRIPT["pay"] = [tools.raises(Fatal("no"))]
    Driver(run.drive, run.run_id).execute()
    assert RunStatus.FAILED is run.run.status


def entries(operator: Caller, **query: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = operator.get("/audit", **query).body["entries"]
    return found


def test_a_resume_says_who_when_and_why(
    operator: Caller, key: tuple[str, str], run: Journey, time: Time
) -> None:
    """By the key's id and its subject; the run's own commit carries it."""
    fails(run)
    assert 202 == operator.post(f"/runs/{RUN_ID}/resume", {"comment": "the bank is back"}).status
    assert [
        {
            "at": iso(time.now),
            "action": "run.resume",
            "target": RUN_ID,
            "key_id": key[1],
            "subject": "ada",
            "comment": "the bank is back",
        }
    ] == entries(operator)


def test_a_resolution_says_what_was_decided(operator: Caller, run: Journey) -> None:
    """And on which step."""
    tools.SCRIPT["pay"] = [tools.dies]
    Driver(run.drive, run.run_id).execute()
    body = {"outcome": "abandon", "comment": "too late"}
    assert 200 == operator.post(f"/runs/{RUN_ID}/steps/pay/resolution", body).status
    (entry,) = entries(operator)
    assert ("step.abandon", f"{RUN_ID}/pay", "too late") == (
        entry["action"],
        entry["target"],
        entry["comment"],
    )


@pytest.mark.parametrize("fault", ["refused", "nothing to do"])
def test_what_was_not_done_is_not_in_the_log(
    operator: Caller, run: Journey, dynamodb: Any, fault: str
) -> None:
    """Neither the one nor the other is there alone."""
    path = f"/runs/{RUN_ID}/resume"
    if fault == "refused":
        fails(run)
        with faults.refused(dynamodb, "TransactWriteItems", "ValidationException"):
            assert 500 == operator.post(path, {}).status
        assert RunStatus.FAILED is run.run.status
    else:
        assert 409 == operator.post(path, {}).status
    assert [] == entries(operator)


def test_a_commit_whose_reply_is_lost_is_told_of_once(
    operator: Caller, run: Journey, dynamodb: Any
) -> None:
    """It was made, and so was its entry."""
    fails(run)
    with faults.lost_reply(dynamodb, "TransactWriteItems"):
        assert 202 == operator.post(f"/runs/{RUN_ID}/resume", {}).status
    assert ["run.resume"] == [entry["action"] for entry in entries(operator)]


def test_a_commit_that_had_to_be_decided_again_is_told_of_once(
    operator: Caller, run: Journey, dynamodb: Any
) -> None:
    """The entry goes with the commit that counted."""
    fails(run)
    with faults.cancelled(dynamodb, ["TransactionConflict"], times=2):
        assert 202 == operator.post(f"/runs/{RUN_ID}/resume", {}).status
    assert ["run.resume"] == [entry["action"] for entry in entries(operator)]


def test_every_action_of_an_operator_is_in_the_log(service: Service, operator: Caller) -> None:
    """Also what is no commit of ours."""
    _, other = issued(service, "acme", "submitter")
    operator.post("/patrol", {"comment": "looks stuck"})
    operator.post("/deliveries/redrive", {})
    operator.send("DELETE", f"/keys/{other}", query={"comment": "left the company"})

    found = [(entry["action"], entry["target"], entry["comment"]) for entry in entries(operator)]

    assert sorted(found) == [
        ("deliveries.redrive", "", ""),
        ("key.revoke", other, "left the company"),
        ("patrol", "", "looks stuck"),
    ]


def note(service: Service, time: Time, count: int) -> None:
    for number in range(count):
        time.now += 1
        entry_id = f"{iso(time.now)}#{number:016x}"
        whose = ("acme", time.now, "patrol", str(number), "key_1", "ada")
        service.audit.note(AuditEntry(entry_id, *whose))


def test_the_log_is_paged_newest_first(service: Service, operator: Caller, time: Time) -> None:
    """What is written meanwhile moves no page that comes."""
    note(service, time, 7)
    seen, token = [], None
    while True:
        query: dict[str, object] = {"limit": 3} | ({"page_token": token} if token else {})
        page = operator.get("/audit", **query).body
        seen += [entry["target"] for entry in page["entries"]]
        note(service, time, 1)
        token = page["next_page_token"]
        if token is None:
            break
    assert ["6", "5", "4", "3", "2", "1", "0"] == seen


def test_the_log_since_a_time(service: Service, operator: Caller, time: Time) -> None:
    """The time itself included."""
    began = time.now
    note(service, time, 5)
    since = iso(began + 4)
    assert ["4", "3"] == [entry["target"] for entry in entries(operator, since=since)]


def test_an_entry_leaves_at_its_time(service: Service, operator: Caller, time: Time) -> None:
    """By the clock; the table deletes it some days later."""
    note(service, time, 1)
    time.now += AUDIT_SECONDS - 1
    assert 1 == len(entries(operator))
    time.now += 1
    assert [] == entries(operator)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("since", "yesterday"),
        ("since", "2026-11-29T10:00:00+01:00"),
        ("page_token", "x"),
        ("page_token", "A" * 60),
        ("limit", "0"),
        ("limit", "201"),
    ],
)
def test_a_question_that_means_nothing_is_refused(operator: Caller, name: str, value: str) -> None:
    """By the parameter's name."""
    reply = operator.get("/audit", **{name: value})
    assert (422, [f"/{name}"]) == (reply.status, [e["pointer"] for e in reply.body["errors"]])


@pytest.mark.parametrize("comment", [7, "x" * 1001])
def test_a_comment_is_text_of_some_length(operator: Caller, run: Journey, comment: object) -> None:
    """And nothing is done where it is not."""
    fails(run)
    reply = operator.post(f"/runs/{RUN_ID}/resume", {"comment": comment})
    assert (422, ["/comment"]) == (reply.status, [e["pointer"] for e in reply.body["errors"]])
    assert RunStatus.FAILED is run.run.status


def test_the_last_operators_key_is_revoked_by_who_says_so(
    service: Service, operator: Caller, key: tuple[str, str], time: Time
) -> None:
    """An expired one and a revoked one are no others."""
    issue(service, "acme", "operator", expires_at=time.now + 1)
    time.now += 1
    path = f"/keys/{key[1]}"

    refused = operator.send("DELETE", path)
    assert (409, "last_operator_key") == (refused.status, refused.body["code"])
    assert 204 == operator.send("DELETE", path, query={"last": "true"}).status
    assert 401 == operator.get("/keys").status


def test_two_who_revoke_a_key_at_once_are_told_of_once(
    service: Service, operator: Caller, dynamodb: Any
) -> None:
    """The second finds it revoked, which is what it asked for."""
    _, other = issued(service, "acme", "submitter")
    path = f"/keys/{other}"
    with faults.meanwhile(dynamodb, "TransactWriteItems", lambda: operator.send("DELETE", path)):
        assert 204 == operator.send("DELETE", path).status
    assert 1 == len(entries(operator))


def test_a_revocation_waits_for_the_noting_of_a_use(
    service: Service, operator: Caller, dynamodb: Any
) -> None:
    """Which writes the same row."""
    _, other = issued(service, "acme", "submitter")
    with faults.cancelled(dynamodb, ["TransactionConflict", "None"], times=3):
        assert 204 == operator.send("DELETE", f"/keys/{other}").status
    assert not service.door.admits("acme", other)


def test_keys_are_listed_without_a_key(
    service: Service, operator: Caller, key: tuple[str, str], time: Time
) -> None:
    """Whose, what for, since when and until when."""
    time.now += 1
    text, other = issued(service, "acme", "submitter", expires_at=time.now + 60)
    issue(service, "umbra", "submitter")

    reply = operator.get("/keys")

    assert [key[1], other] == [each["id"] for each in reply.body["keys"]]
    assert reply.body["keys"][1] == {
        "id": other,
        "subject": "ada",
        "roles": ["submitter"],
        "state": "active",
        "created_at": iso(time.now),
        "expires_at": iso(time.now + 60),
        "last_used_at": None,
        "revoked_at": None,
    }
    assert text not in str(reply.body)
    assert text.split("_")[2] not in str(reply.body)
