"""What a plan can cost is known, and refused, before anything of it is stored."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from onward.domain.cost import plan_faults, size
from onward.domain.errors import Fault
from onward.domain.limits import MAX_INPUT_BYTES, RunLimits
from onward.domain.model import Policy
from onward.domain.plan import ToolSpec, compile_plan

TOOLS = {"echo": ToolSpec("echo", "m:echo", Policy())}


def faults(steps: list[dict[str, Any]], value: Any, limits: RunLimits) -> list[Fault]:
    plan = compile_plan({"steps": steps}, TOOLS)
    return plan_faults(plan.steps, value, limits, "/plan")


def fan(number: int, over: str = "input.n", **given: Any) -> dict[str, Any]:
    return {"id": f"s{number}", "tool": "echo", "for_each": {"$ref": over}, "input": given}


@pytest.mark.parametrize("items", [10_000, 30_000])
@pytest.mark.parametrize("value", [1, {"$ref": "item"}], ids=["nothing of it", "each item"])
def test_millions_of_attempts_are_refused_within_a_second(items: int, value: Any) -> None:
    """Of 59 and 100 KB: five hundred fan-outs over one long list, which is measured once."""
    began = time.process_time()
    found = faults([fan(n, value=value) for n in range(500)], {"n": [0] * items}, RunLimits())
    assert ("/plan/steps", True) == (found[0].pointer, str(500 * items) in found[0].message)
    assert "max_children" in found[0].message
    assert time.process_time() - began < 1


def test_a_text_that_stands_three_thousand_times_is_refused_unwritten() -> None:
    """Of 109 KB: 156 MB, for one attempt."""
    step = {"id": "one", "tool": "echo", "input": {"value": [{"$ref": "input.x"}] * 3_000}}
    began = time.process_time()
    (found,) = faults([step], {"x": "x" * 52_000}, RunLimits())
    assert "/plan/steps/0/input" == found.pointer
    assert str(MAX_INPUT_BYTES) in found.message
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("steps", "limits", "named"),
    [
        ([fan(1), fan(2)], RunLimits(children=19), "max_children"),
        ([fan(1, value={"$ref": "input.x"})], RunLimits(bytes=999), "max_input_bytes"),
        ([fan(1, value={"$ref": "item"})], RunLimits(bytes=60), "max_input_bytes"),
        ([fan(1), fan(2)], RunLimits(steps=1), "max_steps"),
    ],
)
def test_each_limit_is_named(steps: list[Any], limits: RunLimits, named: str) -> None:
    """And one less of everything is taken."""
    value = {"n": list(range(10)), "x": "x" * 100}
    (found,) = faults(steps, value, limits)
    assert ("/plan/steps", True) == (found.pointer, named in found.message)
    roomy = replace(limits, steps=500, children=20, bytes=2_000)
    assert [] == faults(steps, value, roomy)


def test_what_only_a_step_will_tell_is_left_to_the_run() -> None:
    """Neither its length nor its size is known yet; what is no list fails when it gets there."""
    steps = [
        {"id": "a", "tool": "echo", "input": {}},
        fan(1, over="steps.a.n", value={"$ref": "steps.a.x"}),
        fan(2, over="input.x"),
        fan(3, over="input.missing"),
    ]
    assert [] == faults(steps, {"x": "text"}, RunLimits(children=0, bytes=200))


def test_sizes_are_those_of_compact_json() -> None:
    for value in (None, True, "ä", [1, 2.5, {"a": []}], {"b": "x" * 100}):
        assert size(value) <= len(str(value).encode()) + 10
