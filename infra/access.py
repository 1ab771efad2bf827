"""Who may do what with the table `access`: keys of the API, and secrets of webhooks.

    KEY#tenant      a key             minted by nobody here: with the credentials of an operator
    SECRET#tenant   a webhook's       put by http_api, read by notify

Both are told apart by the beginning of their partition key, which a policy can name
(`dynamodb:LeadingKeys`), as it can the attributes that an update touches. No answer of a write may
hand back what was in the row (`dynamodb:ReturnValues`): that would be reading it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import aws_iam as iam

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import aws_dynamodb as dynamodb

    from infra.function import Function

KEYS: Final = "KEY#*"
SECRETS: Final = "SECRET#*"

KEY_CHANGES: Final = ("pk", "sk", "revoked_at", "last_used_at")
"""Attributes of a key that the service may change, and those that name its row."""

_NOTHING_BACK: Final = {"StringEqualsIfExists": {"dynamodb:ReturnValues": "NONE"}}


class Access:
    """Grants, one capability each."""

    def __init__(self, table: dynamodb.Table) -> None:
        self._table = table

    def let_ask_for_keys(self, *functions: Function) -> None:
        """Let functions ask whether one key still opens anything."""
        for function in functions:
            self._let(function, ("dynamodb:GetItem",), KEYS)

    def let_look_after_keys(self, function: Function) -> None:
        """Let a function list keys, revoke them and note when they were used; and mint none."""
        self._let(function, ("dynamodb:GetItem", "dynamodb:Query"), KEYS)
        touched = {"ForAllValues:StringEquals": {"dynamodb:Attributes": list(KEY_CHANGES)}}
        self._let(function, ("dynamodb:UpdateItem",), KEYS, {**touched, **_NOTHING_BACK})

    def let_keep_secrets(self, function: Function) -> None:
        """Let a function put secrets of webhooks and replace them; and read none."""
        self._let(function, ("dynamodb:PutItem", "dynamodb:UpdateItem"), SECRETS, _NOTHING_BACK)

    def let_sign(self, function: Function) -> None:
        """Let a function read a webhook's secrets, to sign with them."""
        self._let(function, ("dynamodb:GetItem",), SECRETS)

    def _let(
        self,
        function: Function,
        actions: Sequence[str],
        partition: str,
        conditions: Mapping[str, object] | None = None,
    ) -> None:
        leading = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [partition]}}
        function.add_to_role_policy(
            iam.PolicyStatement(
                actions=list(actions),
                resources=[self._table.table_arn],
                conditions={**leading, **(conditions or {})},
            )
        )
