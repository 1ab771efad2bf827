"""What a claim of a planned step reads of the steps before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.domain.limits import MAX_DEPTH
from onward.domain.template import REF, deeper_than, parse, references, walk

if TYPE_CHECKING:
    from onward.domain.model import Json, PlannedStep

ADDED: Final = "added"
"""Below a step that added others: their outputs by id."""


def added_needed(step: PlannedStep) -> frozenset[str]:
    """Return the steps of which a claim reads what the steps they added returned."""
    found = references(step.input) + references(step.for_each)
    return frozenset(
        reference.step
        for reference in found
        if reference.step is not None and reference.path[:1] == (ADDED,)
    )


def outputs_needed(step: PlannedStep) -> frozenset[str]:
    """Return the steps whose outputs a claim of this step reads."""
    found = references(step.input) + references(step.for_each)
    return frozenset(reference.step for reference in found if reference.step is not None)


def mentioned(steps: Json) -> frozenset[str]:
    """Return what steps that nobody has validated yet refer to, as far as it can be step ids."""
    found: set[str] = set()
    for step in steps if isinstance(steps, list) else []:
        if not isinstance(step, dict) or deeper_than(step, MAX_DEPTH):
            continue
        after = step.get("after")
        found |= (
            {name for name in after if isinstance(name, str)} if isinstance(after, list) else set()
        )
        for _, node in walk([step.get("input"), step.get("for_each")]):
            reference = parse(node[REF]) if isinstance(node, dict) else None
            if reference is not None and reference.step is not None:
                found.add(reference.step)
    return frozenset(found)
