"""What a claim of a planned step reads of the steps before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.domain.template import references

if TYPE_CHECKING:
    from onward.domain.model import PlannedStep

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
