from __future__ import annotations

import json
from typing import Annotated, Any

import jsonschema_rs
import pytest
from onward.app.service import Service
from onward.app.submitting.describe_catalogue import describe_tools, describe_workflows
from onward.http.openapi import openapi
from onward.http.routes import ROUTES
from onward.sdk import Step, StepContext, Workflow, ref, tool
from onward.sdk.catalogue import Catalogue, load_catalogue
from pydantic import BaseModel, PlainValidator

from tests.store.caller import Caller, Said, Word
from tests.store.conftest import caller


def test_a_tool_tells_all_that_its_author_declared(acme: Caller) -> None:
    """What it takes and gives as JSON Schema, what it does to the world, how it is tried again."""
    say = {found["name"]: found for found in acme.get("/tools").body["tools"]}["say"]
    text = {"text": {"minLength": 1, "title": "Text", "type": "string"}}
    assert text.items() <= say["input_schema"]["properties"].items()
    assert ["text"] == say["output_schema"]["required"]
    assert {"attempts": 4, "base": 1.0, "cap": 60.0} == say["retry"]
    assert ("read", None, None, 60, False) == (
        say["effect"],
        say["idempotency"],
        say["settles_after"],
        say["timeout"],
        say["expands"],
    )


def test_a_workflow_tells_what_it_takes_and_does(acme: Caller) -> None:
    """Version, schemas, and the plan as `POST /runs` would take it."""
    (speak,) = acme.get("/workflows").body["workflows"]
    assert ("speak", 1, ["text"]) == (
        speak["name"],
        speak["version"],
        speak["output_schema"]["required"],
    )
    assert 202 == acme.post("/runs", {"plan": speak["plan"], "input": {"text": "x"}}).status


def test_every_tool_and_workflow_that_ships_is_described() -> None:
    """With schemas that are schemas."""
    catalogue = load_catalogue(drills=True)
    tools = describe_tools(catalogue)["tools"]
    workflows = describe_workflows(catalogue)["workflows"]
    assert sorted(catalogue.tools) == [found["name"] for found in tools]
    assert sorted(catalogue.workflows) == [found["name"] for found in workflows]
    for found in [*tools, *workflows]:
        for schema in (found["input_schema"], found["output_schema"]):
            jsonschema_rs.validator_for(schema)


class Request(BaseModel):
    texts: list[str]


@tool(effect="read")
def count(ctx: StepContext, request: Word) -> Said:
    return Said(text=request.text)


class Odd(str):
    __slots__ = ()


@tool(effect="read")
def odd(ctx: StepContext, request: Word) -> Annotated[Odd, PlainValidator(Odd)]:
    return Odd(request.text)


def test_the_result_of_a_fan_out_is_a_list() -> None:
    """Of what its tool gives."""
    step = Step("all", count, {"text": ref("item")}, for_each=ref("input.texts"))
    each = Workflow("each", version=1, input=Request, steps=[step])
    (told,) = describe_workflows(Catalogue({}, {"each": each}))["workflows"]
    output = told["output_schema"]
    assert ("array", ["text"]) == (output["type"], output["items"]["required"])


def test_a_type_beyond_json_schema_hides_no_other_tool() -> None:
    """Its schema permits anything."""
    told, other = describe_tools(Catalogue({"odd": odd, "zoo": count}, {}))["tools"]
    assert ["$schema"] == list(told["output_schema"])
    assert ["text"] == other["output_schema"]["required"]


def test_the_description_covers_every_route(service: Service) -> None:
    """And is there for anybody, with or without a key."""
    reply = caller(service, None).get("/openapi.json")
    assert 200 == reply.status
    assert json.loads(json.dumps(openapi())) == reply.body
    described = {
        (method.upper(), path.replace("{", "<").replace("}", ">"))
        for path, operations in reply.body["paths"].items()
        for method in operations
    }
    assert {(method, rule) for method, rule, _ in ROUTES} == described


def test_the_description_is_openapi() -> None:
    """Of version 3.1, and every example fits what it is an example of."""
    document = openapi()
    assert "3.1.0" == document["openapi"]
    for operations in document["paths"].values():
        for operation in operations.values():
            for part in [operation.get("requestBody", {}), *operation["responses"].values()]:
                for content in part.get("content", {}).values():
                    check(document, content)


def check(document: dict[str, Any], content: dict[str, Any]) -> None:
    schema = content["schema"] | {"components": document["components"]}
    examples = [example["value"] for example in content.get("examples", {}).values()]
    examples += [content["example"]] if "example" in content else []
    for example in examples:
        jsonschema_rs.validator_for(schema).validate(example)


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ('"1.0"', 304),
        ('W/"1.0"', 304),
        ('"0.0", W/"1.0"', 304),
        ('"0.0","1.0"', 304),
        ("*", 304),
        (" * ", 304),
        ('"0.0"', 200),
        ("1.0", 200),
        ('"0,*,1"', 200),
        ('"0.0", *', 200),
        ("", 200),
    ],
)
def test_if_none_match_is_a_list_of_tags(acme: Caller, header: str, status: int) -> None:
    """RFC 9110, 13.1.2: weak comparison, and a star that stands alone."""
    run_id = acme.post("/runs", {"workflow": "speak", "input": {"text": "x"}}).body["run_id"]
    reply = acme.get(f"/runs/{run_id}", {"If-None-Match": header})
    assert (status, '"1.0"') == (reply.status, reply.headers["etag"])
