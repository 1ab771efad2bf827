"""An emulator of its own for tests, and short ways to put functions and machines into it."""

from __future__ import annotations

import io
import json
import time
import uuid
import zipfile
from typing import TYPE_CHECKING, Any, Self

from infra.local import emulator
from infra.local.deploy import client

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROLE = "arn:aws:iam::000000000000:role/any"
INVOKE = "arn:aws:states:::lambda:invoke"


def until(look: Callable[[], Any], seconds: float = 15) -> Any:
    """Return the first true thing that a look finds; fails when there is none in time."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.02)
    return found


class Sandbox:
    """A bare emulator with the fidelity patches; handlers are given as source text."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.notes = state / "notes"
        self.notes.mkdir(parents=True)
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, the first time or again."""
        here = self.emulator = emulator.start(self.state, emulator.free_port())
        self.secret_access_key = here.secret_access_key
        self.functions = client("lambda", here)
        self.machines = client("stepfunctions", here)
        self.tables = client("dynamodb", here)
        self.queues = client("sqs", here)
        self.objects = client("s3", here)

    def stop(self) -> None:
        """Stop it and keep its data."""
        emulator.stop(self.state)

    def function(self, source: str, *, timeout: int = 20, **variables: str) -> str:
        """Create a function whose `NOTES` names a directory that the test can read."""
        answer = self.functions.create_function(
            FunctionName=f"f{uuid.uuid4().hex[:8]}",
            Runtime="python3.13",
            Role=ROLE,
            Handler="main.handler",
            Code={"ZipFile": packed(source)},
            Environment={"Variables": {"NOTES": str(self.notes)} | variables},
            Timeout=timeout,
        )
        return str(answer["FunctionArn"])

    def machine(self, **states: Any) -> str:
        """Create a machine that begins at its first state."""
        definition = {"StartAt": next(iter(states)), "States": states}
        answer = self.machines.create_state_machine(
            name=f"m{uuid.uuid4().hex[:8]}", roleArn=ROLE, definition=json.dumps(definition)
        )
        return str(answer["stateMachineArn"])

    def execute(self, machine: str, data: Any) -> Any:
        """Run an execution to its end and return its output."""
        execution = self.machines.start_execution(stateMachineArn=machine, input=json.dumps(data))
        arn = execution["executionArn"]
        until(lambda: self._status(arn) != "RUNNING")
        return json.loads(self.machines.describe_execution(executionArn=arn)["output"])

    def _status(self, execution: str) -> str:
        return str(self.machines.describe_execution(executionArn=execution)["status"])

    def invoke(self, function: str, event: Any = None) -> Any:
        """Invoke a function and return what it answered, be it an error."""
        answer = self.functions.invoke(FunctionName=function, Payload=json.dumps(event or {}))
        return json.loads(answer["Payload"].read())

    def table(self) -> tuple[str, str]:
        """Create a table with a stream and return its name and the stream's ARN."""
        name = f"t{uuid.uuid4().hex[:8]}"
        answer = self.tables.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        )
        return name, str(answer["TableDescription"]["LatestStreamArn"])

    def put(self, table: str, *keys: str) -> None:
        """Insert items in one transaction."""
        self.tables.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": table, "Item": {"pk": {"S": key}}}} for key in keys
            ]
        )

    def queue(self, **attributes: str) -> tuple[str, str]:
        """Create a queue and return its URL and ARN."""
        url = self.queues.create_queue(QueueName=f"q{uuid.uuid4().hex[:8]}", Attributes=attributes)
        found = self.queues.get_queue_attributes(
            QueueUrl=url["QueueUrl"], AttributeNames=["QueueArn"]
        )
        return str(url["QueueUrl"]), str(found["Attributes"]["QueueArn"])

    def received(self, queue: str) -> list[Any]:
        """Take what a queue holds right now."""
        answer = self.queues.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
        return [json.loads(message["Body"]) for message in answer.get("Messages", [])]

    def noted(self, name: str) -> list[str]:
        """Return the lines that a handler has written to a note."""
        path = self.notes / name
        return path.read_text().split() if path.exists() else []


def packed(source: str) -> bytes:
    """Return an archive with the source as its only module."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr("main.py", source)
    return body.getvalue()


def caught(**task: Any) -> dict[str, Any]:
    """Return the states of a machine that ends with the error of its only task."""
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}]
    return {
        "Work": {"Type": "Task", "Catch": catch, "End": True, **task},
        "Caught": {"Type": "Succeed"},
    }
