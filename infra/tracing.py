"""X-Ray, where the context asks for it: on functions and driver, with what they may do for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as stepfunctions

from infra.acknowledge import acknowledge

if TYPE_CHECKING:
    from infra.stack import OnwardStack


def trace(stack: OnwardStack) -> None:
    """Let X-Ray sample invocations and executions; costs by the trace (X-Ray pricing).

    The HTTP API has no tracing of its own: its requests begin at `http_api`. `run_sandbox` keeps
    the one permission that it has.
    """
    for function in stack.functions:
        if function is stack.run_sandbox:
            continue
        made: lambda_.CfnFunction = function.node.default_child
        made.tracing_config = lambda_.CfnFunction.TracingConfigProperty(mode="Active")
        _let_write(function)
    machine: stepfunctions.CfnStateMachine = stack.driver.machine.node.default_child
    machine.tracing_configuration = stepfunctions.CfnStateMachine.TracingConfigurationProperty(
        enabled=True
    )
    _let_write(stack.driver.machine)


def _let_write(construct: lambda_.Function | stepfunctions.StateMachine) -> None:
    construct.add_to_role_policy(
        iam.PolicyStatement(
            actions=["xray:PutTraceSegments", "xray:PutTelemetryRecords"], resources=["*"]
        )
    )
    acknowledge(construct, "IAM5[Resource::*]", "X-Ray's actions know no resource.")
