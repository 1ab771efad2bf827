"""Templates: references in JSON, filled in from what the run holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onward.domain.template import Reference, Unresolved, deeper_than, parse, resolve, walk

if TYPE_CHECKING:
    from onward.domain.model import Json

SCOPE: dict[str, Json] = {
    "input": {"file": {"name": "a.xlsx"}, "rows": [10, 20]},
    "steps": {"plan": {"jobs": ["x", "y"]}, "skipped": None},
    "item": 7,
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("input", {"file": {"name": "a.xlsx"}, "rows": [10, 20]}),
        ("input.file.name", "a.xlsx"),
        ("input.rows.1", 20),
        ("steps.plan.jobs.0", "x"),
        ("item", 7),
    ],
)
def test_a_reference_stands_for_a_value(text: str, expected: Json) -> None:
    """Keys and list indexes are named by dots."""
    assert expected == resolve({"$ref": text}, SCOPE)


def test_references_are_filled_in_wherever_they_stand() -> None:
    """Everything around them stays as it is."""
    template: Json = {"a": [1, {"$ref": "item"}], "b": {"c": "literal"}}
    assert {"a": [1, 7], "b": {"c": "literal"}} == resolve(template, SCOPE)


@pytest.mark.parametrize("text", ["steps.skipped", "steps.skipped.any.thing"])
def test_what_a_skipped_step_would_have_said_is_null(text: str) -> None:
    """And so is everything below it."""
    assert resolve({"$ref": text}, SCOPE) is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("input.missing", "'missing'"),
        ("input.rows.2", "'2'"),
        ("input.rows.name", "'name'"),
        ("input.rows." + "9" * 5000, "there is no"),
        ("input.file.name.0", "'0'"),
        ("steps.other", "step other has no output"),
    ],
)
def test_a_reference_to_nothing_says_what_is_missing(text: str, names: str) -> None:
    """It raises Unresolved and nothing else."""
    with pytest.raises(Unresolved, match=names):
        resolve({"$ref": text}, SCOPE)


def test_item_is_missing_outside_a_fan_out() -> None:
    """The scope of a plain step holds no item."""
    with pytest.raises(Unresolved, match="there is no item here"):
        resolve({"$ref": "item"}, {"input": None, "steps": {}})


@pytest.mark.parametrize(
    "text", ["", "steps", "steps.", "steps.A", "input..x", "other.x", "input x"]
)
def test_other_texts_are_no_references(text: str) -> None:
    """They parse to None."""
    assert parse(text) is None


def test_a_reference_knows_its_step_and_path() -> None:
    """So that a plan can tell what it needs."""
    expected = Reference("steps.a-b.x.0", "steps", "a-b", ("x", "0"))
    assert expected == parse("steps.a-b.x.0")


def test_walk_gives_pointers() -> None:
    """RFC 6901: `~` and `/` in keys are escaped."""
    template: Json = {"a/b": [{"$ref": "item"}], "~": {"$ref": "input"}}
    expected = [("/a~1b/0", {"$ref": "item"}), ("/~0", {"$ref": "input"})]
    assert expected == list(walk(template))


@given(JSON)
def test_json_without_references_resolves_to_itself(value: Json) -> None:
    """Nothing is lost or added."""
    if not list(walk(value)):
        assert value == resolve(value, SCOPE)


def test_depth_is_measured_without_recursing_further() -> None:
    """A hundred thousand levels are too deep, and told so without an overflow."""
    value: Json = 1
    for _ in range(100_000):
        value = [value]
    assert deeper_than(value, 50)
    assert not deeper_than([[1]], 2)
    assert deeper_than([[1]], 1)
