from __future__ import annotations

from typing import Any

from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.model import RunStatus

from tests.store import scripted_tools as tools
from tests.store.driver import Driver
from tests.store.runs import journey, steps


def test_an_attempt_that_begins_after_its_deadline_calls_nothing(
    store: RunStore, reader: RunReader, blobs: Any, time: Any
) -> None:
    """It is over for everybody else, so its write is not sent; the next attempt's is.

    Nothing failed, so the step keeps all its attempts.
    """
    tools.forget()
    plan = steps({"id": "pay", "tool": "once", "input": {"value": 1}})
    made = journey(store, reader, blobs, time, plan)
    driver = Driver(made.drive, made.run_id)
    first = driver.settle(1, begin=True)
    time.sleep(61)

    driver.follow(first, 1)

    assert RunStatus.SUCCEEDED is made.run.status
    assert [1] == list(tools.CALLS.values())
    assert 1 == made.run.attempts
    row = reader.rows(made.run_id, steps=["pay"]).steps["pay"]
    assert row is not None
    assert 0 == row.tries
