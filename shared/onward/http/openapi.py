"""The API's description: OpenAPI 3.1 out of the route table and the Pydantic models."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import TypeAdapter

from onward.documents.runs import Problem
from onward.http.descriptions import ALL
from onward.http.event_stream import EVENT_STREAM
from onward.http.operations import RUN_ID, Operation, Success
from onward.http.problems import PROBLEM_JSON, TITLES
from onward.http.routes import OPEN, ROUTES, TICKETED

if TYPE_CHECKING:
    from collections.abc import Iterator

_JSON: Final = "application/json"
_REFERENCE: Final = "#/components/schemas/{model}"
_KEY, _TICKET = "key", "ticket"
_ANY_TIME: Final = (429, 500, 503)
"""What any call may answer; 429 is the gateway's and in its own words."""

_PATHS: Final = {
    "run_id": RUN_ID,
    "step_id": "publish",
    "endpoint_id": "billing",
    "key_id": "key_0b9c2625dc21ef05f6ad",
    "ref": "upl_0b9c2625dc21ef05f6ad4ddf47c5f203",
}


@cache
def openapi() -> dict[str, Any]:
    """Return the document; it is the same for everybody."""
    paths: dict[str, dict[str, Any]] = {}
    for method, rule, route in ROUTES:
        path = re.sub(r"<(\w+)>", r"{\1}", rule)
        described = _described(rule, ALL[route.__name__])
        summary = (route.__doc__ or "").split("\n", 1)[0]
        named = {"operationId": route.__name__, "summary": summary}
        paths.setdefault(path, {})[method.lower()] = named | described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Onward",
            "version": _version(),
            "summary": "Carries multi-step AI tasks to their end.",
        },
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                _KEY: {"type": "http", "scheme": "bearer", "description": "An API key."},
                _TICKET: {
                    "type": "apiKey",
                    "in": "query",
                    "name": "ticket",
                    "description": "From `POST /tickets`, for one run's events.",
                },
            },
        },
    }


def _described(rule: str, operation: Operation) -> dict[str, Any]:
    names = re.findall(r"<(\w+)>", rule)
    problems = {*operation.problems, *_ANY_TIME} | (set() if rule in OPEN else {401})
    described: dict[str, Any] = {
        "parameters": [_in_path(name) for name in names] + _parameters(operation),
        "responses": {str(status): _success(s) for status, s in operation.answers.items()}
        | {str(status): _problem(status) for status in sorted(problems)},
        "security": [],
    }
    if rule not in OPEN:
        described["security"] = [{_KEY: []}] + ([{_TICKET: []}] if rule in TICKETED else [])
    if operation.bodies:
        described["requestBody"] = _body(operation)
    return described


def _in_path(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"},
        "example": _PATHS[name],
    }


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    """Return the query string's parameters as its document has them, and the headers."""
    members = operation.query.model_json_schema().get("properties", {})
    return [_in_query(name, member) for name, member in members.items() if name != _TICKET] + list(
        operation.headers
    )


def _in_query(name: str, member: dict[str, Any]) -> dict[str, Any]:
    either = [each for each in member.pop("anyOf", ()) if each != {"type": "null"}]
    schema = (either[0] if either else {}) | member
    text = schema.pop("description", "")
    schema = {key: value for key, value in schema.items() if key != "title"}
    if schema.get("default", "") is None:
        del schema["default"]
    return {"name": name, "in": "query", "description": text, "schema": schema}


def _body(operation: Operation) -> dict[str, Any]:
    either = [_refer(model) for model in operation.bodies]
    examples = {name: {"value": value} for name, value in operation.examples.items()}
    schema = either[0] if len(either) == 1 else {"oneOf": either}
    content = {_JSON: {"schema": schema, "examples": examples}}
    return {"required": operation.needs_body, "content": content}


def _success(success: Success) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": success.text}
    if success.headers:
        answer["headers"] = {
            name: {"description": text, "required": True, "schema": {"type": "string"}}
            for name, text in success.headers.items()
        }
    if success.document is not None:
        content: dict[str, Any] = {"schema": _refer(success.document)}
        if success.example is not None:
            content["example"] = success.example
        answer["content"] = {_JSON: content}
    if success.frame is not None:
        answer["content"][EVENT_STREAM] = {"schema": _refer(success.frame)}
    return answer


def _problem(status: int) -> dict[str, Any]:
    if status not in TITLES:
        return {"description": "Too many requests; the gateway's own answer."}
    return {
        "description": TITLES[status],
        "content": {PROBLEM_JSON: {"schema": _refer(Problem)}},
    }


def _refer(document: Any) -> dict[str, Any]:
    """Return a reference to a document's schema, or to one of several."""
    either = [{"$ref": _REFERENCE.format(model=each.__name__)} for each in _each(document)]
    return either[0] if len(either) == 1 else {"anyOf": either}


def _each(document: Any) -> tuple[Any, ...]:
    return get_args(document) if isinstance(document, UnionType) else (document,)


def _schemas() -> dict[str, Any]:
    """Return the schemas of all documents, as one gives them: what has a default may be absent."""
    named = {document.__name__: document for document in _documents()}
    _, made = TypeAdapter.json_schemas(
        [(name, "validation", TypeAdapter(document)) for name, document in sorted(named.items())],
        ref_template=_REFERENCE,
    )
    schemas: dict[str, Any] = made["$defs"]
    return schemas


def _documents() -> Iterator[Any]:
    yield Problem
    for operation in ALL.values():
        yield from operation.bodies
        for success in operation.answers.values():
            for document in filter(None, (success.document, success.frame)):
                yield from _each(document)


def _version() -> str:
    try:
        return version("onward")
    except PackageNotFoundError:
        return "0"  # in a function's archive there is no metadata
