from __future__ import annotations

import json
from typing import Any

import pytest
from onward.app.ids import new_run_id, uuid7
from onward.app.service import Service
from onward.domain.errors import (
    Contended,
    InvalidPlan,
    InvalidRequest,
)
from onward.domain.limits import RunLimits
from onward.http.routes import run_request

from tests import faults
from tests.store.caller import catalogue, plan
from tests.store.conftest import IDEMPOTENCY, Time
from tests.store.submitting import HELLO, rows, runs, submit


def test_a_workflow_is_accepted(service: Service) -> None:
    """Everything asked for is in the run's rows, the input with its defaults."""
    run_id = submit(
        service,
        HELLO
        | {
            "deadline_seconds": 60,
            "labels": {"team": "blue"},
            "budget": {"tokens": 100, "retries": 2},
        },
    )
    found = service.reader.rows(run_id, run=True, submission=True)
    assert found.run is not None
    assert found.submission is not None
    assert (100, 2) == (found.run.tokens_left, found.run.retries_left)
    assert found.run.deadline == found.run.created_at + 60
    assert service.worker == found.run.worker
    assert json.loads(found.submission.input.text or "") == {"text": "hi", "times": 1}
    assert ({"team": "blue"}, "ada") == (found.submission.labels, found.submission.subject)


def test_a_plan_is_accepted(service: Service) -> None:
    """Its input may be any JSON, also none at all."""
    run_id = submit(service, plan({"id": "a"}, {"id": "b", "after": ["a"]}) | {"input": [1, None]})
    assert {"", "a", "b"} == {step.step_id for step in service.reader.plan(run_id)}
    assert submit(service, plan({"id": "a"}))


def test_a_large_input_goes_to_the_artifact_store(service: Service) -> None:
    """The row keeps its reference, so that rows stay small."""
    value = {"text": "x" * 5000}
    run_id = submit(service, plan({"id": "a"}) | {"input": value})
    submission = service.reader.rows(run_id, submission=True).submission
    assert submission is not None
    assert submission.input.ref is not None
    assert value == json.loads(service.blobs("acme").get(submission.input.ref))


def test_three_faults_are_three_and_nothing_is_stored(service: Service, dynamodb: Any) -> None:
    """An unknown tool, a missing reference and a cycle, each with where it is."""
    body = plan(
        {"id": "a", "tool": "shout", "input": {}},
        {"id": "b", "input": {"text": {"$ref": "steps.nowhere.text"}}},
        {"id": "c", "after": ["d"]},
        {"id": "d", "after": ["c"]},
    )
    with pytest.raises(InvalidPlan) as caught:
        submit(service, body, key="k")
    assert [
        "/plan/steps/0/tool",
        "/plan/steps/1/input/text",
        "/plan/steps",
    ] == [fault.pointer for fault in caught.value.faults]
    assert rows(dynamodb) == []
    assert dynamodb.scan(TableName=IDEMPOTENCY)["Items"] == []


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ([], [""]),
        ({}, [""]),
        (HELLO | plan({"id": "a"}), [""]),
        (HELLO | {"x/y": 1, "prio": 2}, ["/prio", "/x~1y"]),
        ({"workflow": "nope"}, ["/workflow"]),
        ({"workflow": 7}, ["/workflow"]),
        ({"workflow": "speak"}, ["/input/text"]),
        ({"workflow": "speak", "input": {"text": "", "times": 0}}, ["/input/text", "/input/times"]),
        (HELLO | {"deadline_seconds": 0}, ["/deadline_seconds"]),
        (HELLO | {"deadline_seconds": True}, ["/deadline_seconds"]),
        (HELLO | {"deadline_seconds": "60"}, ["/deadline_seconds"]),
        (HELLO | {"deadline_seconds": 1e300}, ["/deadline_seconds"]),
        (HELLO | {"labels": {"a": 1, "": "x"}}, ["/labels/a", "/labels/"]),
        (HELLO | {"labels": {"a": "x" * 257}}, ["/labels/a"]),
        (HELLO | {"labels": {f"l{n}": "x" for n in range(21)}}, ["/labels"]),
        (HELLO | {"labels": ["a"]}, ["/labels"]),
        (HELLO | {"budget": {"tokens": -1, "money": 3}}, ["/budget/money", "/budget/tokens"]),
        (HELLO | {"budget": {"retries": 1.5}}, ["/budget/retries"]),
        (HELLO | {"budget": 5}, ["/budget"]),
        ({"plan": None, "workflow": None}, [""]),
        ({"plan": 5}, ["/plan"]),
        (
            {"workflow": "nope", "labels": 1, "deadline_seconds": -1, "budget": {"tokens": "1"}},
            ["/deadline_seconds", "/labels", "/budget/tokens", "/workflow"],
        ),
    ],
)
def test_every_fault_is_named(body: Any, pointers: list[str]) -> None:
    """All of them at once, by JSON Pointer."""
    with pytest.raises(InvalidRequest) as caught:
        run_request(body, catalogue(), RunLimits())
    assert sorted(pointers) == sorted(fault.pointer for fault in caught.value.faults)


def test_an_unknown_workflow_names_the_known_ones(service: Service, dynamodb: Any) -> None:
    """Whoever mistyped sees what there is; nothing is stored."""
    with pytest.raises(InvalidRequest, match="there are: speak"):
        submit(service, {"workflow": "speek"})
    assert rows(dynamodb) == []


def test_a_lost_reply_is_no_second_run(service: Service, dynamodb: Any) -> None:
    """The transaction went through although its answer never came, with a key and without."""
    for key in ("k", None):
        with faults.lost_reply(dynamodb, "TransactWriteItems"):
            run_id = submit(service, HELLO, key)
        assert run_id in runs(dynamodb)
    assert len(runs(dynamodb)) == 2


def test_throttling_is_waited_out(service: Service, dynamodb: Any, time: Time) -> None:
    """With growing pauses, and with an end to them that may be tried again."""
    with faults.throttled(dynamodb, "TransactWriteItems", times=3):
        submit(service, HELLO, key="k")
    assert time.naps == sorted(time.naps)
    assert len(time.naps) == 3
    with (
        faults.throttled(dynamodb, "TransactWriteItems", faults.MANY),
        pytest.raises(Contended) as caught,
    ):
        submit(service, HELLO, key="k2")
    assert (503, True) == (caught.value.status, caught.value.retryable)
    assert submit(service, HELLO, key="k2")


def test_an_error_of_ours_is_raised(service: Service, dynamodb: Any) -> None:
    """A missing grant is no conflict: it is not tried six times."""
    made = faults.calls(dynamodb, "TransactWriteItems")
    denied = "AccessDeniedException"
    with (
        faults.refused(dynamodb, "TransactWriteItems", denied),
        pytest.raises(dynamodb.exceptions.ClientError),
    ):
        submit(service, HELLO)
    assert len(made) == 1


def test_ids_sort_by_time() -> None:
    """UUIDv7: version, variant, milliseconds in front."""
    made = uuid7(1_764_450_000.123, b"\xff" * 10)
    assert (7, "specified in RFC 4122") == (made.version, made.variant)
    assert 1_764_450_000_123 == made.int >> 80
    ids = [new_run_id(1_764_450_000 + n / 1000, bytes([9 - n]) * 10) for n in range(10)]
    assert sorted(ids) == ids
    assert len(ids[0]) == 36
