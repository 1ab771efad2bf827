"""What one attempt asks of AWS: its handler runs here, against the stack's own services.

The functions' environment is read from the stack; only the table is one of the bench's own,
without a stream, so that nobody else drives the run that is measured.
"""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from infra.local.deploy import ACCOUNT, REGION, client

if TYPE_CHECKING:
    from infra.local.stack import Stack

_READ_UNIT_BYTES: Final = 4096


@dataclass(slots=True)
class Cost:
    """Service calls by operation, and DynamoDB units, of one attempt."""

    calls: list[str] = field(default_factory=list)
    read_units: float = 0.0
    write_units: float = 0.0


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler reads of its Lambda context."""

    aws_request_id: str
    function_name: str = "bench"

    def get_remaining_time_in_millis(self) -> int:
        """Return a minute."""
        return 60_000


def attempt_costs(stack: Stack, length: int) -> list[Cost]:
    """Drive a chain of `length` read steps by its handlers; return what each attempt cost."""
    _enter(stack)
    # Imported only now: the handlers read their environment once.
    import execute_step
    import settle
    from onward.aws.clients import client as shared

    run_id = _submit(length)
    costs: list[Cost] = []
    _meter(shared("dynamodb"), costs)
    _meter(shared("s3"), costs)
    event = {"run_id": run_id, "generation": 1, "begin": True}
    decision = settle.handler(event, _context())
    while decision["do"] == "step":
        costs.append(Cost())
        decision = execute_step.handler(decision, _context())
    return costs


def _context() -> Any:
    return Context(uuid.uuid4().hex)


def _enter(stack: Stack) -> None:
    """Put this process into the place of a worker of the stack."""
    table = f"bench-{uuid.uuid4().hex[:8]}"
    client("dynamodb", stack.endpoint_url).create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
    )
    os.environ.update(
        AWS_ENDPOINT_URL=stack.endpoint_url,
        AWS_ACCESS_KEY_ID=ACCOUNT,
        AWS_SECRET_ACCESS_KEY="local",  # noqa: S106 - the emulator knows no secrets
        AWS_DEFAULT_REGION=REGION,
        POWERTOOLS_LOG_LEVEL="CRITICAL",
        ONWARD_RUNS_TABLE=table,
        ONWARD_IDEMPOTENCY_TABLE=stack.outputs["IdempotencyTable"],
        ONWARD_ARTIFACTS_BUCKET=stack.outputs["ArtifactsBucket"],
        ONWARD_SANDBOX_FUNCTION=stack.outputs["RunSandboxFunction"],
        ONWARD_DRILLS="0",
    )


def _submit(length: int) -> str:
    from onward.compose import drive
    from onward.domain.machine import submit
    from onward.domain.model import Payload, Submission
    from onward.domain.plan import compile_plan
    from workflows.samples.tools import echo

    plan = compile_plan(chain(length), {echo.name: echo.spec})
    run, event = submit(
        run_id=f"run_{uuid.uuid4().hex}",
        tenant="bench",
        workflow="plan",
        worker="in-this-process",
        plan=plan,
        now=time.time(),
    )
    rows = [plan.roots, *plan.steps]
    drive("execute_step").store.create(run, Submission(Payload("{}")), rows, event, "birth")
    return run.run_id


def chain(length: int) -> dict[str, Any]:
    """Return a plan of `length` echoes, each handing on what the one before returned."""
    steps = [
        {
            "id": f"s{index}",
            "tool": "echo",
            "input": {"value": {"$ref": f"steps.s{index - 1}.value"} if index else "hello"},
        }
        for index in range(length)
    ]
    return {"steps": steps}


def _meter(service: Any, costs: list[Cost]) -> None:
    """Count every call of a client, and ask DynamoDB what it took."""

    def ask(params: dict[str, Any], model: Any, **_: object) -> dict[str, Any]:
        if costs:
            costs[-1].calls.append(model.name)
        if "ReturnConsumedCapacity" in model.input_shape.members:
            return params | {"ReturnConsumedCapacity": "TOTAL"}
        return params

    def note(parsed: dict[str, Any], model: Any, **_: object) -> None:
        if not costs:
            return
        consumed = parsed.get("ConsumedCapacity") or []
        units = sum(one["CapacityUnits"] for one in _listed(consumed))
        if model.name == "BatchGetItem":
            costs[-1].read_units += units or _batch_units(parsed)
        elif model.name in _READS:
            costs[-1].read_units += units
        else:
            costs[-1].write_units += units

    service.meta.events.register("provide-client-params", ask)
    service.meta.events.register("after-call", note)


_READS: Final = frozenset({"GetItem", "Query"})


def _listed(consumed: Any) -> list[Any]:
    return consumed if isinstance(consumed, list) else [consumed]


def _batch_units(parsed: dict[str, Any]) -> int:
    """Count a consistent BatchGetItem as AWS does, one unit per begun 4 KB of each item.

    The emulator reports the units of every other call.
    """
    found = [item for items in parsed["Responses"].values() for item in items]
    return sum(-(-len(str(item)) // _READ_UNIT_BYTES) for item in found)
