"""Metrics that an alarm looks at and the dashboard draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from onward.metrics import SERVICE, Metric

from infra.alarms.alarm import FIVE_MINUTES, MINUTE

if TYPE_CHECKING:
    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_sqs as sqs
    from constructs import Construct

    from infra.function import Function
    from infra.live import Live


def visible(queue: sqs.Queue) -> cloudwatch.Metric:
    """Return how many messages lie in a queue."""
    return queue.metric_approximate_number_of_messages_visible(statistic="max", period=MINUTE)


def oldest(queue: sqs.Queue) -> cloudwatch.Metric:
    """Return how long the oldest message of a queue has been there, in seconds."""
    return queue.metric_approximate_age_of_oldest_message(statistic="max", period=MINUTE)


def table_throttles(table: dynamodb.Table, kind: str, index: str = "") -> cloudwatch.Metric:
    """Return how many requests for a table or one of its indexes were throttled.

    `kind` is "Read" or "Write". Source: Amazon DynamoDB, "Metrics and dimensions".
    """
    dimensions = {"TableName": table.table_name}
    return cloudwatch.Metric(
        namespace="AWS/DynamoDB",
        metric_name=f"{kind}ThrottleEvents",
        dimensions_map=dimensions | ({"GlobalSecondaryIndexName": index} if index else {}),
        statistic="sum",
        period=MINUTE,
    )


def indexes(table: dynamodb.Table) -> list[str]:
    """Return the names of a table's indexes."""
    resource: dynamodb.CfnTable = table.node.default_child
    found = Stack.of(table).resolve(resource.global_secondary_indexes) or []
    return [str(index["indexName"]) for index in found]


def recursions(function: Function) -> cloudwatch.Metric:
    """Return how many invocations Lambda dropped, taking them for an endless loop."""
    return function.metric("RecursiveInvocationsDropped", statistic="sum", period=FIVE_MINUTES)


def account_concurrency() -> cloudwatch.Metric:
    """Return how much of the account's concurrency is taken: in use, reserved or provisioned."""
    return cloudwatch.Metric(
        namespace="AWS/Lambda",
        metric_name="ClaimedAccountConcurrency",
        statistic="max",
        period=MINUTE,
    )


def socket_errors(live: Live) -> cloudwatch.Metric:
    """Return how many frames and connections the gateway itself could not hand on."""
    return live.stage.metric("ExecutionError", statistic="sum", period=FIVE_MINUTES)


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
