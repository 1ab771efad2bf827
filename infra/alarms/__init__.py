"""What rings when something needs a person. A subject a module; an alarm is an entry there.

Each names the paragraph of the runbook that tells what to do. A test holds that they are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import Stack
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.alarms.compute import (
    concurrency_alarms,
    driver_alarms,
    function_alarms,
    recursion_alarms,
)
from infra.alarms.gateways import http_alarms, socket_alarms
from infra.alarms.queues import age_alarms, dead_letter_alarms, stream_alarms
from infra.alarms.runs import run_alarms
from infra.alarms.tables import table_alarms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infra.alarms.alarm import Alarm
    from infra.stack import OnwardStack


class Alarms(Construct):
    """A topic, and alarms that publish to it."""

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

    def watch(self, stack: OnwardStack) -> None:
        """Make every alarm of the stack."""
        for alarm in _all(stack):
            made = alarm.metric.create_alarm(
                self,
                alarm.name,
                threshold=alarm.threshold,
                datapoints_to_alarm=alarm.of[0],
                evaluation_periods=alarm.of[1],
                comparison_operator=alarm.comparison,
                treat_missing_data=alarm.missing,
                alarm_description=alarm.description,
            )
            made.add_alarm_action(actions.SnsAction(self.topic))


def _all(stack: OnwardStack) -> Iterator[Alarm]:
    """Yield every alarm, by subject."""
    outbox, wakes = stack.outbox, stack.wakes
    yield from run_alarms(stack)
    yield from dead_letter_alarms(*outbox.dead_letters, wakes.dead)
    yield from age_alarms(starts=outbox.start, lives=wakes.queue, deliveries=outbox.deliveries)
    yield from stream_alarms(stack.publish_outbox)
    yield from table_alarms(*stack.state.tables)
    yield from function_alarms(stack.driven.execute_step, stack.functions)
    yield from recursion_alarms(stack.start_run, stack.notify, stack.push_events)
    yield from concurrency_alarms(stack.context.concurrency_limit)
    yield from driver_alarms(stack.driver)
    yield from http_alarms(stack.http)
    yield from socket_alarms(stack.live)
