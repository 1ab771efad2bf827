from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from onward.aws.blobs import Blobs
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.model import Payload, StepStatus
from onward.domain.protocol import Begin, Complete

from tests import faults
from tests.store.conftest import Time
from tests.store.runs import RUN_ID, born, chain, journey

DONE = Payload('{"ok":true}')


def test_a_long_plan_is_written_ahead(
    store: RunStore, reader: RunReader, dynamodb: Any, time: Time
) -> None:
    """More rows than a transaction takes: all are there, and the run's birth is one of few."""
    made = faults.calls(dynamodb, "TransactWriteItems")
    first = born(chain(300), time.clock())
    store.create(first.run, first.submission, first.plan, first.event, "birth")
    assert len(made[0]["TransactItems"]) == 3
    assert sorted(first.plan, key=lambda s: s.key) == reader.plan(RUN_ID)


def test_written_ahead_rows_are_no_run(store: RunStore, reader: RunReader, time: Time) -> None:
    """A caller that died between the two leaves nothing that can be read as a run."""
    first = born(chain(120), time.clock())
    with (
        faults.refused(store._client, "TransactWriteItems", "AccessDeniedException"),
        pytest.raises(ClientError),
    ):
        store.create(first.run, first.submission, first.plan, first.event, "birth")
    assert reader.run(RUN_ID) is None


def test_unprocessed_writes_are_sent_again(
    store: RunStore, reader: RunReader, dynamodb: Any, time: Time
) -> None:
    """BatchWriteItem may do only a part and answer 200."""
    first = born(chain(120), time.clock())
    with faults.half_done(dynamodb, "BatchWriteItem", times=3):
        store.create(first.run, first.submission, first.plan, first.event, "birth")
    assert len(reader.plan(RUN_ID)) == 121


def test_unprocessed_reads_are_asked_again(
    store: RunStore, reader: RunReader, dynamodb: Any, time: Time
) -> None:
    """BatchGetItem may answer only a part; 250 keys are three calls."""
    first = born(chain(250), time.clock())
    store.create(first.run, first.submission, first.plan, first.event, "birth")
    wanted = [f"0#s{n}" for n in range(1, 251)]
    with faults.half_done(dynamodb, "BatchGetItem", times=2):
        rows = reader.rows(RUN_ID, run=True, plan=wanted, steps=["s1"])
    assert first.run == rows.run
    assert rows.steps == {"s1": None}
    assert set(wanted) == set(rows.plan)


def test_a_chain_costs_the_same_at_every_step(
    store: RunStore, reader: RunReader, blobs: Blobs, time: Time, dynamodb: Any
) -> None:
    """Items of a commit do not grow with the plan or with how far it got."""
    made = journey(store, reader, blobs, time, chain(20))
    written = faults.calls(dynamodb, "TransactWriteItems")
    made.move(Begin())
    for number in range(1, 20):
        made.move(Complete(f"s{number}", 1, DONE))
    assert len({len(call["TransactItems"]) for call in written[1:]}) == 1
    assert [step.status for step in reader.steps(RUN_ID) if step.step_id != "s20"] == [
        StepStatus.SUCCEEDED
    ] * 19
