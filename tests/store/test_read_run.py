from __future__ import annotations

import json
from typing import Any

import pytest
from onward.app.payloads.store import keep
from onward.app.reading.read_run import read_run
from onward.app.reading.snapshot import Seen, snapshot
from onward.app.service import Service
from onward.aws import keys
from onward.domain.errors import RunNotFound
from onward.domain.model import Failure, Payload, Step, StepStatus
from onward.domain.protocol import Begin, Complete, Fail

from tests import faults
from tests.store.conftest import RUNS, Time
from tests.store.reading import SEEN, by_id, read, start
from tests.store.runs import RUN_ID, Journey, born, chain, steps


def test_a_new_run(service: Service, time: Time) -> None:
    """Every planned step is there, none of them claimed."""
    start(service, time, chain(2))
    document = read(service)
    assert {
        "run_id": RUN_ID,
        "workflow": "plan",
        "status": "queued",
        "created_at": "2025-11-29T21:00:00.000Z",
        "started_at": None,
        "ended_at": None,
        "as_of_seq": 1,
        "generation": 1,
        "deadline_at": None,
        "labels": {"team": "blue"},
        "steps": [
            {
                "id": step_id,
                "tool": "read",
                "status": "pending",
                "attempts": 0,
                "started_at": None,
                "ended_at": None,
            }
            for step_id in ("s1", "s2")
        ],
        "counts": {"total": 2, "done": 0, "skipped": 0, "attempts": 0},
        "usage": {"input_tokens": 0, "output_tokens": 0},
        "downstream_synced": True,
        "sync_status": "not_applicable",
        "open_approvals": [],
        "open_questions": [],
        "effects": {
            "intended": 0,
            "sent": 0,
            "applied": 0,
            "not_applied": 0,
            "unknown": 0,
            "duplicates_suspected": 0,
        },
        "result": None,
        "error": None,
    } == document


def test_a_run_under_way(service: Service, time: Time) -> None:
    """Ended, open and pending steps beside each other."""
    made = start(service, time, chain(3))
    made.move(Begin())
    time.now += 1.5
    made.move(Complete("s1", 1, SEEN))
    document = read(service)
    first, second, third = document["steps"]
    assert ("succeeded", 1, {"n": 1}) == (first["status"], first["attempts"], first["output"])
    assert first["ended_at"] == "2025-11-29T21:00:01.500Z"
    assert ("executing", 0) == (second["status"], second["lane"])
    assert "lane" not in first
    assert third["status"] == "pending"
    assert made.run.seq == document["as_of_seq"]
    assert {"total": 3, "done": 1, "skipped": 0, "attempts": 2} == document["counts"]


def test_a_run_that_ended_carries_its_result(service: Service, time: Time) -> None:
    """The output of the plan's last step; its write is in the ledger's summary."""
    made = start(service, time, chain(1, tool="native"))
    made.move(Begin())
    service.store.mark_sent(RUN_ID, "s1", 1, "request", time.clock())
    assert read(service)["effects"]["sent"] == 1
    made.move(Complete("s1", 1, SEEN))
    document = read(service)
    assert ("succeeded", {"n": 1}) == (document["status"], document["result"])
    assert document["effects"]["applied"] == 1


def test_a_large_output_is_read_from_the_store(service: Service, time: Time) -> None:
    """The result is loaded, the step names its reference."""
    made = start(service, time, chain(1))
    made.move(Begin())
    value = {"text": "x" * 5000}
    made.move(Complete("s1", 1, keep(service.blobs("acme"), made.run_id, value)))
    document = read(service)
    assert value == document["result"]
    assert "output" not in document["steps"][0]
    assert document["steps"][0]["output_ref"].startswith("pay_")


def test_a_huge_result_is_named_and_not_carried(service: Service, time: Time) -> None:
    """An answer of a function ends at 6 MB."""
    made = start(service, time, chain(1))
    made.move(Begin())
    made.move(Complete("s1", 1, keep(service.blobs("acme"), made.run_id, "x" * 1_100_000)))
    document = read(service)
    assert document["result"] is None
    assert [document["steps"][0]["output_ref"]] == document["result_refs"]


def test_a_result_that_is_gone_is_no_error(service: Service, time: Time, dynamodb: Any) -> None:
    """A bucket may expire payloads before a run's row is gone."""
    made = start(service, time, chain(1))
    made.move(Begin())
    made.move(Complete("s1", 1, Payload(ref="pay_0")))
    assert read(service)["result"] is None


def test_a_failed_run_says_why_and_where(service: Service, time: Time) -> None:
    """The step's error and the run's are the same."""
    made = start(service, time, chain(2))
    made.move(Begin())
    made.move(Fail("s1", 1, Failure("invalid_input", "no such sheet")))
    document = read(service)
    said = {"code": "invalid_input", "message": "no such sheet"}
    assert document["status"] == "failed"
    assert said | {"step": "s1"} == document["error"]
    assert said == by_id(document)["s1"]["error"]
    assert by_id(document)["s2"]["status"] == "pending"


FAN = steps(
    {"id": "jobs", "tool": "read"},
    {"id": "each", "tool": "read", "for_each": {"$ref": "steps.jobs.list"}},
)


def fan_out(service: Service, time: Time, items: int) -> Journey:
    made = start(service, time, FAN)
    made.move(Begin())
    made.move(Complete("jobs", 1, Payload(json.dumps({"list": list(range(items))}))))
    return made


def test_a_fan_out_is_one_step(service: Service, time: Time) -> None:
    """Its children are counted, and listed on demand."""
    made = fan_out(service, time, 3)
    made.move(Complete("each.0", 1, SEEN))
    document = read(service)
    assert ["jobs", "each"] == [step["id"] for step in document["steps"]]
    assert {"total": 3, "done": 1} == by_id(document)["each"]["children"]
    assert by_id(document)["each"]["attempts"] == 0
    listed = [step["id"] for step in read(service, children=True)["steps"]]
    assert ["jobs", "each", "each.0", "each.1", "each.2"] == listed


def test_the_result_of_a_fan_out_is_a_list(service: Service, time: Time) -> None:
    """In the order of the items, whichever child was first."""
    made = fan_out(service, time, 2)
    for index in (1, 0):
        made.move(Complete(f"each.{index}", 1, Payload(json.dumps(index))))
    document = read(service)
    assert [0, 1] == document["result"]
    assert {"total": 2, "done": 2} == by_id(document)["each"]["children"]


def test_a_fan_out_that_was_given_up_counts_its_children(service: Service, time: Time) -> None:
    """The run row has forgotten the fan-out by then; its children's rows have not."""
    made = fan_out(service, time, 2)
    made.move(Complete("each.0", 1, SEEN))
    made.move(Fail("each.1", 1, Failure("fatal", "broken")))
    document = read(service)
    assert document["status"] == "failed"
    assert {"total": 2, "done": 1} == by_id(document)["each"]["children"]


def test_steps_come_after_their_needs(service: Service, time: Time) -> None:
    """Rows sort by name; a reader wants the plan's order."""
    plan = steps(
        {"id": "z", "tool": "read"},
        {"id": "m", "tool": "read", "after": ["z"]},
        {"id": "a", "tool": "read", "after": ["m"]},
        {"id": "b", "tool": "read", "after": ["z"]},
    )
    start(service, time, plan)
    assert ["z", "b", "m", "a"] == [step["id"] for step in read(service)["steps"]]


def test_outputs_stop_where_an_answer_ends() -> None:
    """What does not fit is left out and said so; the rest of the snapshot stays."""
    new = born(chain(301), 0.0)
    plan = [planned for planned in new.plan if planned.step_id]
    large = Payload(json.dumps("x" * 4000))
    claimed = {
        planned.step_id: Step(planned.step_id, planned.key, StepStatus.SUCCEEDED, output=large)
        for planned in plan[:300]
    }
    listed = snapshot(Seen(new.run, new.submission, plan, claimed))["steps"]
    shown = sum("output" in step for step in listed)
    assert sum("output_omitted" in step for step in listed) == 300 - shown
    assert 200 < shown < 300


@pytest.mark.parametrize(
    ("header", "unchanged"),
    [
        ('"2.0"', True),
        ('W/"2.0"', True),
        ('"1.0", "2.0"', True),
        ("*", True),
        ('"1.0"', False),
        ("2.0", False),
    ],
)
def test_a_snapshot_is_sent_once(
    service: Service, time: Time, dynamodb: Any, header: str, unchanged: bool
) -> None:
    """With the validator of what the caller has, one row is read and nothing sent."""
    start(service, time, chain(1))
    _set_seq(dynamodb, 2)
    queries = faults.calls(dynamodb, "Query")
    answer = read_run(service, "acme", RUN_ID, if_none_match=header)
    assert answer.etag == '"2.0"'
    assert unchanged == (answer.document is None) == (not queries)


@pytest.mark.parametrize("run_id", ["run_0", "x", "", "run_" + "a" * 3000, "run_%00", "RUN"])
def test_there_is_no_such_run(service: Service, run_id: str) -> None:
    """Also for what cannot be a key of the table."""
    with pytest.raises(RunNotFound):
        read_run(service, "acme", run_id)


def test_another_tenants_run_is_not_there(service: Service, time: Time) -> None:
    """Not forbidden: its existence is nobody's business."""
    start(service, time, chain(1))
    with pytest.raises(RunNotFound):
        read_run(service, "evil", RUN_ID)


def _set_seq(client: Any, seq: int) -> None:
    client.update_item(
        TableName=RUNS,
        Key={"pk": {"S": keys.run_pk(RUN_ID)}, "sk": {"S": keys.RUN}},
        UpdateExpression="SET seq = :s",
        ExpressionAttributeValues={":s": {"N": str(seq)}},
    )
