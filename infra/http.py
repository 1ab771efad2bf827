"""The HTTP API: every request goes to `http_api`, which routes and authenticates by itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_logs as logs
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

from infra.acknowledge import acknowledge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_lambda as lambda_

TIMEOUT: Final = 29
"""Seconds: an HTTP API gives up on its integration after 30."""

_RATE: Final = 200
_BURST: Final = 400

_LOGGED: Final = {
    "time": "$context.requestTimeEpoch",
    "request_id": "$context.requestId",
    "ip": "$context.identity.sourceIp",
    "method": "$context.httpMethod",
    "path": "$context.path",
    "status": "$context.status",
    "bytes": "$context.responseLength",
    "milliseconds": "$context.responseLatency",
    "error": "$context.integrationErrorMessage",
}
"""Of each request. Never its query string or headers: they may hold a ticket or a key."""


_READABLE: Final = ("ETag", "Location", "Retry-After", "WWW-Authenticate")
_SENT: Final = (
    "authorization",
    "content-type",
    "idempotency-key",
    "if-none-match",
    "last-event-id",
    "traceparent",
    "tracestate",
)


class Http(Construct):
    """One route, one stage, throttled in requests a second for all callers together.

    Pages of `origins` may call it from a browser, with a key in a header: cookies are not used.
    """

    def __init__(
        self,
        scope: Construct,
        identifier: str,
        handler: lambda_.IFunction,
        origins: Sequence[str] = (),
    ) -> None:
        super().__init__(scope, identifier)
        self.api: Final = gateway.HttpApi(
            self,
            "Api",
            api_name=f"{Stack.of(self).stack_name}-http",
            create_default_stage=False,
            cors_preflight=_allowed(origins) if origins else None,
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
        self._log_access()
        acknowledge(
            self.api,
            "APIG4",
            "http_api authenticates requests itself, against stored hashes of API keys; an"
            " authorizer would cost a second invocation and could not say which role is missing.",
        )

    def _log_access(self) -> None:
        log = logs.LogGroup(
            self,
            "AccessLog",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=RemovalPolicy.DESTROY,
        )
        stage: gateway.CfnStage = self.stage.node.default_child
        stage.access_log_settings = gateway.CfnStage.AccessLogSettingsProperty(
            destination_arn=log.log_group_arn, format=json.dumps(_LOGGED)
        )


def _allowed(origins: Sequence[str]) -> gateway.CorsPreflightOptions:
    return gateway.CorsPreflightOptions(
        allow_origins=list(origins),
        allow_methods=[gateway.CorsHttpMethod.ANY],
        allow_headers=list(_SENT),
        expose_headers=list(_READABLE),
        max_age=Duration.hours(1),
    )
