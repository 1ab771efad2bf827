"""Which language models a function may ask on Amazon Bedrock."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from infra.acknowledge import acknowledge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from infra.function import Function

# Profiles begin with the geography that they route within, models with their provider.
_PROFILE: Final = re.compile(r"(?:global|apac|us-gov|[a-z]{2})\.")


def let_ask(function: Function, names: Iterable[str]) -> None:
    """Let a function ask models or inference profiles, by id or ARN; without names nothing.

    A profile passes a call on to a model in a region of its choice, so the models behind it are
    allowed through that profile only. Reference: Amazon Bedrock, "Prerequisites for inference
    profiles".
    """
    stack = Stack.of(function)
    for name in names:
        arn = _arn(stack, name)
        function.add_to_role_policy(_statement(arn))
        if "inference-profile/" in arn:
            anywhere = f"arn:{stack.partition}:bedrock:*::foundation-model/*"
            function.add_to_role_policy(_statement(anywhere, through=arn))
            acknowledge(
                function,
                "IAM5[Resource::arn:<AWS::Partition>:bedrock:*::foundation-model/*]",
                "An inference profile chooses model and region by itself; a condition binds the"
                " statement to calls that come through that profile.",
            )


def _arn(stack: Stack, name: str) -> str:
    if name.startswith("arn:"):
        return name
    here = f"arn:{stack.partition}:bedrock:{stack.region}"
    if _PROFILE.match(name):
        return f"{here}:{stack.account}:inference-profile/{name}"
    return f"{here}::foundation-model/{name}"


def _statement(resource: str, through: str = "") -> iam.PolicyStatement:
    profile = {"StringEquals": {"bedrock:InferenceProfileArn": through}} if through else None
    return iam.PolicyStatement(
        actions=["bedrock:InvokeModel"], resources=[resource], conditions=profile
    )
