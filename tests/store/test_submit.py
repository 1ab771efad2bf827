from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from onward.app.http.requests import Request
from onward.app.http.routes import post_run
from onward.app.ids import new_run_id, uuid7
from onward.app.run_request import read_run_request
from onward.app.service import Service
from onward.app.submit_once import read_key
from onward.aws import keys
from onward.aws.idempotency import Once
from onward.aws.tenants import Holder
from onward.domain.errors import (
    Contended,
    IdempotencyInProgress,
    IdempotencyKeyReused,
    InvalidPlan,
    InvalidRequest,
    OnwardError,
    RequestError,
)

from tests import faults
from tests.store.caller import Context, catalogue, plan
from tests.store.conftest import IDEMPOTENCY, RUNS, Time, new_client, new_service

ADA = Holder("acme", "ada", frozenset({"submitter"}))
HELLO: dict[str, Any] = {"workflow": "speak", "input": {"text": "hi"}}


class Died(BaseException):
    """The process ends here: nothing is cleaned up, as no `except Exception` sees it."""


def submit(service: Service, body: Any, key: str | None = None, holder: Holder = ADA) -> str:
    headers = {} if key is None else {"idempotency-key": key}
    answer = post_run(service, holder, Request(headers, {}, json.dumps(body)))
    assert answer.status == 202
    assert answer.document is not None
    assert f"/runs/{answer.document['run_id']}" == answer.headers["Location"]
    return str(answer.document["run_id"])


def runs(client: Any) -> set[str]:
    """The ids of the runs that exist."""
    return {row["run_id"]["S"] for row in rows(client, keys.RUN) if row["sk"]["S"] == keys.RUN}


def rows(client: Any, prefix: str = "") -> list[dict[str, Any]]:
    found = client.scan(TableName=RUNS, ConsistentRead=True)["Items"]
    return [row for row in found if row["sk"]["S"].startswith(prefix)]


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
        read_run_request(body, catalogue())
    assert pointers == [fault.pointer for fault in caught.value.faults]


def test_an_unknown_workflow_names_the_known_ones(service: Service, dynamodb: Any) -> None:
    """Whoever mistyped sees what there is; nothing is stored."""
    with pytest.raises(InvalidRequest, match="there are: speak"):
        submit(service, {"workflow": "speek"})
    assert rows(dynamodb) == []


def test_the_same_key_and_body_is_the_same_run(service: Service, dynamodb: Any) -> None:
    """Quoted or bare, members in any order."""
    first = submit(service, HELLO, key="k-1")
    again = dict(reversed(HELLO.items()))
    assert first == submit(service, again, key='"k-1"')
    assert {first} == runs(dynamodb)


def test_a_replay_tells_how_the_run_stands_now(service: Service) -> None:
    """The same 202 and Location, with the snapshot of the moment."""
    run_id = submit(service, HELLO, key="k")
    request = Request({"idempotency-key": "k"}, {}, json.dumps(HELLO))
    answer = post_run(service, ADA, request)
    assert answer.document is not None
    assert (run_id, 1) == (answer.document["run_id"], answer.document["as_of_seq"])
    assert answer.headers["ETag"] == '"1.0"'


def test_the_same_key_with_another_body_is_refused(service: Service, dynamodb: Any) -> None:
    """Whether or not Powertools remembers the first, and whatever the second one says."""
    first = submit(service, HELLO, key="k")
    for body in (HELLO | {"labels": {"a": "b"}}, {"plan": "nonsense"}):
        for _ in range(2):
            with pytest.raises(IdempotencyKeyReused):
                submit(service, body, key="k")
            forget(dynamodb)
    assert {first} == runs(dynamodb)


def test_keys_belong_to_their_tenant(service: Service, dynamodb: Any) -> None:
    """Two tenants may use the same key, and runs without one are as many as calls."""
    evil = Holder("evil", "eve", frozenset({"submitter"}))
    submit(service, HELLO, key="k")
    submit(service, HELLO, key="k", holder=evil)
    submit(service, HELLO)
    submit(service, HELLO)
    assert len(runs(dynamodb)) == 4


def test_a_refused_body_does_not_use_up_its_key(service: Service) -> None:
    """What was wrong is put right and sent again under the same key."""
    with pytest.raises(InvalidRequest):
        submit(service, {"workflow": "speek"}, key="k")
    assert submit(service, HELLO, key="k")


def test_the_first_caller_dies_after_its_commit(service: Service, dynamodb: Any) -> None:
    """Powertools' record stays in progress; the key's row has the run: no second one, no 409."""
    with faults.meanwhile(dynamodb, "UpdateItem", die), pytest.raises(Died):
        submit(service, HELLO, key="k")
    (run_id,) = runs(dynamodb)
    assert [record["status"]["S"] for record in remembered(dynamodb)] == ["INPROGRESS"]
    assert run_id == submit(service, HELLO, key="k")
    with pytest.raises(IdempotencyKeyReused):
        submit(service, {"workflow": "other"}, key="k")


def test_the_first_caller_dies_before_its_commit(
    service: Service, dynamodb: Any, time: Time
) -> None:
    """Nobody can tell it from one that is still at work until its deadline has passed."""
    with faults.meanwhile(dynamodb, "TransactWriteItems", die), pytest.raises(Died):
        submit(service, HELLO, key="k")
    with pytest.raises(IdempotencyInProgress) as caught:
        submit(service, HELLO, key="k")
    assert (409, True) == (caught.value.status, caught.value.retryable)
    past_deadline(dynamodb)
    assert {submit(service, HELLO, key="k")} == runs(dynamodb)


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


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem"])
def test_powertools_table_being_out_is_no_outage(
    service: Service, dynamodb: Any, operation: str
) -> None:
    """The key's row holds without the fast path in front of it."""
    with faults.throttled(dynamodb, operation, faults.MANY):
        first = submit(service, HELLO, key="k")
        assert first == submit(service, HELLO, key="k")
    assert {first} == runs(dynamodb)


def test_a_key_runs_out_by_the_clock(service: Service, dynamodb: Any, time: Time) -> None:
    """TTL may delete days later: the row that is still there no longer counts."""
    first = submit(service, HELLO, key="k")
    forget(dynamodb)
    time.now += 86_400
    assert first == submit(service, HELLO, key="k")
    forget(dynamodb)
    time.now += 1
    second = submit(service, HELLO | {"labels": {"a": "b"}}, key="k")
    assert {first, second} == runs(dynamodb)
    forget(dynamodb)
    assert second == submit(service, HELLO | {"labels": {"a": "b"}}, key="k")


def test_a_racing_submission_is_found_through_the_refusal(
    service: Service, dynamodb: Any, time: Time
) -> None:
    """Both looked before either wrote: the transaction's condition decides, not the look."""
    other = new_service(dynamodb, time)
    won: list[str] = []

    def race() -> None:
        forget(dynamodb)
        won.append(submit(other, HELLO, key="k"))

    with faults.meanwhile(dynamodb, "TransactWriteItems", race):
        mine = submit(service, HELLO, key="k")
    assert won == [mine]
    assert {mine} == runs(dynamodb)


@pytest.mark.parametrize("fast_path", [True, False])
def test_twenty_at_once_are_one_run(aws: None, time: Time, fast_path: bool) -> None:
    """Whoever of twenty processes gets an answer gets the same run, also without Powertools."""
    clients = [new_client("dynamodb") for _ in range(20)]
    services = [new_service(client, time) for client in clients]
    if not fast_path:
        numbered = zip(services, clients, range(20), strict=True)
        services = [without_lock(*process) for process in numbered]

    def call(service: Service) -> str | type[OnwardError]:
        try:
            return submit(service, HELLO, key="k")
        except IdempotencyInProgress as error:
            return type(error)

    with faults.one_at_a_time(*clients), ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(call, services))
    (run_id,) = runs(clients[0])
    assert {run_id} == {answer for answer in answers if answer is not IdempotencyInProgress}
    assert fast_path or IdempotencyInProgress not in answers
    assert run_id == submit(services[0], HELLO, key="k")


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


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ("abc", "abc"),
        ('"abc"', "abc"),
        ('  "a b"  ', "a b"),
        (r'"a\"b\\c"', r"a\"b\c".replace(r"\"", '"')),
        ("8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
        ("a" * 255, "a" * 255),
    ],
)
def test_a_key_is_a_structured_string_or_bare(header: str, key: str) -> None:
    """RFC 8941 strings, and what most clients send."""
    assert key == read_key(header)


@pytest.mark.parametrize(
    "header", ["", '""', '"abc', "a b", "a,b", '"a","b"', '"a";x=1', "ä", '"ä"', '"\\a"', "a" * 256]
)
def test_what_is_no_key_is_refused(header: str) -> None:
    """Rather than guessed at, also two keys of one request."""
    with pytest.raises(RequestError):
        read_key(header)


def test_ids_sort_by_time() -> None:
    """UUIDv7: version, variant, milliseconds in front."""
    made = uuid7(1_764_450_000.123, b"\xff" * 10)
    assert (7, "specified in RFC 4122") == (made.version, made.variant)
    assert 1_764_450_000_123 == made.int >> 80
    ids = [new_run_id(1_764_450_000 + n / 1000, bytes([9 - n]) * 10) for n in range(10)]
    assert sorted(ids) == ids
    assert len(ids[0]) == 36


def without_lock(service: Service, dynamodb: Any, number: int) -> Service:
    """A process whose Powertools record nobody else finds."""
    once = Once(dynamodb, IDEMPOTENCY, f"submit_run_{number}", 60)
    once.begin(Context())
    return replace(service, once=once)


def die() -> None:
    raise Died


def remembered(client: Any) -> list[dict[str, Any]]:
    return list(client.scan(TableName=IDEMPOTENCY)["Items"])


def forget(client: Any) -> None:
    """Powertools' record expires, or its table is emptied."""
    for record in remembered(client):
        client.delete_item(TableName=IDEMPOTENCY, Key={"id": record["id"]})


def past_deadline(client: Any) -> None:
    """The invocation that holds the lock is past its deadline."""
    for record in remembered(client):
        client.update_item(
            TableName=IDEMPOTENCY,
            Key={"id": record["id"]},
            UpdateExpression="SET in_progress_expiration = :t",
            ExpressionAttributeValues={":t": {"N": "1"}},
        )
