"""Sockets: the WebSocket API, and the queue that orders what is sent to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aws_cdk import Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from aws_cdk.aws_apigatewayv2_authorizers import WebSocketLambdaAuthorizer
from aws_cdk.aws_apigatewayv2_integrations import WebSocketLambdaIntegration
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.queue import make_queue

if TYPE_CHECKING:
    from infra.function import Function
    from infra.state import State

PUSH_TIMEOUT: Final = 10
"""Seconds `push_events` may take; one that died holds its run's frames back six times as long."""

_PUSH_AT_ONCE: Final = 10

MESSAGE_TIMEOUT: Final = 29
"""Seconds: a WebSocket API gives up on its integration after 29."""

STAGE: Final = "live"
ACTIONS: Final = ("subscribe", "unsubscribe", "ack", "ping")

_RATE: Final = 500
_BURST: Final = 1000
_RECEIVES: Final = 10
"""A refused invocation counts as one; failed posts are counted on each subscription."""


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
        self.dead: Final = make_queue(self, "LiveDead", fifo=True)
        self.queue: Final = make_queue(
            self,
            "Live",
            fifo=True,
            consumer_seconds=PUSH_TIMEOUT,
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=_RECEIVES),
        )

    def consume(self, pusher: Function) -> None:
        """Hand the queue to `push_events`, one run an invocation: none waits for another's sockets.

        What it has no time for it queues anew.
        """
        pusher.add_event_source(
            sources.SqsEventSource(
                self.queue,
                batch_size=1,
                max_concurrency=_PUSH_AT_ONCE,
                report_batch_item_failures=True,
            )
        )
        self.queue.grant_send_messages(pusher)


class Live(Construct):
    """One API, one stage, throttled in messages a second for all sockets together.

    The API and its stage stand before the functions do, which are told the stage's address; the
    routes are added when there are functions to lead to.
    """

    def __init__(self, scope: Construct, identifier: str) -> None:
        super().__init__(scope, identifier)
        self.api: Final = gateway.WebSocketApi(
            self,
            "Api",
            api_name=f"{Stack.of(self).stack_name}-sockets",
            route_selection_expression="$request.body.action",
        )
        self.stage: Final = gateway.WebSocketStage(
            self,
            "Stage",
            web_socket_api=self.api,
            stage_name=STAGE,
            auto_deploy=True,
            throttle=gateway.ThrottleSettings(rate_limit=_RATE, burst_limit=_BURST),
        )
        acknowledge(
            self.stage,
            "APIG1",
            "Access logs of a WebSocket stage need a role in the account's settings, which are not"
            " one stack's to change; the functions behind the routes log a line a message.",
        )

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
        """Let functions send frames; nobody may ask about sockets."""
        for function in functions:
            self._let(function, "POST")

    def let_hang_up(self, function: Function) -> None:
        """Let a function close sockets."""
        self._let(function, "DELETE")

    def _let(self, function: Function, method: str) -> None:
        arn = Stack.of(self).format_arn(
            service="execute-api",
            resource=self.api.api_id,
            resource_name=f"{STAGE}/{method}/@connections/*",
        )
        iam.Grant.add_to_principal(
            grantee=function, actions=["execute-api:ManageConnections"], resource_arns=[arn]
        )
        acknowledge(
            function,
            f"IAM5[Resource::{_written(self, method)}]",
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
    state.let_follow(pusher, "Get", "Query", "Update", "Delete")


def _written(live: Live, method: str) -> str:
    """Return how a finding writes the ARN of the stage's sockets."""
    api = Stack.of(live).get_logical_id(live.api.node.default_child)
    parts = ("arn", "<AWS::Partition>", "execute-api", "<AWS::Region>", "<AWS::AccountId>")
    return f"{':'.join(parts)}:<{api}>/{STAGE}/{method}/@connections/*"
