"""The HTTP API: every request goes to `http_api`, which routes and authenticates by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

if TYPE_CHECKING:
    from aws_cdk import aws_lambda as lambda_

TIMEOUT: Final = 29
"""Seconds: an HTTP API gives up on its integration after 30."""

_RATE: Final = 200
_BURST: Final = 400


class Http(Construct):
    """One route, one stage, throttled in requests a second for all callers together."""

    def __init__(self, scope: Construct, identifier: str, handler: lambda_.IFunction) -> None:
        super().__init__(scope, identifier)
        self.api: Final = gateway.HttpApi(
            self,
            "Api",
            create_default_stage=False,
            default_integration=HttpLambdaIntegration("HttpApi", handler),
        )
        self.stage: Final = gateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=gateway.ThrottleSettings(rate_limit=_RATE, burst_limit=_BURST),
        )
