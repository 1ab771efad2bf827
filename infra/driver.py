"""The state machine that drives every plan, and who may start and answer it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aws_cdk import ArnFormat, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

from infra.acknowledge import acknowledge, logical_id

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
                    # Of groups of this name Step Functions keeps no list in the account's policy
                    # for log deliveries, which has room for 5,120 characters (AWS guide).
                    log_group_name=f"/aws/vendedlogs/states/{Stack.of(self).stack_name}-driver",
                    retention=logs.RetentionDays.ONE_MONTH,
                    removal_policy=RemovalPolicy.DESTROY,
                ),
            ),
        )
        self._let_invoke(driven)
        committing = (driven.execute_step, driven.recover, driven.settle)
        self._let_answer_separately(driven.park, *committing)
        acknowledge(
            self.machine,
            "SF1",
            "Errors are logged. Each move of a run is an event row of the runs table, in order;"
            " logging every transition as well would add cost and no fact.",
        )
        acknowledge(
            self.machine,
            "SF2",
            "A run may wait for weeks, a trace is cut long before; the run's own events carry the"
            " time of each step, and log lines the run's id.",
        )
        acknowledge(
            self.machine,
            "IAM5[Resource::*]",
            "Setting up log delivery is an account-wide API: its actions know no resource.",
        )

    def _let_invoke(self, driven: Driven) -> None:
        """Let the machine invoke versions of `execute_step`, and the others as they are now."""
        self.machine.add_to_role_policy(
            iam.PolicyStatement(
                actions=["lambda:InvokeFunction"],
                resources=[
                    f"{driven.execute_step.function_arn}:*",
                    driven.recover.function_arn,
                    driven.settle.function_arn,
                    driven.park.function_arn,
                ],
            )
        )
        acknowledge(
            self.machine,
            f"IAM5[Resource::<{logical_id(driven.execute_step)}.Arn>:*]",
            "A run is finished by the version it was started on, so the machine must be able to"
            " invoke every published version; each decision names its own.",
        )

    def _let_answer_separately(self, *driven: Function) -> None:
        """Let driven functions settle task tokens, by a policy of its own.

        `park` does where there is nothing to wait for; the others wake the parked lane of a Map,
        and `execute_step` a driver whose wait a late receipt ends. In a function's default policy
        the grant would be a cycle: the function waits for that policy, the policy for the machine,
        and the machine for the function.
        """
        roles = [function.role for function in driven if function.role]
        iam.Policy(self, "ParkAnswers", roles=roles, statements=[self._answering()])

    def _answering(self) -> iam.PolicyStatement:
        return iam.PolicyStatement(
            actions=["states:SendTaskSuccess", "states:SendTaskFailure"],
            resources=[self.machine.state_machine_arn],
        )

    def let_answer(self, function: Function) -> None:
        """Let a function that the driver does not invoke wake it where it is parked."""
        function.add_to_role_policy(self._answering())

    def let_look_after(self, function: Function) -> None:
        """Let a function look at executions by name, and stop one that is stuck."""
        self._let_executions(function, "states:DescribeExecution", "states:StopExecution")

    def let_start(self, starter: Function) -> None:
        """Let a function start executions and look at them by name."""
        self.machine.grant_start_execution(starter)
        self._let_executions(starter, "states:DescribeExecution")

    def _let_executions(self, function: Function, *actions: str) -> None:
        executions = Stack.of(self).format_arn(
            service="states",
            resource="execution",
            resource_name=f"{self.machine.state_machine_name}:*",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        function.add_to_role_policy(
            iam.PolicyStatement(actions=list(actions), resources=[executions])
        )
        acknowledge(
            function,
            "IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:"
            f"<{logical_id(self.machine)}.Name>:*]",
            "An execution is named after its run, which does not exist yet; only executions of"
            " this machine can be looked at.",
        )
