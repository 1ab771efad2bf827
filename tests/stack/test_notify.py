"""Every end is heard: from the commit over stream, queue and webhook to the receiver's count."""

from __future__ import annotations

import json
import os
import random
import statistics
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from onward.app.delivering.deliver import QUICK_SECONDS
from onward.client import Onward

from infra.local.deploy import client
from infra.local.stack import Stack
from infra.local.subscriber import Subscriber, Told, subscribed
from tests.stack.sandbox import until

RUNS = int(os.environ.get("ONWARD_RUNS", "30"))
ONE = {"steps": [{"id": "a", "tool": "echo", "input": {"value": 1}}]}
ROUNDS = 40
STARTED_AND_ENDED = ["onward.run.queued", "onward.run.started", "onward.run.succeeded"]


@pytest.fixture
def queues(stack: Stack) -> Any:
    return client("sqs", stack)


@pytest.fixture
def hook(onward: Onward) -> Iterator[Subscriber]:
    with subscribe(onward) as subscriber:
        yield subscriber


class subscribe:  # noqa: N801 - reads as the statement it is
    """A receiver that is subscribed for as long as it runs."""

    def __init__(self, onward: Onward, **how: Any) -> None:
        self.onward, self.how = onward, how
        self.name = f"hook-{uuid.uuid4().hex[:6]}"

    def __enter__(self) -> Subscriber:
        self.running = subscribed()
        subscriber = self.running.__enter__()
        wish = {"url": subscriber.url, "status_url": subscriber.url, **self.how}
        made = self.onward.put_endpoint(self.name, wish)
        subscriber.secrets.append(made["secret"])
        return subscriber

    def __exit__(self, *error: object) -> None:
        self.onward.delete_endpoint(self.name)
        self.running.__exit__(None, None, None)


def submit(onward: Onward, count: int) -> list[str]:
    with ThreadPoolExecutor(6) as pool:
        return list(pool.map(lambda _: onward.submit(plan=ONE)["run_id"], range(count)))


def ended(onward: Onward, run_ids: list[str]) -> None:
    for run_id in run_ids:
        list(onward.watch(run_id))


def unsynced(onward: Onward, run_ids: list[str]) -> list[str]:
    return [run_id for run_id in run_ids if not onward.get(run_id)["downstream_synced"]]


def on_the_way(queues: Any, stack: Stack) -> int:
    """How many wake-ups of endpoints there are, in both lanes."""
    return sum(depth(queues, stack.outputs[f"Notify{lane}Url"]) for lane in ("Queue", "Slow"))


def depth(queues: Any, url: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = queues.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(found[name]) for name in names)


def test_a_run_is_heard_in_order_and_its_snapshot_says_so(onward: Onward, hook: Subscriber) -> None:
    """Three events of the run, none of its step; `verify` asks the receiver itself."""
    (run_id,) = submit(onward, 1)
    ended(onward, [run_id])
    until(lambda: not unsynced(onward, [run_id]))

    assert STARTED_AND_ENDED == [arrival.type for arrival in hook.heard(run_id)]
    assert [] == hook.refused
    assert (
        "synced"
        == onward.get(run_id)["sync_status"]
        == onward.get(run_id, verify=True)["sync_status"]
    )
    hook.status = lambda _run_id: Told(503)
    assert "unknown" == onward.get(run_id, verify=True)["sync_status"]
    until(lambda: len([a for a in hook.arrivals if a.run_id == run_id]) == 4)


def test_a_third_of_all_requests_fails_and_a_fifth_of_all_wake_ups_is_lost(
    stack: Stack,
    onward: Onward,
    hook: Subscriber,
    queues: Any,
) -> None:
    """Every end is heard, in order; duplicates carry the same id; nothing is left pending."""
    dice = random.Random(7)
    hook.answer = lambda _number, _event: Told(500 if dice.random() < 0.3 else 204)

    with thief(queues, stack.outputs["NotifyQueueUrl"], share=0.4) as stolen:
        run_ids = submit(onward, RUNS)
        ended(onward, run_ids)
        until(lambda: on_the_way(queues, stack) == 0, seconds=120)
    pending = len(unsynced(onward, run_ids))
    rounds = 0
    while unsynced(onward, run_ids) and rounds < 6:
        onward.patrol()
        until(lambda: on_the_way(queues, stack) == 0, seconds=120)
        rounds += 1

    print(f"{len(stolen)} lost, {pending} pending before {rounds} patrols")  # noqa: T201 - the figure
    assert [] == unsynced(onward, run_ids)
    for run_id in run_ids:
        assert STARTED_AND_ENDED == [arrival.type for arrival in hook.heard(run_id)]
    assert [] == hook.out_of_order() == hook.strange_duplicates() == hook.refused


class thief:  # noqa: N801 - reads as the statement it is
    """Takes what wake-ups it can get before the service does, and loses a share of them."""

    def __init__(self, queues: Any, url: str, share: float) -> None:
        self.queues, self.url, self.share = queues, url, share
        self.stolen: list[str] = []
        self.over = threading.Event()
        self.hand = threading.Thread(target=self.steal)

    def __enter__(self) -> list[str]:
        self.hand.start()
        return self.stolen

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.hand.join()

    def steal(self) -> None:
        dice = random.Random(11)
        while not self.over.wait(0.05):
            with suppress(ClientError, BotoCoreError):  # others were faster
                answer = self.queues.receive_message(QueueUrl=self.url, VisibilityTimeout=1)
                for message in answer.get("Messages", []):
                    if dice.random() < self.share:
                        handle = message["ReceiptHandle"]
                        self.queues.delete_message(QueueUrl=self.url, ReceiptHandle=handle)
                        self.stolen.append(message["Body"])


def test_a_dead_letter_rings_until_it_is_redriven(
    stack: Stack, onward: Onward, hook: Subscriber, queues: Any
) -> None:
    """Three tries, the letter, the alarm's message in a queue; redrive delivers and it is OK."""
    inbox = heard_by(stack, queues)
    onward.redrive()  # what other tests left for dead
    until(lambda: alarm(stack, "NotifyDeadUrl") == "OK")
    hook.answer = lambda _number, _event: Told(500)

    (run_id,) = submit(onward, 1)
    said = until(inbox.take, seconds=60)
    assert ["ALARM"] == [told["NewStateValue"] for told in said]
    assert {"dead"} == {row["state"] for row in onward.deliveries(run_id=run_id)}
    until(lambda: on_the_way(queues, stack) == 0, seconds=120)
    assert run_id in {row["run_id"] for row in onward.deliveries(state="dead")}

    hook.answer = lambda _number, _event: Told()
    onward.redrive()

    until(lambda: not unsynced(onward, [run_id]))
    assert STARTED_AND_ENDED == [arrival.type for arrival in hook.heard(run_id)]
    until(lambda: alarm(stack, "NotifyDeadUrl") == "OK")
    assert 0 == depth(queues, stack.outputs["NotifyDeadUrl"])
    assert [] == onward.deliveries(state="dead")


class heard_by:  # noqa: N801 - reads as the statement it is
    """A queue that is subscribed to the alarms' topic."""

    def __init__(self, stack: Stack, queues: Any) -> None:
        self.queues = queues
        self.url = queues.create_queue(QueueName=f"inbox-{uuid.uuid4().hex[:8]}")["QueueUrl"]
        found = queues.get_queue_attributes(QueueUrl=self.url, AttributeNames=["QueueArn"])
        client("sns", stack).subscribe(
            TopicArn=stack.outputs["AlarmTopicArn"],
            Protocol="sqs",
            Endpoint=found["Attributes"]["QueueArn"],
        )

    def take(self) -> list[dict[str, Any]]:
        answer = self.queues.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10)
        bodies = [json.loads(message["Body"]) for message in answer.get("Messages", [])]
        return [json.loads(body["Message"]) for body in bodies]


def alarm(stack: Stack, output: str) -> str:
    """The state of the alarm on a dead-letter queue."""
    queue = stack.outputs[output].rsplit("/", 1)[-1]
    pages = client("cloudwatch", stack).get_paginator("describe_alarms").paginate()
    (state,) = (
        alarm["StateValue"]
        for page in pages
        for alarm in page["MetricAlarms"]
        if alarm["MetricName"] == "ApproximateNumberOfMessagesVisible"
        and alarm["Dimensions"][0]["Value"] == queue
    )
    return str(state)


def test_a_poison_record_is_set_apart_while_later_ones_flow(
    stack: Stack,
    onward: Onward,
    hook: Subscriber,
    queues: Any,
) -> None:
    """An event row that makes no sense ends in the on-failure queue after its retries."""
    client("dynamodb", stack).put_item(
        TableName=stack.outputs["RunsTable"],
        Item={"pk": {"S": "RUN#poison"}, "sk": {"S": "EVENT#0000000001"}, "tenant": {"S": "dev"}},
    )
    began = time.monotonic()
    (run_id,) = submit(onward, 1)
    ended(onward, [run_id])
    until(lambda: not unsynced(onward, [run_id]), seconds=60)

    dead = stack.outputs["StreamDeadUrl"]
    (letter,) = until(lambda: queues.receive_message(QueueUrl=dead).get("Messages"), seconds=60)
    body = json.loads(letter["Body"])
    print(round(time.monotonic() - began, 1))  # noqa: T201 - the figure
    assert "RetryAttemptsExhausted" == body["requestContext"]["condition"]
    assert 1 == body["DDBStreamBatchInfo"]["batchSize"]
    queues.delete_message(QueueUrl=dead, ReceiptHandle=letter["ReceiptHandle"])


@pytest.mark.parametrize("at_once", [1, 20])
def test_an_endpoint_that_hangs_does_not_hold_up_another(
    onward: Onward, hook: Subscriber, at_once: int
) -> None:
    """The other's lag stays within twice what it is alone, also of many runs at once.

    Those may find the hanging one not known yet, which costs its quick time-out once.
    """
    lags(onward, hook, 20)  # a cold start is not what is measured
    alone = [lag for _ in range(ROUNDS // at_once) for lag in lags(onward, hook, at_once)]
    with subscribe(onward) as hanging:
        hanging.answer = lambda _number, _event: Told(seconds=20)
        beside = [lag for _ in range(ROUNDS // at_once) for lag in lags(onward, hook, at_once)]

    print({"alone": summary(alone), "beside": summary(beside)})  # noqa: T201 - the figure
    assert hanging.arrivals
    unknown = 0.0 if at_once == 1 else QUICK_SECONDS
    assert statistics.median(beside) <= 2 * statistics.median(alone) + unknown


def summary(lags: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(lags), 3), "most": round(max(lags), 3)}


def lags(onward: Onward, hook: Subscriber, count: int) -> list[float]:
    """Seconds from each run's end to its arrival, of so many at once."""
    run_ids = submit(onward, count)
    ends = {}
    for run_id in run_ids:
        *_, last = onward.watch(run_id)
        ends[run_id] = datetime.fromisoformat(last["time"]).timestamp()
    until(lambda: all(heard_of_end(hook, run_id) for run_id in run_ids), seconds=60)
    offset = time.time() - time.monotonic()
    return [heard_of_end(hook, run_id)[0].at + offset - ends[run_id] for run_id in run_ids]


def heard_of_end(hook: Subscriber, run_id: str) -> list[Any]:
    return [a for a in hook.heard(run_id) if a.type == "onward.run.succeeded"]
