"""What goes wrong between a write's send and its commit never lets it be sent again (G3, G4)."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from onward.app.driving.carry_out import carry_out
from onward.app.driving.execute_step import Attempt, Worker, execute_step
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.effects import Effect, EffectState
from onward.domain.errors import Contended
from onward.domain.model import RunStatus, StepStatus
from onward.domain.protocol import Decision, Do, Restart
from onward.sdk.testing import MemoryLog
from pydantic import BaseModel

from tests import faults
from tests.store import scripted_tools as tools
from tests.store.conftest import NOW
from tests.store.driver import Driver
from tests.store.runs import Journey, journey, steps

pytestmark = pytest.mark.usefixtures("script")

LARGE = "x" * 5_000


@pytest.fixture
def begin(store: RunStore, reader: RunReader, blobs: Any, time: Any) -> Any:
    def of(
        tool: str, value: Any = 1, deadline: float | None = None
    ) -> tuple[Journey, Driver, Decision]:
        """A run of one write, claimed and not yet sent."""
        plan = steps({"id": "pay", "tool": tool, "input": {"value": value}})
        made = journey(store, reader, blobs, time, plan, deadline_seconds=deadline)
        driver = Driver(made.drive, made.run_id)
        return made, driver, driver.settle(1, begin=True)

    return of


def assert_asks(made: Journey) -> None:
    """A person is asked, and the write was sent once."""
    row = made.drive.reader.rows(made.run_id, steps=["pay"]).steps["pay"]
    assert row is not None
    assert row.error is not None
    assert (StepStatus.NEEDS_RECONCILIATION, "outcome_unknown") == (row.status, row.error.code)
    assert [1] == list(tools.CALLS.values())


def throttling() -> Exception:
    return ClientError({"Error": {"Code": "Throttling", "Message": "slow"}}, "PutThing")


def invalid() -> Exception:
    class Reply(BaseModel):
        reference: str

    with pytest.raises(ValueError, match="reference") as raised:
        Reply.model_validate({})
    return raised.value


@pytest.mark.parametrize("error", [throttling(), invalid(), PermissionError("no")])
def test_what_looks_like_a_refusal_is_none_after_the_send(begin: Any, error: Exception) -> None:
    """Whatever was called last was refused, or it was the SDK's second try of the write itself."""
    made, driver, first = begin("once")
    tools.SCRIPT["pay"] = [tools.raises(error)] * 4

    driver.follow(first, 1)

    assert_asks(made)


def test_a_receipt_is_kept_as_soon_as_the_store_has_room(begin: Any, blobs: Any) -> None:
    """The write is over: its receipt waits for the artifact store."""
    made, driver, first = begin("once", LARGE)

    with faults.refused(blobs._client, "PutObject", "SlowDown", times=3):
        driver.follow(first, 1)

    assert RunStatus.SUCCEEDED is made.run.status
    assert [1] == list(tools.CALLS.values())


@pytest.mark.parametrize("code", ["AccessDenied", "SlowDown"])
def test_a_receipt_that_cannot_be_kept_is_an_unknown_outcome(
    begin: Any, blobs: Any, code: str
) -> None:
    """At most: nobody says that the write did not happen."""
    made, driver, first = begin("once", LARGE)

    with faults.refused(blobs._client, "PutObject", code, times=faults.MANY):
        driver.follow(first, 1)

    assert_asks(made)


def receipt(made: Journey) -> str | None:
    (effect,) = made.drive.reader.records(made.run_id, Effect)
    return effect.receipt and effect.receipt.text


def test_a_worker_that_dies_after_a_conflict_has_put_its_receipt_down(
    begin: Any, dynamodb: Any
) -> None:
    """Whoever takes the attempt over ends the step with it."""
    made, driver, first = begin("once")
    made.drive.sleep = lambda _seconds: tools.dies()

    with faults.cancelled(dynamodb, ["ConditionalCheckFailed"]):
        driver.follow(first, 1)

    assert RunStatus.SUCCEEDED is made.run.status
    assert [1] == list(tools.CALLS.values())


def test_a_commit_that_fails_for_good_leaves_the_receipt(begin: Any, dynamodb: Any) -> None:
    """Whatever was in the way: the table says no, and later yes."""
    made, driver, first = begin("once")

    with faults.refused(dynamodb, "TransactWriteItems", "AccessDeniedException"):
        driver.follow(first, 1)

    assert RunStatus.SUCCEEDED is made.run.status
    assert [1] == list(tools.CALLS.values())


def test_the_receipt_of_a_replaced_generation_is_the_next_ones(begin: Any) -> None:
    """Its own commit is told to stop."""
    made, driver, first = begin("once")
    replaced = Restart("execution_aborted")
    until = made.drive.clock() + 60
    tools.SCRIPT["pay"] = [lambda: carry_out(made.drive, made.run_id, 1, replaced, until)]

    assert Do.STOP is driver.attempt(first).do
    driver.execute(generation=2)

    assert RunStatus.SUCCEEDED is made.run.status
    assert [1] == list(tools.CALLS.values())


def test_the_receipt_of_a_closed_attempt_ends_the_doubt(begin: Any) -> None:
    """The driver gave the attempt up while its tool was being answered: nobody need be asked."""
    made, driver, first = begin("once")
    tools.SCRIPT["pay"] = [lambda: gives_up(made, driver, first)]

    driver.attempt(first)

    assert ["parked"] == driver.woken
    assert (RunStatus.SUCCEEDED, '{"value":1}') == (made.run.status, receipt(made))
    assert [1] == list(tools.CALLS.values())


def gives_up(made: Journey, driver: Driver, first: Decision) -> None:
    """The task's time-out; the driver then waits for a person."""
    driver.recover(first, "States.Timeout")
    assert RunStatus.NEEDS_RECONCILIATION is made.run.status
    assert made.store.keep_token(made.run, "parked")


def test_a_receipt_that_comes_after_its_run_has_failed_is_learned(begin: Any) -> None:
    """The ledger and the step know; the run stays failed, and nothing is asked."""
    made, driver, first = begin("once", deadline=900.0)

    def fails() -> None:
        driver.recover(first, "States.Timeout")
        made.drive.clock = lambda: NOW + 901
        driver.settle(1)
        assert (RunStatus.FAILED, {"pay"}) == (made.run.status, made.run.waiting.keys())

    tools.SCRIPT["pay"] = [fails]
    driver.attempt(first)

    rows = made.drive.reader.rows(made.run_id, steps=["pay"], records=[(Effect, "pay")])
    step, effect = rows.steps["pay"], rows.of(Effect)["pay"]
    assert step is not None
    assert effect is not None
    assert (RunStatus.FAILED, {}) == (made.run.status, made.run.waiting)
    assert (StepStatus.SUCCEEDED, EffectState.APPLIED) == (step.status, effect.state)


def test_an_attempt_tries_to_commit_no_longer_than_its_driver_waits(
    begin: Any, dynamodb: Any, time: Any
) -> None:
    """What comes later is another attempt's; the receipt is down by then."""
    made, _, first = begin("once")
    made.drive.chance = lambda: 1.0
    worker = Worker(
        drive=made.drive,
        log=MemoryLog(),
        request_id="request",
        until=time.clock() + 900,
        end_process=lambda: None,
        tools=dict,
    )

    with (
        faults.cancelled(dynamodb, ["ConditionalCheckFailed"], times=faults.MANY),
        pytest.raises(Contended),
    ):
        execute_step(worker, Attempt.of(first.to_json()))

    assert 60 < time.clock() - NOW <= 70
    assert '{"value":1}' == receipt(made)


def test_progress_that_cannot_be_told_is_not_the_tools_trouble(begin: Any, dynamodb: Any) -> None:
    """It is told after the send, by a table that has no room at the moment."""
    made, driver, first = begin("telling")

    with faults.refused(dynamodb, "BatchGetItem", "ThrottlingException") as fault:
        fault.times = 0
        tools.SCRIPT["pay"] = [lambda: setattr(fault, "times", 60)]
        driver.follow(first, 1)

    assert RunStatus.SUCCEEDED is made.run.status
    assert "step.progress" not in [e.type for e in made.drive.reader.events(made.run_id, 0, 99)]
