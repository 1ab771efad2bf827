"""What a claim of a planned step reads of the steps before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.domain.limits import MAX_DEPTH
from onward.domain.plan_waits import templates
from onward.domain.template import REF, deeper_than, parse, references, walk

if TYPE_CHECKING:
    from onward.domain.model import Json, PlannedStep
    from onward.domain.protocol import Claim
    from onward.domain.template import Reference

ADDED: Final = "added"
"""Below a step that added others: their outputs by id."""


def added_needed(step: PlannedStep) -> frozenset[str]:
    """Return the steps of which a claim reads what the steps they added returned."""
    found = references([step.input, step.when, step.for_each])
    return frozenset(
        reference.step
        for reference in found
        if reference.step is not None and reference.path[:1] == (ADDED,)
    )


def outputs_needed(step: PlannedStep) -> frozenset[str]:
    """Return the steps whose outputs a claim of this step reads."""
    found = references([step.input, step.when, step.for_each])
    return frozenset(reference.step for reference in found if reference.step is not None)


def children_needed(claim: Claim, step: PlannedStep) -> dict[str, frozenset[int] | None]:
    """Return the steps whose outputs a claim reads, each with the children that it reads of.

    None: of all, and of a step that is no fan-out just its output. `steps.each.3.name` reads one
    child, and so does a child of a fan-out over `steps.each`, whose item it is; how many there
    are is known without any.
    """
    found: dict[str, frozenset[int] | None] = {}

    def take(reference: Reference, indexes: frozenset[int] | None) -> None:
        if reference.step is None:
            return
        before = found.get(reference.step, frozenset())
        both = None if before is None or indexes is None else before | indexes
        found[reference.step] = both

    for reference in references([step.input, step.when]):
        take(reference, _index(reference))
    for reference in references(step.for_each):
        item = frozenset() if claim.index is None else frozenset({claim.index})
        take(reference, _index(reference) if reference.path else item)
    return found


def _index(reference: Reference) -> frozenset[int] | None:
    first = reference.path[:1]
    return frozenset(map(int, first)) if first and first[0].isdecimal() else None


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
        found_in = [template for _, template in templates(step)]
        for _, node in walk([*found_in, step.get("for_each")]):
            reference = parse(node.get(REF)) if isinstance(node, dict) else None
            if reference is not None and reference.step is not None:
                found.add(reference.step)
    return frozenset(found)
