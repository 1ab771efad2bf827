"""The resolver: routes, authentication and errors, once for all calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from onward.app.http.problems import Answer, defect, known, problem
from onward.app.http.requests import Request
from onward.app.http.routes import ROUTES
from onward.app.keys import Doorkeeper
from onward.domain.errors import NotFound, RouteNotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_lambda_powertools.logging import Logger
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from onward.app.service import Service


class Api:
    """Answers every request of the gateway. One a process; one request at a time."""

    def __init__(self, service: Service) -> None:
        """Build the route table; nothing is read before the first request."""
        self._service = service
        self._doorkeeper = Doorkeeper(service.tenants, service.clock)
        self._line: Logger
        self._request_id = ""
        self._resolver = APIGatewayHttpResolver()
        self._resolver.not_found(_no_route)
        for method, rule, route in ROUTES:
            self._resolver.route(rule, method=method)(self._called(rule, route))

    def answer(self, event: dict[str, Any], context: LambdaContext, line: Logger) -> dict[str, Any]:
        """Return the gateway's response; every error becomes a problem document.

        `line` is the invocation's log line: it gets the route and the status, and never a path,
        query string, header or body.
        """
        self._service.once.begin(context)
        self._line, self._request_id = line, context.aws_request_id
        response: dict[str, Any] = self._resolver.resolve(event, context)
        line.append_keys(status=response["statusCode"])
        return response

    def _called(self, rule: str, route: Callable[..., Answer]) -> Callable[..., Response[str]]:
        def call(**path: str) -> Response[str]:
            line = self._line
            line.append_keys(route=rule, method=self._resolver.current_event.http_method)
            try:
                request = Request.of(self._resolver.current_event.raw_event)
                holder = self._doorkeeper.authenticate(request.headers.get("authorization"))
                line.append_keys(tenant=holder.tenant)
                answer = route(self._service, holder, request, **path)
            except Exception as error:  # noqa: BLE001 - here the outside ends
                return _response(self._failed(error, path.get("run_id")))
            if answer.document and "run_id" in answer.document:
                line.append_keys(run_id=answer.document["run_id"])
            return _response(answer)

        return call

    def _failed(self, error: Exception, run_id: str | None) -> Answer:
        told = known(error)
        if told is None:
            self._line.exception("defect", error=type(error).__name__)
            return defect(self._request_id)
        self._line.append_keys(code=told.code)
        return problem(told, None if isinstance(told, NotFound) else run_id)


def _no_route(_: Exception) -> Response[str]:
    return _response(problem(RouteNotFound("there is no such path, or not with this method")))


def _response(answer: Answer) -> Response[str]:
    body = ""
    if answer.document is not None:
        body = json.dumps(answer.document, ensure_ascii=False, separators=(",", ":"))
    return Response(
        status_code=answer.status,
        content_type=answer.content_type if body else None,
        body=body,
        headers=dict(answer.headers),
    )
