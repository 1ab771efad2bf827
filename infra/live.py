"""Sockets: the WebSocket API, and the queue that orders what is sent to them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from aws_cdk.aws_apigatewayv2_authorizers import WebSocketLambdaAuthorizer
from aws_cdk.aws_apigatewayv2_integrations import WebSocketLambdaIntegration
from constructs import Construct

from infra.acknowledge import acknowledge

if TYPE_CHECKING:
    from infra.function import Function
    from infra.state import State

PUSH_TIMEOUT: Final = 20
"""Seconds `push_events` may take; one that died holds its run's frames back six times as long."""

MESSAGE_TIMEOUT: Final = 29
"""Seconds: a WebSocket API gives up on its integration after 29."""

STAGE: Final = "live"
ACTIONS: Final = ("subscribe", "unsubscribe", "ack", "ping")

_RATE: Final = 500
_BURST: Final = 1000
_RECEIVES: Final = 5

_LOGGED: Final = {
    "time": "$context.requestTimeEpoch",
    "request_id": "$context.requestId",
    "ip": "$context.identity.sourceIp",
    "connection": "$context.connectionId",
    "event": "$context.eventType",
    "status": "$context.status",
    "error": "$context.integrationErrorMessage",
}
"""Of each message. The query string holds a ticket, and is no variable of this format anyway."""


@dataclass(frozen=True, slots=True)
class Handlers:
    """The functions behind the routes."""

    authorize: Function
    connect: Function
    message: Function
    disconnect: Function


class Wakes(Construct):
    """The queue of runs whose subscribers lack something, in order by run; and its dead letters.

    The id that a message may come under once is the publisher's to choose: a catch-up has a
    fresh one, while content would make every wake-up of a run the same.
    """

    def __init__(self, scope: Construct, identifier: str) -> None:
        super().__init__(scope, identifier)
        self.dead: Final = _fifo(self, "LiveDead")
        self.queue: Final = _fifo(
            self,
            "Live",
            visibility_timeout=Duration.seconds(6 * PUSH_TIMEOUT),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=_RECEIVES),
        )

    def consume(self, pusher: Function) -> None:
        """Hand the queue to `push_events`; one batch at a time holds a run."""
        pusher.add_event_source(
            sources.SqsEventSource(
                self.queue, batch_size=10, max_concurrency=10, report_batch_item_failures=True
            )
        )


class Live(Construct):
    """One API, one stage, throttled in messages a second for all sockets together.

    The API and its stage stand before the functions do, which are told the stage's address; the
    routes are added when there are functions to lead to.
    """

    def __init__(self, scope: Construct, identifier: str) -> None:
        super().__init__(scope, identifier)
        self.api: Final = gateway.WebSocketApi(
            self, "Api", route_selection_expression="$request.body.action"
        )
        self.stage: Final = gateway.WebSocketStage(
            self,
            "Stage",
            web_socket_api=self.api,
            stage_name=STAGE,
            auto_deploy=True,
            throttle=gateway.ThrottleSettings(rate_limit=_RATE, burst_limit=_BURST),
        )
        self._log_access()

    def route(self, handlers: Handlers) -> None:
        """Lead to the functions; only `$connect` can be authorised, and speaks for the rest."""
        self._add(
            "$connect",
            handlers.connect,
            WebSocketLambdaAuthorizer(
                "Tickets",
                handlers.authorize,
                identity_source=["route.request.querystring.ticket"],
            ),
        )
        self._add("$disconnect", handlers.disconnect)
        for action in (*ACTIONS, "$default"):
            self._add(action, handlers.message)

    def let_post(self, *functions: Function) -> None:
        """Let functions send frames; not close sockets, nor ask about them."""
        arn = Stack.of(self).format_arn(
            service="execute-api",
            resource=self.api.api_id,
            resource_name=f"{STAGE}/POST/@connections/*",
        )
        for function in functions:
            iam.Grant.add_to_principal(
                grantee=function, actions=["execute-api:ManageConnections"], resource_arns=[arn]
            )
            acknowledge(
                function,
                f"IAM5[Resource::{_written(self)}]",
                "A socket has its id from API Gateway when it opens; the stage and the method are"
                " named.",
            )

    def _add(
        self,
        key: str,
        handler: Function,
        authorizer: WebSocketLambdaAuthorizer | None = None,
    ) -> None:
        route = self.api.add_route(
            key,
            integration=WebSocketLambdaIntegration(f"{handler.node.id}For{key}", handler),
            authorizer=authorizer,
        )
        if authorizer is None:
            acknowledge(
                route,
                "APIG4",
                "A WebSocket API authorises $connect and nothing else; what the authorizer said"
                " comes along with every message of the socket.",
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


def let_follow_runs(state: State, handlers: Handlers, pusher: Function) -> None:
    """Let each function do with runs and cursors what it does, and nothing else.

    Whoever opens sockets cannot read who listens; whoever pushes cannot subscribe anybody.
    """
    for reader in (handlers.message, pusher):
        state.let_read_runs(reader)
    state.let_fetch(pusher)
    state.let_follow(handlers.authorize, "Delete")
    state.let_follow(handlers.connect, "Put")
    state.let_follow(handlers.disconnect, "Delete")
    state.let_follow(handlers.message, "Get", "Put", "Update", "Delete")
    state.let_follow(pusher, "Query", "Update", "Delete")


def _written(live: Live) -> str:
    """Return how a finding writes the ARN of the stage's sockets."""
    api = Stack.of(live).get_logical_id(live.api.node.default_child)
    parts = ("arn", "<AWS::Partition>", "execute-api", "<AWS::Region>", "<AWS::AccountId>")
    return f"{':'.join(parts)}:<{api}>/{STAGE}/POST/@connections/*"


def _fifo(
    scope: Construct,
    identifier: str,
    *,
    visibility_timeout: Duration | None = None,
    dead_letter_queue: sqs.DeadLetterQueue | None = None,
) -> sqs.Queue:
    return sqs.Queue(
        scope,
        identifier,
        fifo=True,
        # Order, throughput and the memory for ids each by group, or a burst of runs is throttled.
        deduplication_scope=sqs.DeduplicationScope.MESSAGE_GROUP,
        fifo_throughput_limit=sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
        enforce_ssl=True,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        retention_period=Duration.days(14),
        visibility_timeout=visibility_timeout,
        dead_letter_queue=dead_letter_queue,
    )
