"""Alarms of the deployed template, from what they look at to who hears of them."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from infra.local.deploy import client
from infra.local.stack import Stack
from tests.stack.sandbox import until


@dataclass
class Watch:
    """The stack's alarms, and a queue that hears what their topic says."""

    alarms: Any
    queues: Any
    functions: Any
    inbox: str

    def states(self, metric: str) -> dict[str, str]:
        """Return the states of all alarms on a metric, by what they look at."""
        found = self.alarms.describe_alarms()["MetricAlarms"]
        return {
            alarm["Dimensions"][0]["Value"]: alarm["StateValue"]
            for alarm in found
            if alarm["MetricName"] == metric
        }

    def heard(self) -> list[dict[str, Any]]:
        """Take what the topic said since the last time."""
        answer = self.queues.receive_message(QueueUrl=self.inbox, MaxNumberOfMessages=10)
        told = answer.get("Messages", [])
        for message in told:
            self.queues.delete_message(QueueUrl=self.inbox, ReceiptHandle=message["ReceiptHandle"])
        return [json.loads(json.loads(message["Body"])["Message"]) for message in told]


@pytest.fixture
def watch(stack: Stack) -> Watch:
    queues = client("sqs", stack)
    inbox = queues.create_queue(QueueName=f"inbox-{uuid.uuid4().hex[:8]}")["QueueUrl"]
    attributes = queues.get_queue_attributes(QueueUrl=inbox, AttributeNames=["QueueArn"])
    client("sns", stack).subscribe(
        TopicArn=stack.outputs["AlarmTopicArn"],
        Protocol="sqs",
        Endpoint=attributes["Attributes"]["QueueArn"],
    )
    return Watch(
        client("cloudwatch", stack),
        queues,
        client("lambda", stack),
        inbox,
    )


def name(url: str) -> str:
    return url.rsplit("/", 1)[-1]


@pytest.mark.parametrize("dead", ["StartDead", "StreamDead"])
def test_a_dead_letter_rings_until_the_queue_is_empty(
    stack: Stack, watch: Watch, dead: str
) -> None:
    """Its own alarm and no other, once, and whoever subscribed hears which and why."""
    queue = stack.outputs[f"{dead}Url"]
    depth = "ApproximateNumberOfMessagesVisible"
    until(lambda: set(watch.states(depth).values()) == {"OK"})
    quiet = watch.states(depth)
    assert name(queue) in quiet

    watch.queues.send_message(QueueUrl=queue, MessageBody="given up")

    (said,) = until(watch.heard)
    assert (said["NewStateValue"], said["Trigger"]["Dimensions"][0]["Value"]) == (
        "ALARM",
        name(queue),
    )
    assert "redrive" in said["AlarmDescription"]
    assert watch.states(depth) == quiet | {name(queue): "ALARM"}
    watch.queues.purge_queue(QueueUrl=queue)
    until(lambda: watch.states(depth) == quiet)
    assert watch.heard() == []


def test_a_function_that_fails_rings_alone(stack: Stack, watch: Watch) -> None:
    """As released all alarms on errors would ring, whichever function failed."""
    function = stack.outputs["SettleFunction"]
    until(lambda: set(watch.states("Errors").values()) == {"OK"})

    watch.functions.invoke(FunctionName=function, Payload=b"{}")

    (said,) = until(watch.heard)
    assert said["Trigger"]["Dimensions"] == [{"Name": "FunctionName", "Value": function}]
    ringing = {name for name, state in watch.states("Errors").items() if state == "ALARM"}
    assert ringing == {function}


def test_every_alarm_has_a_state_within_seconds(watch: Watch) -> None:
    """Nothing to report is a state too."""
    described = watch.alarms.describe_alarms
    until(lambda: {a["StateValue"] for a in described()["MetricAlarms"]} <= {"OK", "ALARM"})


def test_the_dashboard_is_there(watch: Watch) -> None:
    """And what it draws is what CloudWatch takes: JSON with every reference filled in."""
    (entry,) = watch.alarms.list_dashboards()["DashboardEntries"]
    page = watch.alarms.get_dashboard(DashboardName=entry["DashboardName"])
    widgets = json.loads(page["DashboardBody"])["widgets"]
    assert len(widgets) == 12
    assert all(widget["properties"]["metrics"] for widget in widgets)
