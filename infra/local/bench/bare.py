"""The yardsticks: a chain of Lambdas that only log one line, and a bare way to a socket."""

from __future__ import annotations

import io
import json
import uuid
import zipfile
from typing import TYPE_CHECKING, Any

from infra.local.bench.executions import seconds
from infra.local.deploy import client

if TYPE_CHECKING:
    from collections.abc import Mapping

    from infra.local.stack import Stack

_COMMIT = 5
"""Rows of a commit in a chain: the run, two steps, two events."""

_ROLE = "arn:aws:iam::000000000000:role/bench"
_HANDLER = """
import logging

logging.getLogger().setLevel("INFO")


def handler(event, context):
    logging.info("one line")
    return event
"""

_WAKE = """
import json, os, uuid
import boto3

sqs = boto3.client("sqs")


def handler(event, context):
    rows = [record["dynamodb"]["NewImage"] for record in event["Records"]]
    for connection in (row["connection"]["S"] for row in rows if "connection" in row):
        sqs.send_message(
            QueueUrl=os.environ["QUEUE"],
            MessageBody=json.dumps({"connection": connection}),
            MessageGroupId=connection,
            MessageDeduplicationId=uuid.uuid4().hex,
        )
"""
_POST = """
import json, os
import boto3

sockets = boto3.client("apigatewaymanagementapi", endpoint_url=os.environ["SOCKETS"])


def handler(event, context):
    for record in event["Records"]:
        connection = json.loads(record["body"])["connection"]
        sockets.post_to_connection(ConnectionId=connection, Data=b'{"type":"bare"}')
"""


class BareHop:
    """A table whose stream leads to one socket, by way of a FIFO queue."""

    def __init__(self, stack: Stack, connection: str) -> None:
        self._dynamodb = client("dynamodb", stack)
        self._connection = connection
        self._table = f"bench-{uuid.uuid4().hex[:8]}"
        queues, functions = client("sqs", stack), client("lambda", stack)
        queue = queues.create_queue(
            QueueName=f"{self._table}.fifo", Attributes={"FifoQueue": "true"}
        )["QueueUrl"]
        asked = queues.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
        stream = self._dynamodb.create_table(
            TableName=self._table,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        )["TableDescription"]["LatestStreamArn"]
        sockets = stack.ws_url.replace("ws", "http", 1)
        wake = _function(functions, f"{self._table}-wake", _WAKE, {"QUEUE": queue})
        post = _function(functions, f"{self._table}-post", _POST, {"SOCKETS": sockets})
        functions.create_event_source_mapping(
            FunctionName=wake, EventSourceArn=stream, StartingPosition="TRIM_HORIZON"
        )
        functions.create_event_source_mapping(
            FunctionName=post, EventSourceArn=asked["Attributes"]["QueueArn"], BatchSize=1
        )

    def commit(self) -> None:
        """Write as many rows at once as a step's commit does, one of which sends a frame."""
        rows: list[dict[str, Any]] = [{"pk": {"S": uuid.uuid4().hex}} for _ in range(_COMMIT)]
        rows[-1]["connection"] = {"S": self._connection}
        writes = [{"Put": {"TableName": self._table, "Item": row}} for row in rows]
        self._dynamodb.transact_write_items(TransactItems=writes)


class BareChain:
    """A state machine of `length` tasks, each invoking a function of its own."""

    def __init__(self, stack: Stack, length: int) -> None:
        self._machines = client("stepfunctions", stack)
        functions = client("lambda", stack)
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


def _function(
    functions: Any, name: str, source: str = _HANDLER, variables: Mapping[str, str] | None = None
) -> str:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr("main.py", source)
    made = functions.create_function(
        FunctionName=name,
        Runtime="python3.13",
        Role=_ROLE,
        Handler="main.handler",
        Code={"ZipFile": body.getvalue()},
        Timeout=30,
        Environment={"Variables": dict(variables or {})},
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
