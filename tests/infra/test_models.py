from __future__ import annotations

import json
from typing import Any

import pytest

from tests.infra.conftest import Synthesise, Template, of_type
from tests.infra.test_permissions import listed, statements

Statement = dict[str, Any]


def asking(template: Template) -> dict[str, Statement]:
    """Return the statements that allow to ask a model, by policy and last part of a resource."""
    return {
        f"{name.split('ServiceRole')[0]} {text(resource).split(':')[-1]}": statement
        for name, statement in statements(template)
        if "bedrock" in json.dumps(statement["Action"])
        for resource in listed(statement["Resource"])
    }


def text(resource: Any) -> str:
    """Return an ARN whose unresolved parts are left out."""
    parts = resource["Fn::Join"][1] if isinstance(resource, dict) else [resource]
    return "".join(part for part in parts if isinstance(part, str))


def test_without_a_model_nobody_may_ask_one(template: Template) -> None:
    """And the function is told that there is none."""
    assert {} == asking(template)
    assert "" == model_id(template)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("meta.llama-v1", ["foundation-model/meta.llama-v1"]),
        ("zai.glm-4.7", ["foundation-model/zai.glm-4.7"]),
        ("eu.meta.llama-v1", ["inference-profile/eu.meta.llama-v1", "foundation-model/*"]),
        ("arn:aws:bedrock:eu-west-1:123456789012:provisioned-model/x", ["provisioned-model/x"]),
        ("a.one,b.two", ["foundation-model/a.one", "foundation-model/b.two"]),
    ],
)
def test_a_model_that_is_set_may_be_asked_by_the_worker_only(
    synthesise: Synthesise, model: str, expected: list[str]
) -> None:
    """Models behind an inference profile are reached through that profile alone."""
    template = synthesise(model=model)
    found = asking(template)

    assert {f"ExecuteStep {name}" for name in expected} == found.keys()
    assert model == model_id(template)
    for name, statement in found.items():
        assert "bedrock:InvokeModel" == statement["Action"]
        assert name.endswith("*") == ("Condition" in statement)


def model_id(template: Template) -> str:
    (worker,) = (
        f["Properties"]
        for f in of_type(template, "Lambda::Function").values()
        if f["Properties"]["Handler"] == "execute_step.handler"
    )
    found: str = worker["Environment"]["Variables"]["ONWARD_MODEL_ID"]
    return found
