from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

import pytest
from onward.app.service import Service
from onward.aws import run_index
from onward.domain.model import RunStatus

from tests import faults
from tests.store.caller import Caller
from tests.store.conftest import RUNS, Time, caller, issue
from tests.store.runs import born, chain

HELLO: dict[str, Any] = {"workflow": "speak", "input": {"text": "hi"}}


def accept(service: Service, count: int, *, apart: float = 1.0, tenant: str = "acme") -> list[str]:
    """Store runs, each so many seconds after the one before; the newest is the last."""
    names = [f"run_{tenant}{apart:g}x{number:04d}" for number in range(count)]
    for number, run_id in enumerate(names):
        first = born(chain(1), service.clock() + number * apart, run_id, tenant)
        service.store.create(first.run, first.submission, first.plan, first.event, run_id)
    return names


def mark(dynamodb: Any, run_id: str, **values: str) -> None:
    """Set attributes of a run row, as commits and other workflows would."""
    for name, value in values.items():
        dynamodb.update_item(
            TableName=RUNS,
            Key={"pk": {"S": f"RUN#{run_id}"}, "sk": {"S": "RUN"}},
            UpdateExpression="SET #n = :v",
            ExpressionAttributeNames={"#n": name},
            ExpressionAttributeValues={":v": {"S": value}},
        )


def pages(caller: Caller, **query: object) -> list[list[str]]:
    """Turn all pages."""
    found, token = [], None
    while True:
        turned = query if token is None else query | {"page_token": token}
        reply = caller.get("/runs", **turned)
        assert reply.status == 200, reply.body
        found.append([row["run_id"] for row in reply.body["runs"]])
        token = reply.body["next_page_token"]
        if token is None:
            return found


def test_a_run_is_listed_as_it_stands(acme: Caller) -> None:
    """Id, workflow, status and times; no step, input or result."""
    run = acme.post("/runs", HELLO).body
    assert {
        "runs": [
            {name: run[name] for name in ("run_id", "workflow", "status", "created_at", "ended_at")}
        ],
        "next_page_token": None,
    } == acme.get("/runs").body


def test_an_ended_run_says_when(acme: Caller, service: Service, dynamodb: Any) -> None:
    """The index has the time as the row has it."""
    (run_id,) = accept(service, 1)
    dynamodb.update_item(
        TableName=RUNS,
        Key={"pk": {"S": f"RUN#{run_id}"}, "sk": {"S": "RUN"}},
        UpdateExpression="SET ended_at = :e",
        ExpressionAttributeValues={":e": {"N": "1764450001.5"}},
    )
    assert "2025-11-29T21:00:01.500Z" == acme.get("/runs").body["runs"][0]["ended_at"]


@pytest.mark.parametrize("apart", [1.0, 0.0])
@pytest.mark.parametrize(("count", "sizes"), [(0, [0]), (6, [3, 3]), (7, [3, 3, 1]), (1, [1])])
def test_pages_are_full_and_end_with_the_list(
    acme: Caller, service: Service, count: int, sizes: list[int], apart: float
) -> None:
    """Every run once, also those of one millisecond; newest first; no empty page behind it."""
    names = accept(service, count, apart=apart)
    found = pages(acme, limit=3)
    assert sizes == [len(page) for page in found]
    listed = [run_id for page in found for run_id in page]
    assert sorted(names) == sorted(listed)
    assert not apart or names[::-1] == listed


def test_runs_that_come_meanwhile_move_nobody(acme: Caller, service: Service, time: Time) -> None:
    """The next page goes on where the last one ended."""
    names = accept(service, 4)
    first = acme.get("/runs", limit=2).body
    time.now += 100
    accept(service, 3, apart=2.0)
    second = acme.get("/runs", limit=2, page_token=first["next_page_token"]).body
    assert names[1::-1] == [row["run_id"] for row in second["runs"]]


def test_filters_fill_their_pages(acme: Caller, service: Service, dynamodb: Any) -> None:
    """Status and workflow, alone and together, however many others lie in between."""
    names = accept(service, 12)
    for run_id in names[::3]:
        mark(dynamodb, run_id, status=RunStatus.FAILED.value)
    for run_id in names[::2]:
        mark(dynamodb, run_id, workflow="other")
    assert [names[9:2:-3][:2], [names[3], names[0]]] == pages(acme, limit=2, status="failed")
    assert names[10::-2] == [
        name for page in pages(acme, limit=4, workflow="other") for name in page
    ]
    both = pages(acme, limit=5, workflow="other", status="failed")
    assert [[names[6], names[0]]] == both
    assert [[]] == pages(acme, workflow="nobody's")


def test_a_search_is_bounded_and_goes_on(
    acme: Caller, service: Service, dynamodb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter that nothing matches costs so many queries a call; the token goes past them."""
    monkeypatch.setattr(run_index, "ROWS_A_READ", 2)
    names = accept(service, 30)
    mark(dynamodb, names[0], status=RunStatus.FAILED.value)
    queries = faults.calls(dynamodb, "Query")
    assert [[], [names[0]]] == pages(acme, limit=2, status="failed")
    assert len(queries) <= 16
    assert {"by_tenant"} == {query["IndexName"] for query in queries}


def test_lists_belong_to_their_tenant(acme: Caller, service: Service) -> None:
    """Neither a list nor a token leads to another tenant's runs."""
    mine, theirs = accept(service, 3), accept(service, 3, tenant="evil")
    evil = caller(service, issue(service, "evil", "operator"))
    assert [mine[::-1]] == pages(acme)
    assert [theirs[::-1]] == pages(evil)
    token = acme.get("/runs", limit=1).body["next_page_token"]
    assert 422 == evil.get("/runs", page_token=token).status


def test_a_token_belongs_to_its_filters(acme: Caller, service: Service) -> None:
    """Going on in another list would leave runs out without a word; the limit may change."""
    accept(service, 3)
    token = acme.get("/runs", limit=1, workflow="plan").body["next_page_token"]
    assert 200 == acme.get("/runs", limit=2, workflow="plan", page_token=token).status
    for other in ({}, {"workflow": "speak"}, {"workflow": "plan", "status": "queued"}):
        reply = acme.get("/runs", page_token=token, **other)
        assert (422, "/page_token") == (reply.status, reply.body["errors"][0]["pointer"])


@pytest.mark.parametrize(
    "token",
    ["", "x", "ä", "e30", "W10", "bnVsbA", "A" * 4000, "=", "WzEsMiwzXQ", '["a","b","c"]', "\x00"],
)
def test_what_is_no_token_is_refused(acme: Caller, token: str) -> None:
    """422 naming the parameter, whatever it decodes to."""
    reply = acme.get("/runs", page_token=token)
    assert (422, "/page_token") == (reply.status, reply.body["errors"][0]["pointer"])


def test_a_token_that_was_changed_is_refused(acme: Caller, service: Service) -> None:
    """Its parts are checked one by one."""
    accept(service, 2)
    body = acme.get("/runs", limit=1).body
    seal = body["next_page_token"]
    forged = urlsafe_b64encode(f'["x","{seal}","y"]'.encode()).decode().rstrip("=")
    assert 422 == acme.get("/runs", page_token=forged).status
    assert 422 == acme.get("/runs", page_token=seal[:-6] + "AAAAAA").status


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"status": "done"}, "/status"),
        ({"status": ""}, "/status"),
        ({"workflow": ""}, "/workflow"),
        ({"workflow": "x" * 129}, "/workflow"),
        ({"limit": 0}, "/limit"),
        ({"limit": 201}, "/limit"),
    ],
)
def test_parameters_are_checked(acme: Caller, query: dict[str, Any], pointer: str) -> None:
    """Each by its name."""
    reply = acme.get("/runs", **query)
    assert (422, pointer) == (reply.status, reply.body["errors"][0]["pointer"])
