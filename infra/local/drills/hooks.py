"""A subscriber of the runs of drills, and the queue that its wake-ups go through."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from infra.local.deploy import client
from infra.local.subscriber import subscribed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infra.local.drills.stage import Refund, Stage
    from infra.local.stack import Stack
    from infra.local.subscriber import Subscriber

ENDS: Final = ("run.queued", "run.started", "run.succeeded")
"""What a subscriber of `run.*` hears of a run that nothing happens to."""


@contextmanager
def listening(stage: Stage) -> Iterator[Subscriber]:
    """Subscribe a receiver for as long as a drill takes."""
    name = f"drill-{secrets.token_hex(4)}"
    with subscribed() as subscriber:
        wish = {"url": subscriber.url, "status_url": subscriber.url}
        subscriber.secrets.append(stage.onward.put_endpoint(name, wish)["secret"])
        try:
            yield subscriber
        finally:
            stage.onward.delete_endpoint(name)


@contextmanager
def nobody_delivers(stage: Stage) -> Iterator[None]:
    """Hold all deliveries up; what is in their queues at the end of it is lost."""
    queues, outputs = client("sqs", stage.stack), stage.stack.outputs
    with disabled(stage.stack, "NotifyFunction"):
        yield
        for name in ("NotifyQueueUrl", "NotifySlowUrl"):
            queues.purge_queue(QueueUrl=outputs[name])


@contextmanager
def disabled(stack: Stack, output: str) -> Iterator[None]:
    """Let nothing come to a function from its queues or its stream."""
    functions = client("lambda", stack)
    found = functions.list_event_source_mappings(FunctionName=stack.outputs[output])
    mappings = [mapping["UUID"] for mapping in found["EventSourceMappings"]]
    for mapping in mappings:
        functions.update_event_source_mapping(UUID=mapping, Enabled=False)
    try:
        yield
    finally:
        for mapping in mappings:
            functions.update_event_source_mapping(UUID=mapping, Enabled=True)


def heard(subscriber: Subscriber, refund: Refund) -> list[str]:
    """Return what was acknowledged of a run, each event once."""
    return [arrival.type.removeprefix("onward.") for arrival in subscriber.heard(refund.run_id)]


def synced(stage: Stage, refund: Refund) -> bool:
    """Whether the snapshot says that everybody has heard."""
    return stage.onward.get(refund.run_id)["downstream_synced"]


def alarm(stage: Stage, output: str) -> str:
    """Return the state of the alarm on a dead-letter queue; MISSING where there is none."""
    queue = stage.stack.outputs[output].rsplit("/", 1)[-1]
    pages = client("cloudwatch", stage.stack).get_paginator("describe_alarms").paginate()
    found = (
        str(each["StateValue"])
        for page in pages
        for each in page["MetricAlarms"]
        if any(dimension["Value"] == queue for dimension in each.get("Dimensions", []))
    )
    return next(found, "MISSING")


def strange(subscriber: Subscriber) -> list[str]:
    """Return what is wrong with what arrived, whatever was done to it."""
    wrong = [f"{run_id} was heard out of order" for run_id in subscriber.out_of_order()]
    wrong += [f"{event} came under two ids" for event in subscriber.strange_duplicates()]
    return wrong + [f"{webhook_id} was not signed by us" for webhook_id in subscriber.refused]
