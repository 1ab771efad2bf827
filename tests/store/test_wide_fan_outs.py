"""A fan-out of 3,000 children with 5 KB each: joined, and shown, within the time there is."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any

import pytest
from onward.app.in_parallel import THREADS
from onward.app.reading.read_run import read_run
from onward.app.service import Service
from onward.domain.model import Payload, RunStatus, Step, StepStatus
from onward.domain.protocol import Complete, Do, Report, Resume

from tests import faults
from tests.store.conftest import RUNS, Time
from tests.store.runs import RUN_ID
from tests.store.wide import all_but_one, end_last, fan_out, ref, settle, taken, text

SIZE = 5_000
SECONDS = 0.025
"""What a read of S3 usually takes."""

JOIN = {"id": "all", "tool": "read", "input": {"value": ref("steps.each")}}


@contextmanager
def counted(
    service: Service, seconds: float = 0.0, time: Time | None = None
) -> Iterator[Counter[str]]:
    """Count calls, and the most at once; each read of S3 takes its part of the seconds given."""
    calls: Counter[str] = Counter()
    lock, at_once = threading.Lock(), Counter[str]()

    def begin(model: Any, **_: Any) -> None:
        with lock:
            calls[model.name] += 1
            at_once[model.name] += 1
            calls[f"{model.name} at once"] = max(
                calls[f"{model.name} at once"], at_once[model.name]
            )
            if model.name == "GetObject" and time is not None:
                time.now += seconds

    def end(model: Any, **_: Any) -> None:
        with lock:
            at_once[model.name] -= 1

    clients = [service.reader._client, service.blobs("acme")._client]
    for client in clients:
        client.meta.events.register("before-call", begin)
        client.meta.events.register("after-call", end)
    yield calls
    for client in clients:
        client.meta.events.unregister("before-call", begin)
        client.meta.events.unregister("after-call", end)


def row(service: Service, step_id: str) -> Step | None:
    return service.reader.rows(RUN_ID, steps=[step_id]).steps[step_id]


def test_three_thousand_outputs_are_joined_and_shown(service: Service, time: Time) -> None:
    """30 pages of rows, one manifest, and outputs 16 at a time: 5 s of the 60 there are.

    The run's result are those outputs: their sizes are in the manifest, and together they are too
    many for an answer.
    """
    made = all_but_one(service, time, 3_000, SIZE, fan_out(JOIN))
    began = time.now

    with counted(service, SECONDS / THREADS, time) as calls:
        outcome = end_last(service, made, 3_000, SIZE, 60)

    assert (Do.STEP, "all") == (outcome.decision.do, outcome.decision.step_id)
    assert (3_001, 3) == (calls["GetObject"], calls["PutObject"])
    assert calls["BatchGetItem"] <= 30 + 8
    assert 1 < calls["GetObject at once"] <= THREADS
    assert 1 < calls["BatchGetItem at once"] <= THREADS
    assert time.now - began < 6
    value = taken(service, row(service, "all"))
    assert isinstance(value, dict)
    assert [f"{n:08}" for n in range(3_000)] == [each["value"][:8] for each in value["value"]]
    made.move(Complete("all", 1, Payload("1")))
    assert RunStatus.SUCCEEDED is made.run.status

    worked = process_time()
    with counted(service) as calls:
        document = read_run(service, "acme", RUN_ID).document
    assert document is not None
    assert 3_000 == len(set(document["result_refs"]))
    assert document["result"] is None
    assert sum(n for name, n in calls.items() if "at once" not in name) <= 20
    assert "HeadObject" not in calls
    assert process_time() - worked < 2


def test_a_join_that_is_too_slow_for_a_worker_is_settles(service: Service, time: Time) -> None:
    """The child is committed, and paid once; what comes next has the time of a function."""
    made = all_but_one(service, time, 120, SIZE, fan_out(JOIN))

    with counted(service, 0.1, time):
        outcome = end_last(service, made, 120, SIZE, 10)
    assert (Do.STOP, StepStatus.SUCCEEDED) == (outcome.decision.do, outcome_of(outcome, "each.119"))
    assert row(service, "all") is None

    with counted(service, 0.1, time):
        assert "all" == settle(made).decision.step_id


def test_a_join_that_is_too_slow_for_settle_fails_its_run_by_name_and_is_resumed(
    service: Service, time: Time
) -> None:
    """Nothing was claimed, so the resume claims it; no generation ends without a commit."""
    made = all_but_one(service, time, 120, SIZE, fan_out(JOIN))
    with counted(service, 1.0, time):
        end_last(service, made, 120, SIZE, 30)
        outcome = settle(made)

    failing = outcome.run.failing
    assert failing is not None
    assert (RunStatus.FAILED, "all") == (made.run.status, failing.step_id)
    assert ("input_too_slow", True) == (failing.failure.code, "all" in failing.failure.message)

    made.move(Resume("op", ()), None)
    assert "all" == settle(made).decision.step_id


def test_a_manifest_is_written_again_by_whoever_ends_the_fan_out(
    service: Service, time: Time, dynamodb: Any
) -> None:
    """Another lane's commit was first; the same outputs make the same document."""
    made = all_but_one(service, time, 120, SIZE, fan_out(JOIN))
    puts = faults.calls(service.blobs("acme")._client, "PutObject")

    def report() -> None:
        made.move(Report("each.119", 1, 0.5))

    with faults.meanwhile(dynamodb, "TransactWriteItems", report):
        end_last(service, made, 120, SIZE, 60)

    manifest = row(service, "each")
    assert manifest is not None
    assert manifest.output is not None
    written = [put["Key"] for put in puts if put["Key"].endswith((manifest.output.ref or "")[4:])]
    assert 2 == len(written)


@pytest.mark.parametrize(
    ("refers", "reads"),
    [("steps.each.7", 1), ("steps.each.7.value", 1), ("steps.each", 120)],
)
def test_a_reference_reads_the_children_that_it_names(
    service: Service, time: Time, refers: str, reads: int
) -> None:
    """And the manifest, which says where they are."""
    join = JOIN | {"input": {"value": ref(refers)}}
    made = all_but_one(service, time, 120, SIZE, fan_out(join))
    with counted(service) as calls:
        end_last(service, made, 120, SIZE, 60)
    assert reads + 1 == calls["GetObject"]
    assert text(7, SIZE)[10:18] in str(taken(service, row(service, "all")))


def test_a_fan_out_over_a_fan_out_reads_one_child_for_each(service: Service, time: Time) -> None:
    """How many there are is known without any; the manifest is read once by a warm process."""
    again = {
        "id": "again",
        "tool": "read",
        "for_each": ref("steps.each"),
        "input": {"value": ref("item.value")},
    }
    made = all_but_one(service, time, 120, SIZE, fan_out(again))
    end_last(service, made, 120, SIZE, 60)
    with counted(service) as calls:
        outcome = settle(made)
        assert Do.HANDOFF is outcome.decision.do or outcome.decision.lanes
        while not outcome.decision.lanes:
            outcome = settle(made)
    assert 10 == len(outcome.decision.lanes)
    assert calls["GetObject"] <= 10 + 2
    assert {"value": text(3, SIZE)[10:-2]} == taken(service, row(service, "again.3"))


def test_a_fan_out_that_an_earlier_version_ended_is_joined_too(
    service: Service, time: Time, dynamodb: Any
) -> None:
    """It has no manifest: where its outputs are is in the rows of its children."""
    made = all_but_one(service, time, 120, SIZE, fan_out(JOIN))
    with counted(service, 0.1, time):
        end_last(service, made, 120, SIZE, 10)
    dynamodb.update_item(
        TableName=RUNS,
        Key={"pk": {"S": f"RUN#{RUN_ID}"}, "sk": {"S": "STEP#each"}},
        UpdateExpression="REMOVE output_ref, output_size",
    )
    made.drive.outputs._manifests.clear()
    settle(made)
    value = taken(service, row(service, "all"))
    assert isinstance(value, dict)
    assert 120 == len(value["value"])


def outcome_of(outcome: Any, step_id: str) -> StepStatus:
    return {new.step_id: new.status for _, new in outcome.steps}[step_id]
