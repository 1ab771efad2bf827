"""The state machine that drives every plan, and who may start and answer it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aws_cdk import RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

if TYPE_CHECKING:
    from infra.function import Function

DEFINITION: Final = Path(__file__).with_name("driver.asl.json")


@dataclass(frozen=True, slots=True)
class Driven:
    """The functions that the driver invokes."""

    execute_step: Function
    recover: Function
    settle: Function
    park: Function


class Driver(Construct):
    """The driver of `driver.asl.json`.

    It has no time-out of its own: a run may wait for a person for weeks, every task in it is
    bounded, and a deadline of the run is kept by the run, which can say so to its client.
    """

    def __init__(self, scope: Construct, identifier: str, driven: Driven) -> None:
        super().__init__(scope, identifier)
        self.machine: Final = stepfunctions.StateMachine(
            self,
            "Machine",
            definition_body=stepfunctions.DefinitionBody.from_string(DEFINITION.read_text()),
            definition_substitutions={
                "settle": driven.settle.function_arn,
                "recover": driven.recover.function_arn,
                "park": driven.park.function_arn,
            },
            logs=stepfunctions.LogOptions(
                level=stepfunctions.LogLevel.ERROR,
                include_execution_data=False,
                destination=logs.LogGroup(
                    self,
                    "Log",
                    retention=logs.RetentionDays.ONE_MONTH,
                    removal_policy=RemovalPolicy.DESTROY,
                ),
            ),
        )
        for function in (driven.execute_step, driven.recover, driven.settle, driven.park):
            function.grant_invoke(self.machine)
        self._let_answer(driven.park)

    def _let_answer(self, function: Function) -> None:
        """Let a driven function settle task tokens, by a policy of its own.

        In the function's default policy the grant would be a cycle: the function waits for that
        policy, the policy for the machine, and the machine for the function.
        """
        iam.Policy(
            self,
            "ParkAnswers",
            roles=[function.role] if function.role else [],
            statements=[
                iam.PolicyStatement(
                    actions=["states:SendTaskSuccess", "states:SendTaskFailure"],
                    resources=[self.machine.state_machine_arn],
                )
            ],
        )

    def let_start(self, starter: Function) -> None:
        """Let a function start executions and look at them by name."""
        self.machine.grant_start_execution(starter)
        self.machine.grant_execution(starter, "states:DescribeExecution")
