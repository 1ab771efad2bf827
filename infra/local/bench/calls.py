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
    """Service calls by operation, and DynamoDB units, of one attempt at a step.

    `conflicts` counts transactions that were refused because the run had moved; the units are
    those of the ones that went through.
    """

    step_id: str = ""
    conflicts: int = 0
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
    enter(stack)
    # Imported only now: the handlers read their environment once.
    import execute_step
    import settle

    run_id = submit_plan(chain(length))
    costs: list[Cost] = []
    meter(costs)
    event = {"run_id": run_id, "generation": 1, "begin": True}
    decision = settle.handler(event, context())
    while decision["do"] == "step":
        costs.append(Cost(decision["step_id"]))
        decision = execute_step.handler(decision, context())
    return costs


def context() -> Any:
    """Return the context of one invocation."""
    return Context(uuid.uuid4().hex)


def enter(stack: Stack) -> None:
    """Put this process into the place of a worker of the stack; a second time changes nothing.

    The handlers read their environment once, so there is one table for all that is measured.
    """
    if os.environ.get("ONWARD_RUNS_TABLE", "").startswith("bench-"):
        return
    table = f"bench-{uuid.uuid4().hex[:8]}"
    client("dynamodb", stack).create_table(
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
        _variables(stack),
        AWS_ENDPOINT_URL=stack.endpoint_url,
        AWS_ACCESS_KEY_ID=ACCOUNT,
        AWS_SECRET_ACCESS_KEY=stack.secret_access_key,
        AWS_DEFAULT_REGION=REGION,
        POWERTOOLS_LOG_LEVEL="CRITICAL",
        ONWARD_RUNS_TABLE=table,
    )


def _variables(stack: Stack) -> dict[str, str]:
    """Return our settings as the stack's functions have them; those of a name are alike."""
    found: dict[str, str] = {}
    for page in client("lambda", stack).get_paginator("list_functions").paginate():
        for function in page["Functions"]:
            held = function.get("Environment", {}).get("Variables", {})
            found |= {name: held[name] for name in held if name.startswith("ONWARD_")}
    return found


def submit_plan(document: dict[str, Any]) -> str:
    """Store a run of a plan of echoes and return its id; nobody is told to drive it."""
    from onward.compose import drive
    from onward.domain.machine import submit
    from onward.domain.model import Payload
    from onward.domain.plan import compile_plan
    from onward.domain.submission import Submission
    from workflows.samples.tools import echo

    plan = compile_plan(document, {echo.name: echo.spec})
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


def meter(costs: list[Cost]) -> None:
    """Count every call of this process to its services, in the last cost of the list."""
    from onward.aws.clients import client as shared

    _meter(shared("dynamodb"), costs)
    _meter(shared("s3"), costs)


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
        costs[-1].conflicts += parsed.get("Error", {}).get("Code") == _CANCELED
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
_CANCELED: Final = "TransactionCanceledException"


def _listed(consumed: Any) -> list[Any]:
    return consumed if isinstance(consumed, list) else [consumed]


def _batch_units(parsed: dict[str, Any]) -> int:
    """Count a consistent BatchGetItem as AWS does, one unit per begun 4 KB of each item.

    The emulator reports the units of every other call.
    """
    found = [item for items in parsed["Responses"].values() for item in items]
    return sum(-(-len(str(item)) // _READ_UNIT_BYTES) for item in found)
