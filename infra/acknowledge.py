"""Findings of cdk-nag that stay, each with its reason beside what it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aws_cdk import Acknowledgment, Stack, Validations

if TYPE_CHECKING:
    from constructs import IConstruct

_PACK: Final = "AwsSolutions"


def acknowledge(construct: Any, rule: str, reason: str) -> None:
    """Accept a finding of a rule on a construct; one of its permissions, on its role.

    The rule as AwsSolutions numbers it, with the one finding in brackets where it has several.
    """
    about = construct.role if rule.startswith("IAM") else construct
    accepted = Acknowledgment(id=f"{_PACK}::{_PACK}-{rule}", reason=reason)
    Validations.of(about).acknowledge(accepted)


def logical_id(construct: IConstruct) -> str:
    """Return the name that findings call a resource by."""
    return str(Stack.of(construct).get_logical_id(construct.node.default_child))
