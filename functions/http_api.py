"""Answer every request of the HTTP API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.compose_http import api
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Route one request; the log gets one line of it, without path, query string or payload."""
    with log(context) as line:
        return api().answer(event, context, line)
