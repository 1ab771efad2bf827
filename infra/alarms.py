"""What rings when something needs a person, and the one page that shows how the stack fares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct
from onward.metrics import SERVICE, Metric

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aws_cdk import aws_sqs as sqs

    from infra.driver import Driver
    from infra.function import Function
    from infra.http import Http

_MINUTE: Final = Duration.minutes(1)
_FIVE: Final = Duration.minutes(5)

_STREAM_LAG: Final = 60_000
"""Milliseconds a committed event may wait for the publisher: usually it is under a second."""

_SERVER_ERRORS: Final = 5
"""In five minutes. One that may pass, such as a throttled table, is asked again by the client."""

_LOST_ATTEMPTS: Final = 10
"""In five minutes. Single deaths are what the driver is for; this many are a cause of their own."""


_UNHEARD: Final = 3600
"""Seconds after its end that a run may be unsynced; the dead letters ring long before."""


class Alarms(Construct):
    """A topic, and alarms that publish to it: one metric each, so that each names its culprit.

    A sum over functions would cost the same (a price per metric looked at) and tell less. No
    data is no alarm: queues and functions nobody uses report nothing.
    """

    def __init__(self, scope: Construct, identifier: str, *, email: str = "") -> None:
        super().__init__(scope, identifier)
        self.topic: Final = sns.Topic(self, "Topic", enforce_ssl=True)
        # Any policy of its own replaces the default one, which let CloudWatch in.
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            )
        )
        if email:
            self.topic.add_subscription(subscriptions.EmailSubscription(email))

    def watch_dead_letters(self, *queues: sqs.Queue) -> None:
        """Ring as long as one message lies in a queue.

        Not by messages sent (redriven and moved ones are not counted), nor by those in flight
        (they flap while somebody looks).
        """
        for queue in queues:
            self._ring(
                f"{queue.node.id}Letters",
                visible(queue),
                "Messages that were given up lie in this queue: look at them, then redrive them.",
            )

    def watch_functions(self, worker: Function, functions: Iterable[Function]) -> None:
        """Ring on errors and throttles; a throttled burst that passes is nobody's business.

        Nor is a worker that dies now and then: the driver carries its step on.
        """
        for function in functions:
            self._ring(
                f"{function.node.id}Errors",
                function.metric_errors(period=_FIVE),
                "Invocations failed: look for failed lines in the function's log.",
                threshold=_LOST_ATTEMPTS if function is worker else 1,
            )
            self._ring(
                f"{function.node.id}Throttles",
                function.metric_throttles(period=_MINUTE),
                "Invocations are refused for minutes: raise the account's concurrency.",
                of=(3, 5),
            )

    def watch_stream(self, publisher: Function) -> None:
        """Ring when committed events reach nobody: a record that fails holds up its shard."""
        self._ring(
            "StreamAge",
            stream_age(publisher),
            "Events wait for the publisher: look for failed lines in its log.",
            threshold=_STREAM_LAG,
            of=(2, 2),
        )

    def watch_driver(self, driver: Driver) -> None:
        """Ring when an execution ends otherwise than by succeeding: its run has not ended."""
        machine = driver.machine
        for name, metric in {
            "Failed": machine.metric_failed(period=_MINUTE),
            "Aborted": machine.metric_aborted(period=_MINUTE),
            "TimedOut": machine.metric_timed_out(period=_MINUTE),
        }.items():
            self._ring(
                f"Executions{name}",
                metric,
                "An execution of the driver ended before its run: look at its last event.",
            )

    def watch_http(self, http: Http) -> None:
        """Ring on calls that our side could not answer: they are no failed invocations."""
        self._ring(
            "ServerErrors",
            http.api.metric_server_error(period=_FIVE),
            "Calls of the API are answered with 5xx: look for them in the function's log.",
            threshold=_SERVER_ERRORS,
        )

    def watch_runs(self) -> None:
        """Ring on what commits say."""
        self._ring(
            "NeedsReconciliation",
            counted(self, Metric.NEEDS_RECONCILIATION),
            "The outcome of a write is unknown: somebody has to look and resolve it.",
        )
        self._ring(
            "PermissionFailures",
            counted(self, Metric.PERMISSION_FAILURES),
            "A tool was refused by its provider: check its credentials and grants.",
        )
        self._ring(
            "Restarts",
            counted(self, Metric.RESTARTS),
            "A dead execution was replaced; its run goes on. Find out what ended it.",
        )
        self._ring(
            "Recoveries",
            counted(self, Metric.RECOVERIES),
            "Many attempts are lost and taken over: a tool kills its worker or outlasts its time.",
            threshold=_LOST_ATTEMPTS,
        )
        self._ring(
            "PatrolRepairs",
            counted(self, Metric.PATROL_REPAIRS),
            "A run stood still until the patrol found it: look for what should have moved it.",
        )
        self._ring(
            "PatrolFailures",
            counted(self, Metric.PATROL_FAILURES),
            "The patrol could not look at a run: its log has the reason.",
        )
        self._ring(
            "Unsynced",
            counted(self, Metric.UNSYNCED_SECONDS, "max"),
            "The end of a run was not heard for an hour: onward deliveries says by whom.",
            threshold=_UNHEARD,
        )

    def _ring(
        self,
        identifier: str,
        metric: Any,
        what: str,
        *,
        threshold: float = 1,
        of: tuple[int, int] = (1, 1),
    ) -> None:
        """Alarm at a threshold that is reached in so many of so many periods."""
        alarm = metric.create_alarm(
            self,
            identifier,
            threshold=threshold,
            datapoints_to_alarm=of[0],
            evaluation_periods=of[1],
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=what,
        )
        alarm.add_alarm_action(actions.SnsAction(self.topic))


def visible(queue: sqs.Queue) -> cloudwatch.Metric:
    """Return how many messages lie in a queue."""
    return queue.metric_approximate_number_of_messages_visible(statistic="max", period=_MINUTE)


def stream_age(publisher: Function) -> cloudwatch.Metric:
    """Return how long the oldest record of the stream has waited, in milliseconds."""
    return publisher.metric("IteratorAge", statistic="max", period=_MINUTE)


def counted(scope: Construct, metric: Metric, statistic: str = "sum") -> cloudwatch.Metric:
    """Return what the functions of the scope's stack count, by five minutes."""
    return cloudwatch.Metric(
        namespace=Stack.of(scope).stack_name,
        metric_name=metric.value,
        dimensions_map={"service": SERVICE},
        statistic=statistic,
        period=_FIVE,
    )
