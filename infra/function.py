"""The one Lambda definition: what every function of Onward has in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from onward import settings
from onward.metrics import SERVICE

from infra.acknowledge import acknowledge, logical_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constructs import Construct

RUNTIME: Final = lambda_.Runtime.PYTHON_3_13
ARCHITECTURE: Final = "x86_64"

_ARCHITECTURES: Final = {
    "x86_64": lambda_.Architecture.X86_64,
    "arm64": lambda_.Architecture.ARM_64,
}


class SettingsMismatch(ValueError):
    """A construct was given other settings than its function reads."""


@dataclass(frozen=True, slots=True)
class Package:
    """The code all functions share and the layers they find their dependencies in."""

    code: lambda_.Code
    layers: Sequence[lambda_.ILayerVersion]


class Function(lambda_.Function):
    """A handler module of `functions/`, its environment exactly the fields its Settings read.

    Its role may write to its own log group and to nothing else until something is granted. Its
    metrics are in the namespace of the stack, so that two stacks in an account do not mix. The
    time-out is in seconds, at most 900 (the Lambda limit). Published versions are kept when a later
    deployment replaces them: an unfinished run is finished by the version it pinned. One whose own
    deployment is rolled back is deleted, or Lambda would publish no second one of the same code.

    `goes_round`: it puts messages back into its own queue by design, which Lambda would cut after
    16 times; so it bounds such a chain itself.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        package: Package,
        values: Mapping[str, str],
        *,
        timeout: int,
        memory: int,
        goes_round: bool = False,
    ) -> None:
        identifier = "".join(word.capitalize() for word in name.split("_"))
        log_group = logs.LogGroup(
            scope,
            f"{identifier}Log",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=RemovalPolicy.DESTROY,
        )
        role = iam.Role(
            scope,
            f"{identifier}ServiceRole",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        )
        log_group.grant_write(role)
        super().__init__(
            scope,
            identifier,
            role=role,
            runtime=RUNTIME,
            architecture=_ARCHITECTURES[ARCHITECTURE],
            handler=f"{name}.handler",
            code=package.code,
            layers=package.layers,
            timeout=Duration.seconds(timeout),
            memory_size=memory,
            environment=environment(name, values)
            | {"POWERTOOLS_METRICS_NAMESPACE": Stack.of(scope).stack_name},
            log_group=log_group,
            recursive_loop=lambda_.RecursiveLoop.ALLOW if goes_round else None,
            current_version_options=lambda_.VersionOptions(
                removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
            ),
        )
        acknowledge(
            self,
            "L1",
            "The layer's wheels are locked for Python 3.13, which AWS patches until 2029; the next"
            " runtime is a change of RUNTIME and of the lock.",
        )


def environment(name: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return a function's variables; raises SettingsMismatch on a field too few or too many."""
    wanted = settings.FUNCTION_FIELDS[name]
    if wanted != values.keys():
        difference = sorted(wanted.symmetric_difference(values))
        raise SettingsMismatch(f"{name}: given and read settings differ in {', '.join(difference)}")
    return {settings.variable(field): value for field, value in values.items()} | {
        "POWERTOOLS_SERVICE_NAME": SERVICE,
    }


def let_invoke(caller: Function, function: Function) -> None:
    """Let a function invoke another one as it is now, and none of its versions."""
    caller.add_to_role_policy(
        iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[function.function_arn])
    )


def let_invoke_versions(caller: Function, function: Function) -> None:
    """Let a function invoke every published version of another one: a run has pinned its own."""
    caller.add_to_role_policy(
        iam.PolicyStatement(
            actions=["lambda:InvokeFunction"], resources=[f"{function.function_arn}:*"]
        )
    )
    acknowledge(
        caller,
        f"IAM5[Resource::<{logical_id(function)}.Arn>:*]",
        "A write that was sent again is looked at once more by the version that its run pinned.",
    )
