"""The resolver: routes, authentication and errors, once for all calls."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from onward.app.live.run_tickets import redeem_run_ticket
from onward.aws.tenants import Holder
from onward.domain.errors import MethodNotAllowed, NotFound, OnwardError, RouteNotFound
from onward.http.descriptions import ALL
from onward.http.event_stream import outlasting, wants_stream
from onward.http.problems import Answer, defect, known, problem
from onward.http.queries import NoQuery
from onward.http.requests import Request
from onward.http.routes import OPEN, ROUTES, TICKETED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aws_lambda_powertools.logging import Logger
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from onward.app.service import Service

_ALWAYS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""No answer of ours is a page: nothing in one is ever run, or shown inside of another."""

_NOBODY: Final = Holder("", "", frozenset())


class Api:
    """Answers every request of the gateway. One a process; one request at a time."""

    def __init__(self, service: Service) -> None:
        """Build the route table; nothing is read before the first request."""
        self._service = service
        self._line: Logger
        self._request_id = ""
        self._resolver = APIGatewayHttpResolver()
        self._resolver.not_found(self._no_route)
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
            request = Request.of(self._resolver.current_event.raw_event)
            try:
                holder = self._admitted(rule, request, path)
                if ALL[route.__name__].query is NoQuery:
                    request.asked(NoQuery)  # one that has a query reads it by itself
                answer = route(self._service, holder, request, **path)
            except Exception as error:  # noqa: BLE001 - here the outside ends
                failed = self._failed(error, path.get("run_id"))
                streams = rule in TICKETED and wants_stream(request)
                return _response(outlasting(failed) if streams else failed)
            if answer.document and "run_id" in answer.document:
                line.append_keys(run_id=answer.document["run_id"])
            return _response(answer)

        return call

    def _admitted(self, rule: str, request: Request, path: Mapping[str, str]) -> Holder:
        """Return who is calling, by key or ticket; a key goes over a ticket."""
        if rule in OPEN:
            return _NOBODY
        key, ticket = request.headers.get("authorization"), request.query.get("ticket")
        if rule in TICKETED and ticket is not None and key is None:
            holder = redeem_run_ticket(self._service, ticket, path["run_id"])
        else:
            holder = self._service.door.authenticate(key)
        self._line.append_keys(tenant=holder.tenant, key_id=holder.key_id)
        return holder

    def _failed(self, error: Exception, run_id: str | None) -> Answer:
        told = known(error)
        if told is None:
            self._line.exception("defect", error=type(error).__name__)
            return defect(self._request_id)
        self._line.append_keys(code=told.code)
        return problem(told, None if isinstance(told, NotFound) else run_id)

    def _no_route(self, _: Exception) -> Response[str]:
        event = self._resolver.current_event
        error: OnwardError = RouteNotFound("there is no such path")
        allowed = _methods(event.path)
        if allowed and event.http_method.upper() not in allowed:
            error = MethodNotAllowed(f"this path is for {' and '.join(allowed)}", allowed)
        self._line.append_keys(code=error.code)
        return _response(problem(error))


def _methods(path: str) -> tuple[str, ...]:
    """Return the methods of a path, none for one that does not exist."""
    shapes = ((method, re.sub(r"<\w+>", "[^/]+", re.escape(rule))) for method, rule, _ in ROUTES)
    return tuple(sorted(method for method, shape in shapes if re.fullmatch(shape, path)))


def _response(answer: Answer) -> Response[str]:
    body = answer.text
    if answer.document is not None:
        body = json.dumps(answer.document, ensure_ascii=False, separators=(",", ":"))
    return Response(
        status_code=answer.status,
        content_type=answer.content_type if body else None,
        body=body,
        headers=_ALWAYS | answer.headers,
    )
