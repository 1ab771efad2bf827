"""The yardstick: a chain of eight Lambdas that only log one line."""

from __future__ import annotations

import io
import json
import uuid
import zipfile
from typing import TYPE_CHECKING, Any

from infra.local.bench.executions import seconds
from infra.local.deploy import client

if TYPE_CHECKING:
    from infra.local.stack import Stack

_ROLE = "arn:aws:iam::000000000000:role/bench"
_HANDLER = """
import logging

logging.getLogger().setLevel("INFO")


def handler(event, context):
    logging.info("one line")
    return event
"""


class BareChain:
    """A state machine of `length` tasks, each invoking a function of its own."""

    def __init__(self, stack: Stack, length: int) -> None:
        self._machines = client("stepfunctions", stack.endpoint_url)
        functions = client("lambda", stack.endpoint_url)
        name = f"bench-{uuid.uuid4().hex[:8]}"
        arns = [_function(functions, f"{name}-{index}") for index in range(length)]
        made = self._machines.create_state_machine(
            name=name, roleArn=_ROLE, definition=json.dumps(_definition(arns))
        )
        self._machine = str(made["stateMachineArn"])

    def run(self) -> float:
        """Run the chain once; return its seconds from start to stop."""
        started = self._machines.start_execution(stateMachineArn=self._machine, input="{}")
        return seconds(self._machines, started["executionArn"])


def _function(functions: Any, name: str) -> str:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr("main.py", _HANDLER)
    made = functions.create_function(
        FunctionName=name,
        Runtime="python3.13",
        Role=_ROLE,
        Handler="main.handler",
        Code={"ZipFile": body.getvalue()},
        Timeout=30,
    )
    return str(made["FunctionArn"])


def _definition(arns: list[str]) -> dict[str, Any]:
    states = {
        f"S{index}": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName": arn, "Payload.$": "$"},
            "OutputPath": "$.Payload",
            "TimeoutSeconds": 30,
            **({"Next": f"S{index + 1}"} if index + 1 < len(arns) else {"End": True}),
        }
        for index, arn in enumerate(arns)
    }
    return {"StartAt": "S0", "States": states}
