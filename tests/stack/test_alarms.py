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


def every(cloudwatch: Any) -> list[dict[str, Any]]:
    """Return all alarms: there are more than fit an answer."""
    pages = cloudwatch.get_paginator("describe_alarms").paginate()
    return [alarm for page in pages for alarm in page["MetricAlarms"]]


@dataclass
class Watch:
    """The stack's alarms, and a queue that hears what their topic says."""

    alarms: Any
    queues: Any
    functions: Any
    inbox: str

    def states(self, metric: str) -> dict[str, str]:
        """Return the states of all alarms on a metric, by what they look at."""
        found = every(self.alarms)
        return {
            alarm["Dimensions"][0]["Value"]: alarm["StateValue"]
            for alarm in found
            if alarm["MetricName"] == metric
        }

    def hasten(self, metric: str, about: str, **changes: Any) -> None:
        """Give a deployed alarm other numbers, so that its cause shows within seconds."""
        (alarm,) = (
            alarm
            for alarm in every(self.alarms)
            if alarm["MetricName"] == metric and alarm["Dimensions"][0]["Value"] == about
        )
        kept = {key: value for key, value in alarm.items() if key in SETTABLE}
        self.alarms.put_metric_alarm(**kept | changes)

    def heard(self) -> list[dict[str, Any]]:
        """Take what the topic said since the last time."""
        answer = self.queues.receive_message(QueueUrl=self.inbox, MaxNumberOfMessages=10)
        told = answer.get("Messages", [])
        for message in told:
            self.queues.delete_message(QueueUrl=self.inbox, ReceiptHandle=message["ReceiptHandle"])
        return [json.loads(json.loads(message["Body"])["Message"]) for message in told]


SETTABLE = (
    *("AlarmName", "AlarmDescription", "AlarmActions", "MetricName", "Namespace", "Dimensions"),
    *("Statistic", "Period", "EvaluationPeriods", "DatapointsToAlarm", "Threshold"),
    *("ComparisonOperator", "TreatMissingData"),
)


@pytest.fixture
def watch(stack: Stack) -> Watch:
    alarms = client("cloudwatch", stack)
    until(lambda: beating(alarms) == "OK", 30)
    queues = client("sqs", stack)
    inbox = queues.create_queue(QueueName=f"inbox-{uuid.uuid4().hex[:8]}")["QueueUrl"]
    attributes = queues.get_queue_attributes(QueueUrl=inbox, AttributeNames=["QueueArn"])
    client("sns", stack).subscribe(
        TopicArn=stack.outputs["AlarmTopicArn"],
        Protocol="sqs",
        Endpoint=attributes["Attributes"]["QueueArn"],
    )
    return Watch(
        alarms,
        queues,
        client("lambda", stack),
        inbox,
    )


def beating(alarms: Any) -> str:
    """Return the state of the patrol's heartbeat: a new stack rings until its first round."""
    (state,) = (a["StateValue"] for a in every(alarms) if a["MetricName"] == "PatrolBeats")
    return str(state)


def about(said: dict[str, Any]) -> str:
    """Return what the alarm of a message looks at."""
    return str(said["Trigger"]["Dimensions"][0]["Value"])


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
    until(lambda: {alarm["StateValue"] for alarm in every(watch.alarms)} <= {"OK", "ALARM"})


def test_the_dashboard_is_there(watch: Watch) -> None:
    """And what it draws is what CloudWatch takes: JSON with every reference filled in."""
    (entry,) = watch.alarms.list_dashboards()["DashboardEntries"]
    page = watch.alarms.get_dashboard(DashboardName=entry["DashboardName"])
    widgets = json.loads(page["DashboardBody"])["widgets"]
    assert len(widgets) == 16
    assert all(widget["properties"]["metrics"] for widget in widgets)


def test_a_patrol_that_does_not_come_rings_until_it_does(stack: Stack, watch: Watch) -> None:
    """Nothing reports, and that is the fault; its five minutes are made five seconds here."""
    rules = client("events", stack)
    (clock,) = (r["Name"] for r in rules.list_rules()["Rules"] if "Clock" in r["Name"])
    rules.disable_rule(Name=clock)
    try:
        watch.hasten("PatrolBeats", "onward", Period=5)

        (said,) = until(watch.heard)
        assert "no-patrol" in said["AlarmDescription"]

        watch.functions.invoke(FunctionName=stack.outputs["PatrolFunction"], Payload=b"{}")
        until(lambda: beating(watch.alarms) == "OK", 3)
    finally:
        watch.hasten("PatrolBeats", "onward", Period=300)
        rules.enable_rule(Name=clock)


@pytest.mark.parametrize(
    ("queue", "function"), [("Start", "StartRun"), ("NotifySlow", "Notify"), ("Live", "PushEvents")]
)
def test_messages_that_nobody_takes_ring(
    stack: Stack, watch: Watch, queue: str, function: str
) -> None:
    """Their consumer's mapping is disabled: none of them ever becomes a dead letter."""
    url = stack.outputs[f"{queue}QueueUrl" if queue != "NotifySlow" else "NotifySlowUrl"]
    mappings = watch.functions.list_event_source_mappings(
        FunctionName=stack.outputs[f"{function}Function"]
    )["EventSourceMappings"]
    mapping = next(m["UUID"] for m in mappings if m["EventSourceArn"].endswith(name(url)))
    watch.functions.update_event_source_mapping(UUID=mapping, Enabled=False)
    try:
        watch.hasten("ApproximateAgeOfOldestMessage", name(url), Threshold=1)
        group = {"MessageGroupId": "g"} if url.endswith(".fifo") else {}
        once = {"MessageDeduplicationId": uuid.uuid4().hex} if group else {}
        watch.queues.send_message(QueueUrl=url, MessageBody="waits", **group, **once)

        (said,) = until(watch.heard)
        assert said["Trigger"]["Dimensions"][0]["Value"] == name(url)
        assert "waiting-messages" in said["AlarmDescription"]
    finally:
        watch.queues.purge_queue(QueueUrl=url)
        watch.hasten("ApproximateAgeOfOldestMessage", name(url), Threshold=300)
        watch.functions.update_event_source_mapping(UUID=mapping, Enabled=True)


def test_a_chain_that_is_cut_rings(stack: Stack, watch: Watch) -> None:
    """The message comes out of a chain that has had all its hops already."""
    function, url = stack.outputs["StartRunFunction"], stack.outputs["StartQueueUrl"]
    until(lambda: watch.states("RecursiveInvocationsDropped").get(function) == "OK")
    sender = client("sqs", stack)
    sender.meta.events.register(
        "before-sign.sqs.SendMessage",
        lambda request, **_: request.headers.add_header("X-Ministack-Invoke-Depth", "16"),
    )

    sender.send_message(QueueUrl=url, MessageBody="{}")

    # Its dead letter rings as well.
    (said,) = until(lambda: [said for said in watch.heard() if about(said) == function])
    assert "cut-chain" in said["AlarmDescription"]
    watch.queues.purge_queue(QueueUrl=stack.outputs["StartDeadUrl"])
