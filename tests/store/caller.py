"""A client of the real handler: events of API Gateway's HTTP API (payload 2.0) in and out."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from onward.sdk import Step as WorkflowStep
from onward.sdk import StepContext, Workflow, ref, tool
from onward.sdk.catalogue import Catalogue
from pydantic import BaseModel, Field

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


@dataclass(frozen=True)
class Context:
    """What Lambda tells an invocation about itself."""

    function_name: str = "http_api"
    aws_request_id: str = "request-1"
    seconds: float = 29.0

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1000)


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: Any


@dataclass
class Caller:
    handler: Handler
    key: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, headers: dict[str, str] | None = None, **query: object) -> Reply:
        return self.send("GET", path, query=query, headers=headers)

    def post(self, path: str, body: object, headers: dict[str, str] | None = None) -> Reply:
        return self.send("POST", path, json.dumps(body).encode(), headers=headers)

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        query: dict[str, object] | None = None,
        headers: dict[str, str] | None = None,
        as_base64: bool = False,
    ) -> Reply:
        given = self.headers | (headers or {})
        if self.key is not None:
            given = {"authorization": f"Bearer {self.key}"} | given
        text = None
        if body is not None:
            text = base64.b64encode(body).decode() if as_base64 else body.decode()
        parameters = {name: str(value) for name, value in (query or {}).items()}
        answer = self.handler(
            {
                "version": "2.0",
                "routeKey": "$default",
                "rawPath": path,
                "rawQueryString": urlencode(parameters),
                "headers": given | {"content-type": "application/json"},
                "queryStringParameters": parameters,
                "requestContext": {
                    "http": {"method": method, "path": path},
                    "stage": "$default",
                    "requestId": "gateway-1",
                },
                "body": text,
                "isBase64Encoded": as_base64,
            },
            Context(),
        )
        got = {name.lower(): value for name, value in answer["headers"].items()}
        said = answer.get("body") or "null"
        if got.get("content-type") == "text/event-stream":
            return Reply(answer["statusCode"], got, said)
        return Reply(answer["statusCode"], got, json.loads(said))


class Word(BaseModel):
    text: str = Field(min_length=1)
    times: int = Field(default=1, ge=1)


class Said(BaseModel):
    text: str


@tool(effect="read")
def say(ctx: StepContext, request: Word) -> Said:
    return Said(text=request.text * request.times)


@tool(effect="write", idempotency="none")
def post(ctx: StepContext, request: Word) -> Said:
    return Said(text=request.text)


def catalogue() -> Catalogue:
    """Two tools and the workflow `speak` of two steps."""
    step = {"text": ref("input.text")}
    speak = Workflow(
        "speak",
        version=1,
        input=Word,
        steps=[
            WorkflowStep("first", say, step),
            WorkflowStep("last", post, {"text": ref("steps.first.text")}),
        ],
    )
    return Catalogue({"say": say, "post": post}, {"speak": speak})


def plan(*steps: dict[str, Any]) -> dict[str, Any]:
    """The body of a submission of a plan; each step says its own name."""
    return {"plan": {"steps": [{"tool": "say", "input": {"text": "x"}} | step for step in steps]}}
