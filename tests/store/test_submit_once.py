from __future__ import annotations

import json
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from time import sleep
from typing import Any

import pytest
from onward.app.service import Service
from onward.app.submitting.submit_once import read_key
from onward.aws.idempotency import Once
from onward.aws.tenants import Holder
from onward.domain.errors import (
    IdempotencyInProgress,
    IdempotencyKeyReused,
    InvalidRequest,
    RequestError,
)
from onward.http.requests import Request
from onward.http.routes import post_run

from tests import faults
from tests.store.caller import Context
from tests.store.conftest import IDEMPOTENCY, Time, new_client, new_service
from tests.store.submitting import ADA, HELLO, runs, submit


class Died(BaseException):
    """The process ends here: nothing is cleaned up, as no `except Exception` sees it."""


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
    assert 1 < sum(time.naps) <= 2
    past_deadline(dynamodb)
    assert {submit(service, HELLO, key="k")} == runs(dynamodb)


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


def test_whoever_comes_second_waits_for_the_first(
    service: Service, dynamodb: Any, time: Time
) -> None:
    """The first holds the lock and has not committed: its run is the answer, not a 409."""
    waits, committed = Event(), Event()

    def pause(seconds: float) -> None:
        waits.set()
        assert committed.wait(5)

    def come_second() -> None:
        second.append(pool.submit(submit, patient, HELLO, "k"))
        assert waits.wait(5)

    second: list[Future[str]] = []
    patient = replace(new_service(new_client("dynamodb"), time), sleep=pause)
    with ThreadPoolExecutor(1) as pool:
        with faults.meanwhile(dynamodb, "TransactWriteItems", come_second):
            first = submit(service, HELLO, key="k")
        committed.set()
        assert first == second[0].result()


@pytest.mark.parametrize("fast_path", [True, False])
def test_twenty_at_once_are_one_run(aws: None, time: Time, fast_path: bool) -> None:
    """All of twenty processes answer with the same run, also without Powertools."""
    clients = [new_client("dynamodb") for _ in range(20)]
    services = [replace(new_service(client, time), sleep=sleep) for client in clients]
    if not fast_path:
        numbered = zip(services, clients, range(20), strict=True)
        services = [without_lock(*process) for process in numbered]

    with faults.one_at_a_time(*clients), ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda service: submit(service, HELLO, "k"), services))
    (run_id,) = runs(clients[0])
    assert [run_id] * 20 == answers
    assert run_id == submit(services[0], HELLO, key="k")


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
