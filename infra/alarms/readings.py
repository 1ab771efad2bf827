"""Metrics that an alarm looks at and the dashboard draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from onward.metrics import SERVICE, Metric

from infra.alarms.alarm import FIVE_MINUTES, MINUTE

if TYPE_CHECKING:
    from aws_cdk import aws_sqs as sqs
    from constructs import Construct

    from infra.function import Function


def visible(queue: sqs.Queue) -> cloudwatch.Metric:
    """Return how many messages lie in a queue."""
    return queue.metric_approximate_number_of_messages_visible(statistic="max", period=MINUTE)


def stream_age(publisher: Function) -> cloudwatch.Metric:
    """Return how long the oldest record of the stream has waited, in milliseconds."""
    return publisher.metric("IteratorAge", statistic="max", period=MINUTE)


def counted(scope: Construct, metric: Metric, statistic: str = "sum") -> cloudwatch.Metric:
    """Return what the functions of the scope's stack count, by five minutes."""
    return cloudwatch.Metric(
        namespace=Stack.of(scope).stack_name,
        metric_name=metric.value,
        dimensions_map={"service": SERVICE},
        statistic=statistic,
        period=FIVE_MINUTES,
    )
