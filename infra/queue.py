"""Queues as all of ours are: encrypted, over TLS only, kept for as long as SQS keeps anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs

if TYPE_CHECKING:
    from constructs import Construct


def make_queue(
    scope: Construct,
    identifier: str,
    *,
    fifo: bool = False,
    consumer_seconds: int | None = None,
    dead_letter_queue: sqs.DeadLetterQueue | None = None,
) -> sqs.Queue:
    """Make a queue; what is received is hidden six times as long as its consumer may take.

    Or a slow batch is handed out twice (AWS guide). Order, throughput and the memory for ids of a
    FIFO queue are each by group, or a burst of runs is throttled.
    """
    hidden = None if consumer_seconds is None else Duration.seconds(6 * consumer_seconds)
    return sqs.Queue(
        scope,
        identifier,
        enforce_ssl=True,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        retention_period=Duration.days(14),
        fifo=fifo or None,
        deduplication_scope=sqs.DeduplicationScope.MESSAGE_GROUP if fifo else None,
        fifo_throughput_limit=sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID if fifo else None,
        visibility_timeout=hidden,
        dead_letter_queue=dead_letter_queue,
    )
