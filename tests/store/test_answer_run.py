from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from onward.app.operating.answer_run import resolve_step
from onward.app.service import Service
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.effects import Effect
from onward.domain.errors import InvalidRequest
from onward.domain.model import Payload, RunStatus, StepStatus
from onward.domain.protocol import Verdict

from tests.store import scripted_tools as tools
from tests.store.driver import Driver
from tests.store.runs import RUN_ID, Journey, journey, steps
from tests.store.submitting import ADA

RESULT = {"named": ["otherwise", 1]}


@pytest.fixture
def doubtful(store: RunStore, reader: RunReader, blobs: Any, time: Any) -> Iterator[Journey]:
    """A run whose only step, a write, waits for a person."""
    plan = steps({"id": "pay", "tool": "once", "input": {"value": 1}})
    made = journey(store, reader, blobs, time, plan)
    tools.SCRIPT["pay"] = [tools.dies]
    Driver(made.drive, made.run_id).execute()
    assert RunStatus.NEEDS_RECONCILIATION is made.run.status
    yield made
    tools.forget()


def answer(service: Service, result: Any) -> None:
    resolve_step(service, ADA, RUN_ID, "pay", Verdict.APPLIED, {"result": result})


def test_an_operators_result_is_what_its_tool_declares(doubtful: Journey, service: Service) -> None:
    """Else it is refused, and the step goes on waiting."""
    with pytest.raises(InvalidRequest):
        answer(service, "a text")
    assert RunStatus.NEEDS_RECONCILIATION is doubtful.run.status


def output(made: Journey) -> str | None:
    row = made.drive.reader.rows(RUN_ID, steps=["pay"]).steps["pay"]
    assert row is not None
    assert StepStatus.SUCCEEDED is row.status
    return row.output and row.output.text


def test_an_applied_write_is_taken_with_the_receipt_that_was_put_down(
    doubtful: Journey, service: Service
) -> None:
    """Nobody has to say again what its receiver said."""
    doubtful.store.keep_receipt(RUN_ID, "pay", 1, Payload('{"value":"B-7"}'))
    resolve_step(service, ADA, RUN_ID, "pay", Verdict.APPLIED, {})
    assert '{"value":"B-7"}' == output(doubtful)


def test_a_receipt_that_comes_while_an_operator_answers_is_taken_too(
    doubtful: Journey, service: Service, time: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a look that found none; the tool is no more, so no result had to be given."""
    monkeypatch.delattr(tools, "once")

    def arrives() -> float:
        doubtful.store.keep_receipt(RUN_ID, "pay", 1, Payload('{"value":"B-7"}'))
        return float(time.clock())

    service.drive.clock = arrives  # the time of the commit is the first that is asked for
    resolve_step(service, ADA, RUN_ID, "pay", Verdict.APPLIED, {})
    assert '{"value":"B-7"}' == output(doubtful)


def test_a_receipt_that_comes_while_a_result_is_given_by_hand_is_not_overwritten(
    doubtful: Journey, service: Service, dynamodb: Any
) -> None:
    """It lands between the look of the operator's commit and the commit itself (G4)."""

    def arrives(**_: Any) -> None:
        dynamodb.meta.events.unregister(event, arrives)
        doubtful.store.keep_receipt(RUN_ID, "pay", 1, Payload('{"value":"B-7"}'))

    event = "before-call.dynamodb.TransactWriteItems"
    dynamodb.meta.events.register(event, arrives)
    answer(service, {"value": "by hand"})

    (effect,) = doubtful.drive.reader.records(RUN_ID, Effect)
    assert '{"value":"B-7"}' == output(doubtful) == (effect.receipt and effect.receipt.text)


def test_without_a_receipt_a_result_has_to_be_given(doubtful: Journey, service: Service) -> None:
    """Nothing is what the tool declares only if the tool says so."""
    with pytest.raises(InvalidRequest):
        resolve_step(service, ADA, RUN_ID, "pay", Verdict.APPLIED, {})
    assert RunStatus.NEEDS_RECONCILIATION is doubtful.run.status


@pytest.mark.parametrize("name", ["once", "Value"])
def test_a_result_is_taken_at_its_word_where_the_tool_is_no_more(
    doubtful: Journey, service: Service, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A later version renamed it, or its name is something else's now."""
    monkeypatch.delattr(tools, "once")
    if name != "once":
        monkeypatch.setattr(tools, "once", getattr(tools, name), raising=False)

    answer(service, RESULT)

    assert '{"named":["otherwise",1]}' == output(doubtful)
