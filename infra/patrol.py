"""What looks after runs that stand still: a clock, and the driver's executions that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_ssm as ssm
from constructs import Construct

if TYPE_CHECKING:
    from infra.driver import Driver
    from infra.function import Function

TIMEOUT: Final = 60
SECONDS: Final = "60"
"""Between two rounds. The parameter may be changed at any time, without a deployment."""


class Patrol(Construct):
    """The clock ticks every minute; the function skips ticks that come before its interval."""

    def __init__(self, scope: Construct, identifier: str) -> None:
        super().__init__(scope, identifier)
        self.interval: Final = ssm.StringParameter(
            self,
            "Seconds",
            description="Seconds between two rounds of Onward's patrol",
            string_value=SECONDS,
            allowed_pattern=r"[1-9][0-9]{0,4}",
        )

    def call(self, function: Function, driver: Driver) -> None:
        """Call the function by the clock, and for each execution that ends without its run.

        Two tries an event and no dead letters: the next tick looks at the same runs.
        """
        self.interval.grant_read(function)
        target = targets.LambdaFunction(
            function, retry_attempts=2, max_event_age=Duration.minutes(5)
        )
        events.Rule(
            self, "Clock", schedule=events.Schedule.rate(Duration.minutes(1)), targets=[target]
        )
        events.Rule(
            self,
            "Ended",
            event_pattern=events.EventPattern(
                source=["aws.states"],
                detail_type=["Step Functions Execution Status Change"],
                detail={
                    "stateMachineArn": [driver.machine.state_machine_arn],
                    "status": ["FAILED", "ABORTED", "TIMED_OUT"],
                },
            ),
            targets=[target],
        )
