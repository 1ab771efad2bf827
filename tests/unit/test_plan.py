"""Plans: every fault named at once, with a pointer, and nothing that follows from another."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onward.domain.errors import InvalidPlan
from onward.domain.limits import MAX_CYCLES
from onward.domain.model import Policy
from onward.domain.needs import outputs_needed
from onward.domain.plan import ToolSpec, compile_plan

from tests.builders import TOOLS, compiled, ref, step

if TYPE_CHECKING:
    from onward.domain.model import Json

STRICT = ToolSpec("strict", "m:f", Policy(), frozenset({"file"}), frozenset({"file", "sheet"}))
BARE = ToolSpec("bare", "m:g", Policy(effect="write"))
SPECS = TOOLS | {"strict": STRICT, "bare": BARE}


def faults(*steps: Any, **keys: Any) -> dict[str, str]:
    """The faults of a plan by pointer; a pointer is named once."""
    return faults_of({"steps": list(steps), **keys})


def faults_of(document: Any) -> dict[str, str]:
    """The faults of a plan document."""
    with pytest.raises(InvalidPlan) as refused:
        compile_plan(document, SPECS)
    found = refused.value.faults
    assert len({(fault.pointer, fault.message) for fault in found}) == len(found)
    return {fault.pointer: fault.message for fault in found}


@pytest.mark.parametrize(
    ("wrong", "pointer", "says"),
    [
        (step("a", "nope"), "/tool", "unknown tool 'nope'"),
        ({"id": "a"}, "/tool", "unknown tool None"),
        ({"id": "a", "tool": ["read"]}, "/tool", "unknown tool ['read']"),
        (step("a", "bare"), "/tool", "write tool 'bare' has no recovery policy"),
        (step("A b"), "/id", "a step id matches"),
        (step("a" * 65), "/id", "a step id matches"),
        ({"id": 7, "tool": "read"}, "/id", "a step id matches"),
        ({"id": ["a"], "tool": "read"}, "/id", "a step id matches"),
        ({"tool": "read"}, "/id", "a step id matches"),
        (step("a", retries=3), "/retries", "'retries' is not a key of a step"),
        (step("a") | {"x/y~": 3}, "/x~1y~0", "is not a key of a step"),
        (step("a", runs_on="gpu"), "/runs_on", "'runs_on' is not available yet"),
        (step("a", timeout=0), "/timeout", "whole seconds from 1 to 840"),
        (step("a", timeout=841), "/timeout", "whole seconds"),
        (step("a", timeout=1.5), "/timeout", "whole seconds"),
        (step("a", timeout=True), "/timeout", "whole seconds"),
        (step("a", timeout="60"), "/timeout", "whole seconds"),
        (step("a", timeout=10**5000), "/timeout", "whole seconds"),
        (step("a", optional="yes"), "/optional", "true or false"),
        (step("a", after="b"), "/after", "a list of step ids"),
        (step("a", after=[1]), "/after", "a list of step ids"),
        (step("a", after=["b"]), "/after/0", "there is no step 'b'"),
        (step("a", for_each=[1]), "/for_each", "one reference"),
        (step("a", for_each={}, input={"x": ref("item")}), "/for_each", "one reference"),
        (step("a", for_each={**ref("bad"), "x": 1}), "/for_each", "one reference"),
        (step("a", for_each=ref("item")), "/for_each", "only in the input of a for_each step"),
        (step("a", for_each=ref("steps.b")), "/for_each", "there is no step 'b'"),
        (step("a", input=[1]), "/input", "input is an object"),
        (step("a", input={"x": ref("item.y")}), "/input/x", "only in the input of a for_each"),
        (step("a", input={"x": [ref("steps.b.y")]}), "/input/x/0", "there is no step 'b'"),
        (step("a", input={"x": ref("stepz.b")}), "/input/x", "'stepz.b' is not input"),
        (step("a", input={"x": {"$ref": ["a"]}}), "/input/x", "is not input"),
        (step("a", input={"x": {"$ref": "input", "y": 1}}), "/input/x", "is not input"),
        (step("a", "strict"), "/input", "tool 'strict' needs the input 'file'"),
        (step("a", "strict", input={"file": 1, "s/t": 2}), "/input/s~1t", "has no input 's/t'"),
    ],
)
def test_one_fault_is_named_once(wrong: Json, pointer: str, says: str) -> None:
    """With a pointer to it and no knock-on faults."""
    found = faults(wrong)
    assert [f"/plan/steps/0{pointer}"] == list(found)
    assert says in found[f"/plan/steps/0{pointer}"]


@pytest.mark.parametrize("document", [None, 3, "x", [], {}, {"steps": None}, {"steps": {}}])
def test_what_is_no_plan_at_all_is_one_fault(document: Json) -> None:
    """Nothing is said of steps that are not there."""
    assert {"/plan": 'a plan is an object with a list "steps"'} == faults_of(document)


def test_all_faults_of_a_plan_are_named_at_once() -> None:
    """An unknown tool, a missing reference, a duplicate id with its own faults, a key."""
    found = faults(
        step("a", "nope"),
        step("b", input={"x": ref("steps.missing.y")}),
        step("b", after=["gone"]),
        7,
        name="x",
    )
    assert {
        "/plan/name": "unknown key 'name'",
        "/plan/steps/0/tool": "unknown tool 'nope'",
        "/plan/steps/1/input/x": "there is no step 'missing'",
        "/plan/steps/2/id": "duplicate step id 'b'",
        "/plan/steps/2/after/0": "there is no step 'gone'",
        "/plan/steps/3": "a step is an object",
    } == found


def test_a_wrong_id_is_no_fault_of_those_who_name_it() -> None:
    """They are right as soon as the id is."""
    found = faults(
        step("Load It"),
        step(
            "b", after=["Load It"], input={"x": ref("steps.Load It.y"), "y": ref("steps.Load It")}
        ),
    )
    assert ["/plan/steps/0/id"] == list(found)


@pytest.mark.parametrize("count", [0, 501])
def test_a_plan_has_1_to_500_steps(count: int) -> None:
    """The number is named."""
    found = faults(*(step(f"s{i}") for i in range(count)))
    assert {"/plan/steps": f"a plan has 1 to 500 steps, not {count}"} == found


def cycles(*steps: dict[str, Json]) -> list[str]:
    """The cycles that are named."""
    with pytest.raises(InvalidPlan) as refused:
        compile_plan({"steps": list(steps)}, SPECS)
    return [fault.message for fault in refused.value.faults]


def test_a_step_that_needs_itself_is_a_cycle() -> None:
    """Named as one."""
    assert ["cycle: a → a"] == cycles(step("a", after=["a"]))


def test_two_cycles_are_named_once_each() -> None:
    """Steps that only hang on a cycle are not part of it."""
    found = cycles(
        step("a", after=["b"]),
        step("b", after=["a"]),
        step("c", input={"x": ref("steps.d")}),
        step("d", input={"x": ref("steps.e")}),
        step("e", for_each=ref("steps.c")),
        step("f", after=["a", "e"]),
    )
    members = [set(message.removeprefix("cycle: ").split(" → ")) for message in found]
    assert [{"a", "b"}, {"c", "d", "e"}] == sorted(members, key=len)


def test_a_dense_tangle_is_refused_in_no_time() -> None:
    """200 steps that all need each other have more cycles than anybody can read."""
    ids = [f"s{i}" for i in range(200)]
    assert MAX_CYCLES == len(cycles(*(step(i, after=list(ids)) for i in ids)))


def test_faults_come_in_one_order() -> None:
    """The same plan gets the same answer in every process."""
    wrong = step("a", "nope", z=1, y=2, x=3, timeout=0)
    expected = [f"/plan/steps/0/{key}" for key in ("x", "y", "z", "tool", "timeout")]
    assert expected == list(faults(wrong))


def test_a_pointer_starts_where_the_plan_stands() -> None:
    """A plan that a step returned is checked under its own pointer."""
    with pytest.raises(InvalidPlan) as refused:
        compile_plan({"steps": []}, SPECS, pointer="/output")
    assert "/output/steps" == refused.value.faults[0].pointer


def test_dependents_are_worked_out() -> None:
    """Those with one need are singles; those with more are joins with their count."""
    plan = compiled(
        step("a"),
        step("b", input={"x": ref("steps.a"), "y": ref("steps.a.z")}),
        step("c", for_each=ref("steps.a.items"), input={"x": ref("item")}, after=["b"]),
        step("d", after=["a", "b", "c"]),
    )
    by_id = {planned.step_id: planned for planned in plan.steps}
    assert ("0#a",) == plan.roots.singles
    assert ("0#b",) == by_id["a"].singles
    assert (("0#c", 2), ("0#d", 3)) == by_id["a"].joins
    assert (("0#d", 3),) == by_id["c"].joins
    assert ("0#a", "0#b", "0#c") == by_id["d"].needs
    assert "d" == plan.result_from


def test_a_claim_reads_only_the_outputs_it_refers_to() -> None:
    """`after` orders; it reads nothing."""
    plan = compiled(step("a"), step("b"), step("c", after=["a"], input={"x": ref("steps.b")}))
    assert frozenset({"b"}) == outputs_needed(plan.steps[2])


def test_a_steps_own_timeout_replaces_the_tools() -> None:
    """The rest of the policy stays the tool's."""
    (planned,) = compiled(step("a", "native", timeout=7)).steps
    assert Policy(effect="write", idempotency="native", timeout=7) == planned.policy


def test_nesting_is_bounded() -> None:
    """A template that would overflow the stack is a fault like any other."""
    value: Json = 1
    for _ in range(5_000):
        value = [value]
    assert ["/plan/steps/0"] == list(faults(step("a", input={"x": value})))


KEYS = st.sampled_from(
    ["steps", "id", "tool", "input", "after", "for_each", "optional", "timeout", "$ref", "x", ""]
)
WORDS = st.sampled_from(["a", "b", "read", "strict", "steps.a", "steps.a.x", "item", "input.x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
STEPS = st.fixed_dictionaries(
    {"id": WORDS, "tool": WORDS},
    optional={"input": JSON, "after": JSON, "for_each": JSON, "optional": JSON, "timeout": JSON},
)


@given(JSON | st.fixed_dictionaries({"steps": JSON | st.lists(STEPS | JSON, max_size=4)}))
def test_any_json_is_compiled_or_refused(document: Any) -> None:
    """compile_plan raises InvalidPlan and nothing else, and its faults are JSON."""
    try:
        compile_plan(document, SPECS)
    except InvalidPlan as refused:
        found = refused.faults
    else:
        return
    assert found
    assert all(fault.pointer.startswith("/plan") for fault in found)
    json.dumps([fault.message for fault in found])
