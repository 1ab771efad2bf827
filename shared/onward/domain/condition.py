"""Conditions of steps: `when` a value is true, equals another, or is one of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.domain.template import Unresolved, is_reference, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.domain.model import Json

_OPERANDS: Final = 2


def condition_fault(when: Json) -> str | None:
    """Say what is wrong with the shape of a condition; its references are checked elsewhere."""
    if is_reference(when) and isinstance(when, dict) and len(when) == 1:
        return None
    if isinstance(when, dict) and len(when) == 1:
        (name, operands), *_ = when.items()
        if name in {"equals", "one_of"} and isinstance(operands, list):
            if len(operands) != _OPERANDS:
                return f"{name} takes two values, not {len(operands)}"
            if name == "one_of" and not (
                isinstance(operands[1], list) or is_reference(operands[1])
            ):
                return "one_of takes a value and a list"
            return None
    return 'when is {"$ref": …}, {"equals": [a, b]} or {"one_of": [a, […]]}'


def holds(when: Json, scope: Mapping[str, Json]) -> bool:
    """Whether a condition that was validated is true of a run.

    What a skipped step would have said is null, which is not true. Raises Unresolved for a
    reference to nothing, and for a value alone that is neither true, false nor null.
    """
    if is_reference(when):
        value = resolve(when, scope)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise Unresolved(f"when: {when} is neither true nor false")
    assert isinstance(when, dict)  # noqa: S101 - its shape was validated
    ((name, operands),) = when.items()
    assert isinstance(operands, list)  # noqa: S101 - the same
    left, right = (resolve(operand, scope) for operand in operands)
    if name == "equals":
        return same(left, right)
    return isinstance(right, list) and any(same(left, item) for item in right)


def same(left: Json, right: Json) -> bool:
    """Whether two JSON values are equal: true is not 1, but 1 is 1.0 (RFC 8259 has one number)."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right
