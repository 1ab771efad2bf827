"""How the emulator's FIFO queues behave, with our patches in place."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from infra.local.deploy import client
from tests.stack.sandbox import Sandbox, until
from tests.stack.test_emulator_facts import NOTE

SLOW = (
    NOTE
    + """
import json, time
def handler(event, context):
    (record,) = event["Records"]
    body = json.loads(record["body"])
    note(os.environ["AWS_LAMBDA_FUNCTION_NAME"], "begin:" + body["name"])
    time.sleep(body.get("seconds", 0))
    note(os.environ["AWS_LAMBDA_FUNCTION_NAME"], "end:" + body["name"])
    if body.get("fails"):
        return {"batchItemFailures": [{"itemIdentifier": record["messageId"]}]}
    return {"batchItemFailures": []}
"""
)

ROUND = (
    NOTE
    + """
import boto3, json
sqs = boto3.client("sqs")
def handler(event, context):
    (record,) = event["Records"]
    name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
    note(name, "hop")
    body = json.loads(record["body"])
    if body["left"]:
        body = json.dumps({"left": body["left"] - 1})
        entry = {"Id": "a", "MessageBody": body, "MessageGroupId": "g",
                 "MessageDeduplicationId": context.aws_request_id}
        sqs.send_message_batch(QueueUrl=os.environ["QUEUE"], Entries=[entry])
    return {"batchItemFailures": []}
"""
)


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(tmp_path_factory.mktemp("emulator")) as made:
        yield made


class Fifo:
    """A FIFO queue with a consumer that takes its messages one by one."""

    def __init__(self, sandbox: Sandbox, **attributes: str) -> None:
        self.sandbox = sandbox
        self.url, arn = fifo_queue(sandbox, **attributes)
        function = sandbox.function(SLOW)
        sandbox.functions.create_event_source_mapping(
            EventSourceArn=arn,
            FunctionName=function,
            BatchSize=1,
            FunctionResponseTypes=["ReportBatchItemFailures"],
            ScalingConfig={"MaximumConcurrency": 4},
        )
        self.name = function.rsplit(":", 1)[-1]

    def send(self, group: str, name: str, once: str | None = None, **how: object) -> None:
        self.sandbox.queues.send_message(
            QueueUrl=self.url,
            MessageBody=json.dumps({"name": name, **how}),
            MessageGroupId=group,
            MessageDeduplicationId=once or uuid.uuid4().hex,
        )

    def noted(self) -> list[str]:
        return self.sandbox.noted(self.name)


def fifo_queue(sandbox: Sandbox, **attributes: str) -> tuple[str, str]:
    url = sandbox.queues.create_queue(
        QueueName=f"q{uuid.uuid4().hex[:8]}.fifo",
        Attributes={"FifoQueue": "true", "DeduplicationScope": "messageGroup", **attributes},
    )["QueueUrl"]
    found = sandbox.queues.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return url, found["Attributes"]["QueueArn"]


def test_a_group_that_hangs_holds_up_no_other(sandbox: Sandbox) -> None:
    """As released one message of the whole queue is in flight."""
    fifo = Fifo(sandbox)
    fifo.send("warm", "warm")
    until(lambda: "end:warm" in fifo.noted())

    fifo.send("a", "hangs", seconds=4)
    until(lambda: "begin:hangs" in fifo.noted())
    fifo.send("a", "behind")
    fifo.send("b", "free")

    until(lambda: "end:free" in fifo.noted())
    assert not {"end:hangs", "begin:behind"} & set(fifo.noted())
    until(lambda: "end:behind" in fifo.noted())
    assert fifo.noted().index("end:hangs") < fifo.noted().index("begin:behind")


def test_a_message_that_fails_too_often_is_moved_and_lets_the_next_one_pass(
    sandbox: Sandbox,
) -> None:
    """In order: nothing of the group comes between its tries."""
    dead, arn = fifo_queue(sandbox)
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2})
    fifo = Fifo(sandbox, RedrivePolicy=policy, VisibilityTimeout="1")

    fifo.send("a", "bad", fails=True)
    fifo.send("a", "next")

    (letter,) = until(lambda: sandbox.received(dead))
    assert "bad" == letter["name"]
    until(lambda: "end:next" in fifo.noted())
    assert ["bad", "bad", "next"] == [n[6:] for n in fifo.noted() if n.startswith("begin:")]


def test_the_same_id_within_five_minutes_is_swallowed(sandbox: Sandbox) -> None:
    """By group: another group may use it."""
    fifo = Fifo(sandbox)
    for group, name in (("a", "first"), ("a", "again"), ("b", "other")):
        fifo.send(group, name, once="same")

    until(lambda: {"end:first", "end:other"} <= set(fifo.noted()))
    time.sleep(0.5)
    assert "begin:again" not in fifo.noted()


def test_nothing_is_lost_while_others_are_deleted(sandbox: Sandbox) -> None:
    """As released a message sent at the wrong moment vanished with a deleted one."""
    fifo = Fifo(sandbox)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: fifo.send(f"g{n % 20}", f"m{n}"), range(200)))

    until(lambda: len({n for n in fifo.noted() if n.startswith("end:m")}) == 200, seconds=60)


def going_round(sandbox: Sandbox, times: int, *, allowed: bool, **attributes: str) -> str:
    """A function that puts its message back into its own queue so many times; return its name."""
    url, arn = fifo_queue(sandbox, **attributes)
    function = sandbox.function(ROUND, QUEUE=url, AWS_ENDPOINT_URL=sandbox.emulator.endpoint_url)
    name = function.rsplit(":", 1)[-1]
    if allowed:
        sandbox.functions.put_function_recursion_config(FunctionName=name, RecursiveLoop="Allow")
    sandbox.functions.create_event_source_mapping(
        EventSourceArn=arn, FunctionName=function, BatchSize=1
    )
    sandbox.queues.send_message(
        QueueUrl=url,
        MessageBody=json.dumps({"left": times}),
        MessageGroupId="g",
        MessageDeduplicationId="first",
    )
    return name


def test_a_chain_of_messages_is_cut_after_sixteen_invocations(sandbox: Sandbox) -> None:
    """Its last message lies among the dead letters and is counted; as released it goes on."""
    dead, arn = fifo_queue(sandbox)
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 10})
    name = going_round(sandbox, 40, allowed=False, RedrivePolicy=policy)

    (letter,) = until(lambda: sandbox.received(dead))
    assert (16, 24) == (len(sandbox.noted(name)), letter["left"])
    assert 1.0 == dropped(sandbox, name)


def test_a_function_that_allows_recursion_goes_on(sandbox: Sandbox) -> None:
    """So does one whose chain ends in time."""
    far = going_round(sandbox, 40, allowed=True)
    short = going_round(sandbox, 15, allowed=False)
    until(lambda: len(sandbox.noted(far)) == 41, seconds=30)
    until(lambda: len(sandbox.noted(short)) == 16)
    assert 0.0 == dropped(sandbox, far) == dropped(sandbox, short)


def dropped(sandbox: Sandbox, function: str) -> float:
    """How many invocations of a function were dropped, as CloudWatch counts them."""
    now = datetime.now(UTC)
    found = client("cloudwatch", sandbox.emulator).get_metric_statistics(
        Namespace="AWS/Lambda",
        MetricName="RecursiveInvocationsDropped",
        Dimensions=[{"Name": "FunctionName", "Value": function}],
        StartTime=now - timedelta(minutes=10),
        EndTime=now + timedelta(minutes=1),
        Period=3600,
        Statistics=["Sum"],
    )
    return float(sum(point["Sum"] for point in found["Datapoints"]))
