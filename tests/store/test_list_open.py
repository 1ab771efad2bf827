"""The list of runs that wait for a person, over the sparse index `open`."""

from __future__ import annotations

from typing import Any

import pytest
from onward.app.operating.answer_run import resolve_step, resume_run
from onward.app.service import Service
from onward.domain.limits import MAX_STALLS
from onward.domain.model import Failure, RunStatus
from onward.domain.protocol import Begin, Complete, Fail, Restart, Verdict

from tests import faults
from tests.store.caller import Caller
from tests.store.conftest import RUNS, Time, caller, issue
from tests.store.runs import Journey, Payload, journey, steps
from tests.store.submitting import ADA
from tests.store.test_list_runs import mark, pages

ASKED = {"status": RunStatus.NEEDS_RECONCILIATION.value}
UNKNOWN = Failure("outcome_unknown", "read timed out")
FATAL = Failure("fatal", "no")
PAY = {"id": "pay", "tool": "once", "input": {"value": 1}}
LOOK = {"id": "look", "tool": "read", "input": {"value": 1}}
MANY = 10_000


@pytest.fixture
def begun(service: Service, time: Time) -> Any:
    """Runs that have begun, whose write `pay`, if they have one, was sent."""

    def of(run_id: str, *documents: dict[str, Any]) -> Journey:
        plan = steps(*documents)
        made = journey(service.store, service.reader, service.blobs("acme"), time, plan, run_id)
        made.move(Begin())
        if PAY in documents:
            made.store.mark_sent(run_id, "pay", 1, "request", time.clock())
        time.now += 1
        return made

    return of


def run_id(number: int) -> str:
    return f"run_open{number:04d}"


def test_a_failed_run_is_listed_until_its_question_is_answered(
    begun: Any, acme: Caller, service: Service, time: Time
) -> None:
    """As it stands; the question of a run that goes on beside it is open too."""
    made = begun(run_id(1), PAY, LOOK)
    assert [[]] == pages(acme, **ASKED)
    made.move(Fail("pay", 1, UNKNOWN))
    assert RunStatus.RUNNING is made.run.status
    assert [[run_id(1)]] == pages(acme, **ASKED)
    made.move(Fail("look", 1, FATAL))
    rows = acme.get("/runs", **ASKED).body["runs"]
    assert [(run_id(1), "failed")] == [(row["run_id"], row["status"]) for row in rows]
    assert rows == acme.get("/runs", status="failed").body["runs"]

    time.now += 5_000
    resolve_step(service, ADA, run_id(1), "pay", Verdict.NOT_APPLIED, {})

    assert [[]] == pages(acme, **ASKED)
    assert RunStatus.FAILED is made.run.status


def test_a_resume_does_not_answer_it(begun: Any, acme: Caller, service: Service) -> None:
    """The run goes on, and the question with it."""
    made = begun(run_id(1), PAY, LOOK)
    made.move(Fail("pay", 1, UNKNOWN))
    made.move(Fail("look", 1, FATAL))
    resume_run(service, ADA, run_id(1))
    made.move(Begin(), 2)
    assert not made.run.status.ended
    assert [[run_id(1)]] == pages(acme, **ASKED)


def test_a_run_that_stalled_is_listed(begun: Any, acme: Caller) -> None:
    """No step of it asks: its executions died, and only a person starts another."""
    made = begun(run_id(1), LOOK)
    for generation in range(1, MAX_STALLS + 2):
        made.move(Restart("execution_failed"), generation)
    assert RunStatus.NEEDS_RECONCILIATION is made.run.status
    assert [[run_id(1)]] == pages(acme, **ASKED)


def test_what_asks_nothing_bears_no_key(begun: Any, dynamodb: Any) -> None:
    """The index is sparse: a run that goes straight never writes to it."""
    made = begun(run_id(1), LOOK)
    made.move(Complete("look", 1, Payload("1")))
    key = {"pk": {"S": f"RUN#{run_id(1)}"}, "sk": {"S": "RUN"}}
    row = dynamodb.get_item(TableName=RUNS, Key=key)["Item"]
    assert not {"open_pk", "open_sk"} & row.keys()


def test_pages_of_what_is_open_read_nothing_else(
    begun: Any, acme: Caller, service: Service, dynamodb: Any
) -> None:
    """Seven of ten thousand runs in three pages: a query each, of rows that are shown."""
    for number in range(7):
        begun(run_id(number), PAY).move(Fail("pay", 1, UNKNOWN))
    others(dynamodb, MANY)
    queries = faults.calls(dynamodb, "Query")

    found = pages(acme, limit=3, **ASKED)

    assert [[run_id(6), run_id(5), run_id(4)], [run_id(3), run_id(2), run_id(1)], [run_id(0)]] == (
        found
    )
    assert ["open"] * 3 == [query["IndexName"] for query in queries]
    assert [4] * 3 == [query["Limit"] for query in queries]
    mark(dynamodb, run_id(2), workflow="other")
    assert [[run_id(2)]] == pages(acme, workflow="other", **ASKED)
    evil = caller(service, issue(service, "evil", "operator"))
    assert [[]] == pages(evil, **ASKED)
    token = acme.get("/runs", limit=3, **ASKED).body["next_page_token"]
    for stranger, query in ((evil, ASKED), (acme, {}), (acme, {"status": "failed"})):
        assert 422 == stranger.get("/runs", page_token=token, **query).status


def others(dynamodb: Any, count: int) -> None:
    """Write run rows as the list sees them: newer than all that ask, and asking nothing."""
    rows = [
        {
            "pk": {"S": f"RUN#run_other{number:05d}"},
            "sk": {"S": "RUN"},
            "tenant_pk": {"S": "TENANT#acme"},
            "created_at": {"S": f"2999-01-01T00:00:00.{number % 1000:03d}Z"},
            "run_id": {"S": f"run_other{number:05d}"},
            "workflow": {"S": "plan"},
            "status": {"S": "succeeded"},
        }
        for number in range(count)
    ]
    for start in range(0, count, 25):
        batch = [{"PutRequest": {"Item": row}} for row in rows[start : start + 25]]
        dynamodb.batch_write_item(RequestItems={RUNS: batch})
