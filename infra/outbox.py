"""The way from a committed event to whoever must hear of it: stream, queues, dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.queue import make_queue

if TYPE_CHECKING:
    from aws_cdk import aws_dynamodb as dynamodb

    from infra.function import Function

START_TIMEOUT: Final = 30
"""Seconds `start_run` may take; its queue's visibility follows from it."""

NOTIFY_TIMEOUT: Final = 30
"""Seconds `notify` may take; a sender that died holds its run's events back six times as long."""

_NOTIFY_AT_ONCE: Final = 10
"""Senders to endpoints that answer at once; one that hangs keeps some of them for a second."""

_SLOW_AT_ONCE: Final = 5
"""Senders to all others, which wait more than they work."""

_RECEIVES: Final = 10
"""A refused invocation counts as a receive, so fewer would bury messages that nobody saw. Tries are
counted in rows; `domain.delivery.LAST_RECEIVES` leaves two of these for what is refused."""

_RETRIES: Final = 5


class Outbox(Construct):
    """The queues of runs to start and of endpoints to wake, with what each of them gave up.

    Endpoints have two: one for those who answer at once, and one for those who did not.

    Wake-ups of one run and endpoint are one after the other (their group); all others are not:
    deduplication and throughput are by group, or one queue would do 300 messages a second.
    """

    def __init__(self, scope: Construct, identifier: str) -> None:
        super().__init__(scope, identifier)
        self.start_dead: Final = make_queue(self, "StartDead")
        self.start: Final = make_queue(
            self,
            "Start",
            consumer_seconds=START_TIMEOUT,
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.start_dead, max_receive_count=_RECEIVES
            ),
        )
        self.notify_dead: Final = make_queue(self, "NotifyDead", fifo=True)
        self.notify, self.notify_slow = (
            make_queue(
                self,
                name,
                fifo=True,
                consumer_seconds=NOTIFY_TIMEOUT,
                dead_letter_queue=sqs.DeadLetterQueue(
                    queue=self.notify_dead, max_receive_count=_RECEIVES
                ),
            )
            for name in ("Notify", "NotifySlow")
        )
        self.stream_dead: Final = make_queue(self, "StreamDead")
        acknowledge(
            self.stream_dead,
            "SQS3",
            "It is a dead-letter queue: the stream's, which the rule does not look for.",
        )

    @property
    def dead_letters(self) -> tuple[sqs.Queue, ...]:
        """The queues in which something waits for a person."""
        return (self.start_dead, self.notify_dead, self.stream_dead)

    @property
    def deliveries(self) -> tuple[sqs.Queue, ...]:
        """The queues of endpoints to wake."""
        return (self.notify, self.notify_slow)

    def publish(self, table: dynamodb.ITable, publisher: Function) -> None:
        """Wake the publisher for each event row that a commit inserted.

        A failing batch is split until the culprit stands alone; after its retries the record's
        coordinates go to a queue. The event itself stays in the table, which is the truth.
        """
        self.let_wake(publisher)
        _allow(publisher, self.notify_slow, "sqs:SendMessage")
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

    def deliver(self, notify: Function) -> None:
        """Hand the wake-ups to `notify` one by one; it says itself when one is to come again.

        Each lane has senders of its own, so that who waits for a slow endpoint is in nobody's way.
        """
        for queue, at_once in ((self.notify, _NOTIFY_AT_ONCE), (self.notify_slow, _SLOW_AT_ONCE)):
            notify.add_event_source(
                sources.SqsEventSource(
                    queue,
                    batch_size=1,
                    max_concurrency=at_once,
                    report_batch_item_failures=True,
                )
            )
            _allow(notify, queue, "sqs:SendMessage")
        _allow(notify, self.notify_dead, "sqs:SendMessage")

    def let_wake(self, *functions: Function) -> None:
        """Let functions put wake-ups into the queue."""
        for function in functions:
            _allow(function, self.notify, "sqs:SendMessage")

    def let_redrive(self, function: Function) -> None:
        """Let a function take letters out of the dead-letter queue."""
        actions = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility")
        _allow(function, self.notify_dead, *actions)


def _allow(function: Function, queue: sqs.Queue, *actions: str) -> None:
    function.add_to_role_policy(
        iam.PolicyStatement(actions=list(actions), resources=[queue.queue_arn])
    )
