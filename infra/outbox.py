"""The way from a committed event to whoever must hear of it: stream, queues, dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.acknowledge import acknowledge

if TYPE_CHECKING:
    from aws_cdk import aws_dynamodb as dynamodb

    from infra.function import Function

START_TIMEOUT: Final = 30
"""Seconds `start_run` may take; its queue's visibility follows from it."""

_RECEIVES: Final = 5
"""A throttled invocation counts as a receive, so fewer would bury messages that nobody saw."""

_RETRIES: Final = 5


class Outbox(Construct):
    """The queue of runs to start, its dead letters, and the records the stream gave up on."""

    def __init__(self, scope: Construct, identifier: str) -> None:
        super().__init__(scope, identifier)
        self.start_dead: Final = _queue(self, "StartDead")
        self.start: Final = _queue(
            self,
            "Start",
            # Six times the consumer's time-out, or a slow batch is handed out twice (AWS guide).
            visibility_timeout=Duration.seconds(6 * START_TIMEOUT),
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.start_dead, max_receive_count=_RECEIVES
            ),
        )
        self.stream_dead: Final = _queue(self, "StreamDead")
        acknowledge(
            self.stream_dead,
            "SQS3",
            "It is a dead-letter queue: the stream's, which the rule does not look for.",
        )

    @property
    def dead_letters(self) -> tuple[sqs.Queue, ...]:
        """The queues in which something waits for a person."""
        return (self.start_dead, self.stream_dead)

    def publish(self, table: dynamodb.ITable, publisher: Function) -> None:
        """Wake the publisher for each event row that a commit inserted.

        A failing batch is split until the culprit stands alone; after its retries the record's
        coordinates go to a queue. The event itself stays in the table, which is the truth.
        """
        self.start.grant_send_messages(publisher)
        publisher.add_event_source(
            sources.DynamoEventSource(
                table,
                starting_position=lambda_.StartingPosition.TRIM_HORIZON,
                batch_size=100,
                parallelization_factor=2,
                bisect_batch_on_error=True,
                retry_attempts=_RETRIES,
                max_record_age=Duration.hours(6),
                report_batch_item_failures=True,
                on_failure=sources.SqsDlq(self.stream_dead),
                filters=[
                    lambda_.FilterCriteria.filter(
                        {
                            "eventName": lambda_.FilterRule.is_equal("INSERT"),
                            "dynamodb": {
                                "Keys": {"sk": {"S": lambda_.FilterRule.begins_with("EVENT#")}}
                            },
                        }
                    )
                ],
            )
        )
        acknowledge(
            publisher,
            "IAM5[Resource::*]",
            "Lambda's stream poller calls dynamodb:ListStreams, an action that knows no resource;"
            " what it reads is bound to this table's stream.",
        )

    def consume(self, starter: Function) -> None:
        """Hand the queue to `start_run`, few at a time: a new account has 10 concurrent Lambdas."""
        starter.add_event_source(
            sources.SqsEventSource(
                self.start, batch_size=10, max_concurrency=5, report_batch_item_failures=True
            )
        )


def _queue(
    scope: Construct,
    identifier: str,
    *,
    visibility_timeout: Duration | None = None,
    dead_letter_queue: sqs.DeadLetterQueue | None = None,
) -> sqs.Queue:
    return sqs.Queue(
        scope,
        identifier,
        enforce_ssl=True,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        retention_period=Duration.days(14),
        visibility_timeout=visibility_timeout,
        dead_letter_queue=dead_letter_queue,
    )
