from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from onward.app.answer_run import resolve_step
from onward.app.service import Service
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.errors import InvalidRequest
from onward.domain.model import Payload, RunStatus, StepStatus

from tests.store import scripted_tools as tools
from tests.store.driver import Driver
from tests.store.runs import RUN_ID, Journey, journey, steps

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
    resolve_step(service, "acme", "ada", RUN_ID, "pay", {"outcome": "applied", "result": result})


def test_an_operators_result_is_what_its_tool_declares(doubtful: Journey, service: Service) -> None:
    """Else it is refused, and the step goes on waiting."""
    with pytest.raises(InvalidRequest):
        answer(service, "a text")
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

    row = doubtful.drive.reader.rows(RUN_ID, steps=["pay"]).steps["pay"]
    assert row is not None
    assert StepStatus.SUCCEEDED is row.status
    assert Payload('{"named":["otherwise",1]}') == row.output
