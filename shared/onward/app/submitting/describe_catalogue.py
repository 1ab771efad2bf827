"""The tools and workflows of a deployment, as clients and models see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.documents.operating import ToolList, ToolView, WorkflowList, WorkflowView
    from onward.sdk.catalogue import Catalogue
    from onward.sdk.tools import Tool
    from onward.sdk.workflow import Step, Workflow

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def describe_tools(catalogue: Catalogue) -> ToolList:
    """Return every tool by name, with the JSON Schemas of what it takes and gives."""
    return {"tools": [_tool(tool) for _, tool in sorted(catalogue.tools.items())]}


def describe_workflows(catalogue: Catalogue) -> WorkflowList:
    """Return every workflow by name, with the plan that its runs begin with."""
    return {"workflows": [_workflow(flow) for _, flow in sorted(catalogue.workflows.items())]}


def _tool(tool: Tool) -> ToolView:
    policy = tool.policy
    return {
        "name": tool.name,
        "description": (tool.function.__doc__ or "").strip(),
        "effect": policy.effect,
        "idempotency": policy.idempotency,
        "key_ttl": policy.key_ttl,
        "settles_after": policy.settles_after if policy.writes else None,
        "timeout": policy.timeout,
        "retry": {
            "attempts": policy.attempts,
            "base": policy.backoff_base,
            "cap": policy.backoff_cap,
        },
        "expands": tool.expands,
        "input_schema": _taken(tool.input_model),
        "output_schema": _given(tool),
    }


def _workflow(flow: Workflow) -> WorkflowView:
    last = flow.steps[-1]
    output = _awaited(last) if last.tool is None else _given(last.tool)
    if last.for_each is not None:
        output = {"$schema": _DIALECT, "type": "array", "items": output}
    return {
        "name": flow.name,
        "version": flow.version,
        "input_schema": _taken(flow.input),
        "output_schema": output,
        "plan": flow.document(),
    }


def _awaited(step: Step) -> dict[str, Any]:
    """Return what a step without a tool gives: its signal's payload, or null where it slept."""
    if step.wait_for is None:
        return {"$schema": _DIALECT, "type": "null"}
    if step.wait_for.payload is None:
        return {"$schema": _DIALECT}
    return _schema(TypeAdapter(step.wait_for.payload), "validation")


def _taken(model: type[BaseModel]) -> dict[str, Any]:
    return _schema(TypeAdapter(model), "validation")


def _given(tool: Tool) -> dict[str, Any]:
    return _schema(tool.output, "serialization")


def _schema(adapter: TypeAdapter[Any], mode: Any) -> dict[str, Any]:
    """Return a type's schema; one that JSON Schema cannot express permits anything."""
    try:
        schema: Mapping[str, Any] = adapter.json_schema(mode=mode)
    except (PydanticInvalidForJsonSchema, PydanticUserError):
        schema = {}
    return {"$schema": _DIALECT, **schema}
