from __future__ import annotations

import itertools
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError
from onward.app.driving import carry_out as module
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.model import Payload
from onward.domain.protocol import Begin, Complete, Report

from tests import faults
from tests.store.conftest import RUNS, new_client
from tests.store.runs import Journey, journey, steps


@pytest.fixture
def wide(store: RunStore, reader: RunReader, blobs: Any, time: Any) -> Journey:
    """Ten steps that are ready at once."""
    plan = steps(*({"id": f"s{n}", "tool": "read"} for n in range(10)))
    return journey(store, reader, blobs, time, plan)


@pytest.mark.parametrize("when", ["BatchGetItem", "TransactWriteItems"])
def test_a_try_that_lands_late_is_the_outcome(
    wide: Journey, reader: RunReader, dynamodb: Any, time: Any, when: str
) -> None:
    """The next try decided otherwise, or would have: what is answered is what is stored.

    Also when there is no time for another try.
    """
    sent = faults.calls(dynamodb, "TransactWriteItems")
    wide.drive.chance = lambda: 1.0
    begun: list[str] = []

    def lose() -> None:
        if not begun:
            begun.append("lost")
            raise ConnectTimeoutError(endpoint_url="https://dynamodb")

    def arrive() -> None:
        if begun == ["lost"]:
            begun.append("landed")
            new_client("dynamodb").transact_write_items(**sent[0])

    with (
        faults.meanwhile(dynamodb, when, arrive, times=faults.MANY),
        faults.meanwhile(dynamodb, "TransactWriteItems", lose, times=faults.MANY),
    ):
        outcome = module.carry_out(wide.drive, wide.run_id, 1, Begin(), time.clock() + 0.02)

    assert ["lost", "landed"] == begun
    told = {new.step_id: new for _, new in outcome.steps}
    assert {row.step_id: row for row in reader.steps(wide.run_id)} == told
    assert {1} == {row.fence for row in told.values()}
    assert outcome.run == wide.run


def test_a_try_that_can_arrive_no_more_is_asked_about_once(
    wide: Journey, dynamodb: Any, time: Any
) -> None:
    """Replies are lost, and each time somebody else is first: the log is read twice a try."""
    wide.move(Begin())
    other = RunStore(new_client("dynamodb"), RUNS)
    reports = itertools.count()

    def another_reports(_seconds: float) -> None:
        other.commit(wide.decide(Report("s1", 1, 0.5)), f"other-{next(reports)}")

    def lose() -> None:
        raise ConnectTimeoutError(endpoint_url="https://dynamodb")

    wide.drive.sleep = another_reports
    looks = faults.calls(dynamodb, "GetItem")
    done = Complete("s0", 1, Payload("1"))
    with faults.meanwhile(dynamodb, "TransactWriteItems", lose, times=10):
        module.carry_out(wide.drive, wide.run_id, 1, done, time.clock() + 60)

    assert 10 == next(reports)
    assert 20 == len(looks)


def test_a_planned_step_that_the_process_forgets_while_it_reads_is_in_the_view(
    wide: Journey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read pushes out what was kept, and both are needed."""
    monkeypatch.setattr(module, "_KEPT_STEPS", 4)
    module.read_view(wide.drive, wide.run_id, steps=[], plan=["0#s8", "0#s9"])

    assert 10 == len(wide.move(Begin()).decision.lanes)
