"""Fan-outs of which all children but the last have ended; as rows, for moto drives slowly."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from onward.app.driving.carry_out import carry_out
from onward.app.payloads.store import put_text
from onward.app.service import Service
from onward.aws import codec, keys
from onward.domain.model import Fan, Json, Payload, Step, StepStatus, child_id
from onward.domain.protocol import Begin, Complete, Outcome, Settle

from tests.store.conftest import RUNS, Time
from tests.store.runs import RUN_ID, Journey, journey, steps

KEY = "0#each"


def fan_out(*after: dict[str, Any]) -> Json:
    """A list, perhaps steps that take what children returned, and the fan-out: the result."""
    each = {"id": "each", "tool": "read", "for_each": ref("steps.list.value")}
    return steps({"id": "list", "tool": "read"}, *after, each)


def ref(path: str) -> dict[str, str]:
    return {"$ref": path}


def text(index: int, size: int) -> str:
    """The output of a child, unlike any other's."""
    return json.dumps({"value": f"{index:08}".ljust(size, "x")}, separators=(",", ":"))


def all_but_one(service: Service, time: Time, children: int, size: int, plan: Json) -> Journey:
    """A run whose fan-out waits for its last child, which is open in lane 1."""
    blobs, client = service.blobs("acme"), service.reader._client
    made = journey(service.store, service.reader, blobs, time, plan)
    made.move(Begin())
    listed = json.dumps({"value": list(range(children))})
    made.move(Complete("list", 1, put_text(blobs, RUN_ID, listed)))
    begun = made.run
    rows = [
        Step(
            child_id("each", index),
            KEY,
            StepStatus.SUCCEEDED if index < children - 1 else StepStatus.EXECUTING,
            index=index,
            output=put_text(blobs, RUN_ID, text(index, size)) if index < children - 1 else None,
            at_seq=begun.seq,
        )
        for index in range(children)
    ]
    for at in range(0, children, 25):
        puts = [{"PutRequest": {"Item": _item(row)}} for row in rows[at : at + 25]]
        client.batch_write_item(RequestItems={RUNS: puts})
    run = replace(
        begun,
        fans={KEY: Fan(children, children, children - 1)},
        open={child_id("each", children - 1): 1},
    )
    held = codec.run_item(run)
    client.update_item(
        TableName=RUNS,
        Key={"pk": {"S": keys.run_pk(RUN_ID)}, "sk": {"S": keys.RUN}},
        UpdateExpression="SET fans = :f, #o = :o",
        ExpressionAttributeNames={"#o": "open"},
        ExpressionAttributeValues={":f": held["fans"], ":o": held["open"]},
    )
    return made


def _item(row: Step) -> dict[str, Any]:
    key = {"pk": {"S": keys.run_pk(RUN_ID)}, "sk": {"S": keys.step_sk(row.step_id)}}
    return key | {"schema": codec.SCHEMA} | codec.step_item(row)


def end_last(service: Service, made: Journey, children: int, size: int, seconds: float) -> Outcome:
    """End the last child, as its worker does that has so much time."""
    done = put_text(service.blobs("acme"), RUN_ID, text(children - 1, size))
    command = Complete(child_id("each", children - 1), 1, done)
    return carry_out(made.drive, RUN_ID, 1, command, made.drive.clock() + seconds)


def settle(made: Journey, seconds: float = 55) -> Outcome:
    return carry_out(
        made.drive, RUN_ID, made.run.generation, Settle(), made.drive.clock() + seconds
    )


def taken(service: Service, step: Step | None) -> Json:
    """The value of a step's input."""
    assert step is not None
    payload = step.input or Payload("null")
    held = payload.text if payload.ref is None else service.blobs("acme").get(payload.ref)
    value: Json = json.loads(held or "null")
    return value
