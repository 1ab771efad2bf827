"""A value that holds `$ref` itself, as a JSON Schema does, can be written in a plan."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from onward.domain.cost import Sizes
from onward.domain.errors import InvalidPlan
from onward.domain.needs import mentioned, outputs_needed
from onward.domain.plan import compile_plan
from onward.domain.template import resolve, walk
from onward.sdk import literal, ref

from tests.unit.test_plan import SPECS
from tests.unit.test_template import JSON

SCHEMA: dict[str, Any] = {"properties": {"x": {"$ref": "#/definitions/x"}}, "definitions": {}}


def compiled_input(template: Any, tool: str = "read") -> Any:
    plan = compile_plan({"steps": [{"id": "a", "tool": tool, "input": template}]}, SPECS)
    return resolve(plan.steps[0].input, {"input": {"n": 7}, "steps": {}})


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ({"schema": literal(SCHEMA), "n": ref("input.n")}, {"schema": SCHEMA, "n": 7}),
        ({"schema": literal({"$ref": "steps.nobody.x"})}, {"schema": {"$ref": "steps.nobody.x"}}),
        ({"list": [literal({"$ref": 1}), ref("input.n")]}, {"list": [{"$ref": 1}, 7]}),
        ({"twice": literal(literal(1))}, {"twice": {"$literal": 1}}),
        ({"nothing": literal(None)}, {"nothing": None}),
        (literal({"schema": {"$ref": "#/a"}}), {"schema": {"$ref": "#/a"}}),
    ],
)
def test_a_literal_is_what_it_holds(template: Any, expected: Any) -> None:
    """Nothing in it is a reference, and nothing is needed for it."""
    assert expected == compiled_input(template)
    plan = compile_plan({"steps": [{"id": "a", "tool": "read", "input": template}]}, SPECS)
    assert not outputs_needed(plan.steps[0])
    assert "nobody" not in mentioned([{"input": template}])


@pytest.mark.parametrize(
    ("template", "pointer", "said"),
    [
        ({"x": {"$literal": 1, "y": 2}}, "/plan/steps/0/input/x", "$literal stands alone"),
        ({"x": {"$literal": 1, "$ref": "input.n"}}, "/plan/steps/0/input/x", "stands alone"),
        ({"x": {"$ref": "#/definitions/x"}}, "/plan/steps/0/input/x", "is not input."),
        (literal([1]), "/plan/steps/0/input/$literal", "input is an object"),
        (literal({"wrong": 1}), "/plan/steps/0/input/$literal/wrong", "has no input 'wrong'"),
    ],
)
def test_what_is_half_a_literal_is_a_fault(template: Any, pointer: str, said: str) -> None:
    """By its place."""
    with pytest.raises(InvalidPlan) as refused:
        compiled_input(template, "strict")
    found = {fault.pointer: fault.message for fault in refused.value.faults}
    assert said in found[pointer]


@given(JSON)
def test_every_value_can_be_written(value: Any) -> None:
    """Whatever it holds; it is measured as what it is."""
    template = literal(value)
    assert value == resolve(template, {})
    assert [] == list(walk(template))
    assert 0 <= Sizes({}).of(template)
