"""A run that failed while a write was in doubt, as operators and the patrol meet it."""

from __future__ import annotations

from typing import Any

import pytest
from onward.app.operating.answer_run import resolve_step, resume_run
from onward.app.patrol.look_after import look_after
from onward.app.reading.read_run import read_run
from onward.app.service import Service
from onward.domain.errors import NotWaiting
from onward.domain.model import Failure, Payload, RunStatus, StepStatus
from onward.domain.protocol import Begin, Fail, Verdict
from onward.metrics import Metric, embedded, forget

from tests.store import scripted_tools as tools
from tests.store.conftest import RUNS, Time
from tests.store.driver import Driver
from tests.store.listening import Sockets
from tests.store.runs import RUN_ID, Journey, journey, steps
from tests.store.submitting import ADA
from tests.store.test_patrol import Round

pytestmark = pytest.mark.usefixtures("script")

UNKNOWN = Failure("outcome_unknown", "read timed out")
FATAL = Failure("fatal", "no")
LATER = 5_000.0


@pytest.fixture
def failed(service: Service, time: Time) -> Journey:
    """Its write `pay` is in doubt, its read `look` failed."""
    plan = steps(
        {"id": "pay", "tool": "once", "input": {"value": 1}},
        {"id": "look", "tool": "read", "input": {"value": 1}},
        {"id": "after", "tool": "read", "input": {"value": {"$ref": "steps.pay.value"}}},
    )
    made = journey(service.store, service.reader, service.blobs("acme"), time, plan)
    made.move(Begin())
    made.store.mark_sent(RUN_ID, "pay", 1, "request", time.clock())
    made.move(Fail("pay", 1, UNKNOWN))
    made.move(Fail("look", 1, FATAL))
    assert RunStatus.FAILED is made.run.status
    time.now += LATER
    return made


@pytest.fixture
def rounds(service: Service, time: Time, dynamodb: Any) -> Round:
    return Round(service, time, Sockets(dynamodb, time))


def resolve(service: Service, body: dict[str, Any]) -> None:
    resolve_step(service, ADA, RUN_ID, "pay", Verdict(body["outcome"]), body)


def shown(service: Service) -> dict[str, Any]:
    document = read_run(service, "acme", RUN_ID).document
    assert document is not None
    return document


def test_its_question_is_shown_until_it_is_answered(failed: Journey, service: Service) -> None:
    """And its step's time stands still."""
    asked = {"step_id": "pay", "code": "outcome_unknown", "message": "read timed out"}
    assert [asked] == shown(service)["open_questions"]
    assert shown(service)["steps"][1]["ended_at"] == shown(service)["ended_at"]

    resolve(service, {"outcome": "applied", "result": {"value": 7}})

    document = shown(service)
    assert ("failed", []) == (document["status"], document["open_questions"])
    assert (1, 0) == (document["effects"]["applied"], document["effects"]["unknown"])
    assert failed.run.generation == 1


@pytest.mark.parametrize(
    ("outcome", "calls"), [({"outcome": "applied", "result": {"value": 7}}, 0), ("not_applied", 1)]
)
def test_a_resume_after_the_answer_goes_right(
    failed: Journey, service: Service, outcome: Any, calls: int
) -> None:
    """What was applied is not sent again; what was not is, once."""
    resolve(service, outcome if isinstance(outcome, dict) else {"outcome": outcome})
    resume_run(service, ADA, RUN_ID)
    Driver(failed.drive, RUN_ID).execute(generation=2)

    assert RunStatus.SUCCEEDED is failed.run.status
    assert calls == sum(n for key, n in tools.CALLS.items() if "/pay/" in key)


def test_a_log_that_is_gone_answers_no_question(
    failed: Journey, service: Service, dynamodb: Any
) -> None:
    """Its checkpoints are."""
    dynamodb.update_item(
        TableName=RUNS,
        Key={"pk": {"S": f"RUN#{RUN_ID}"}, "sk": {"S": "RUN"}},
        UpdateExpression="SET expired_at = :now",
        ExpressionAttributeValues={":now": {"N": "1"}},
    )
    with pytest.raises(NotWaiting, match="no longer"):
        resolve(service, {"outcome": "abandon"})


def test_a_question_rings_again_and_keeps_its_log(failed: Journey, rounds: Round) -> None:
    """As long as nobody answered; then the log may go."""
    forget()
    assert {"looked": 1} == rounds.go()
    assert 1 == embedded()[Metric.NEEDS_RECONCILIATION]
    assert (failed.run.due_at, failed.run.expired_at) == (int(rounds.time.now) + 4 * 3600, None)

    resolve(rounds.service, {"outcome": "abandon"})
    rounds.time.now += 61
    rounds.go()
    assert failed.run.due_at is None


def test_the_patrol_finds_a_receipt_whose_worker_died(failed: Journey, rounds: Round) -> None:
    """It was put down after the end, and nobody has said so."""
    failed.store.keep_receipt(RUN_ID, "pay", 1, Payload('{"value":"B-7"}'))

    rounds.go()

    row = rounds.service.reader.rows(RUN_ID, steps=["pay"]).steps["pay"]
    assert row is not None
    assert (StepStatus.SUCCEEDED, RunStatus.FAILED) == (row.status, failed.run.status)


def test_the_patrol_wakes_a_driver_whose_question_has_its_receipt(
    service: Service, time: Time, rounds: Round
) -> None:
    """Of a run that goes on; its worker died before it could say so."""
    plan = steps({"id": "pay", "tool": "once", "input": {"value": 1}})
    made = journey(service.store, service.reader, service.blobs("acme"), time, plan)
    driver = Driver(made.drive, RUN_ID)
    first = driver.settle(1, begin=True)
    made.store.mark_sent(RUN_ID, "pay", 1, "request", time.clock())
    driver.recover(first, "States.Timeout")
    made.store.keep_token(made.run, "token")
    assert () == tuple(look_after(rounds.watch(alive=True), RUN_ID, time.now + 60))

    made.store.keep_receipt(RUN_ID, "pay", 1, Payload('{"value":"B-7"}'))

    assert ["signalled"] == list(look_after(rounds.watch(alive=True), RUN_ID, time.now + 60))
    driver.settle(1)
    assert RunStatus.SUCCEEDED is made.run.status
