"""API Gateway's HTTP API in front of a handler, as a WSGI application."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from tests.store.caller import Context, Handler

Start = Callable[[str, list[tuple[str, str]]], object]


def gateway(handler: Handler) -> Callable[[dict[str, Any], Start], Iterable[bytes]]:
    """Turn requests into events of payload format 2.0; every body goes in as base64."""

    def application(environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        answer = handler(
            {
                "version": "2.0",
                "routeKey": "$default",
                "rawPath": path,
                "rawQueryString": environ.get("QUERY_STRING", ""),
                "headers": _headers(environ),
                "queryStringParameters": _query(environ.get("QUERY_STRING", "")),
                "requestContext": {
                    "http": {"method": environ["REQUEST_METHOD"], "path": path},
                    "stage": "$default",
                    "requestId": "gateway-1",
                },
                "body": base64.b64encode(body).decode() if body else None,
                "isBase64Encoded": bool(body),
            },
            Context(),
        )
        status = HTTPStatus(answer["statusCode"])
        start(f"{status.value} {status.phrase}", list(answer["headers"].items()))
        return [answer.get("body", "").encode()]

    return application


def _headers(environ: dict[str, Any]) -> dict[str, str]:
    sent = {
        name.removeprefix("HTTP_").replace("_", "-").lower(): value
        for name, value in environ.items()
        if name.startswith("HTTP_")
    }
    if environ.get("CONTENT_TYPE"):
        sent["content-type"] = environ["CONTENT_TYPE"]
    return sent


def _query(text: str) -> dict[str, str]:
    """Join a parameter that is given twice by commas, as the gateway does."""
    joined: dict[str, str] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined
