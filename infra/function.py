"""The one Lambda definition: what every function of Onward has in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from onward import settings

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

    The time-out is in seconds, at most 900 (the Lambda limit). Published versions are kept when
    a later deployment replaces them: an unfinished run is finished by the version it pinned.
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
    ) -> None:
        identifier = "".join(word.capitalize() for word in name.split("_"))
        super().__init__(
            scope,
            identifier,
            runtime=RUNTIME,
            architecture=_ARCHITECTURES[ARCHITECTURE],
            handler=f"{name}.handler",
            code=package.code,
            layers=package.layers,
            timeout=Duration.seconds(timeout),
            memory_size=memory,
            environment=environment(name, values),
            log_group=logs.LogGroup(
                scope,
                f"{identifier}Log",
                retention=logs.RetentionDays.ONE_MONTH,
                removal_policy=RemovalPolicy.DESTROY,
            ),
            current_version_options=lambda_.VersionOptions(removal_policy=RemovalPolicy.RETAIN),
        )


def environment(name: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return a function's variables; raises SettingsMismatch on a field too few or too many."""
    wanted = settings.FUNCTION_FIELDS[name]
    if wanted != values.keys():
        difference = sorted(wanted.symmetric_difference(values))
        raise SettingsMismatch(f"{name}: given and read settings differ in {', '.join(difference)}")
    return {settings.variable(field): value for field, value in values.items()} | {
        "POWERTOOLS_SERVICE_NAME": "onward",
        "POWERTOOLS_METRICS_NAMESPACE": "Onward",
    }
