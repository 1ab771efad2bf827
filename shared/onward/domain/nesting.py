"""Steps that added steps: who added whom, and how deep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.domain.model import FIRST_PART, part_of, step_of

if TYPE_CHECKING:
    from onward.domain.model import Run


def is_added(key: str) -> bool:
    """Whether a planned step was added at run time."""
    return part_of(key) != FIRST_PART


def adder(run: Run, key: str) -> str:
    """Return the key of the step that added this one; it has not ended before this one has."""
    step_id = part_of(key).rsplit(".", 1)[0]
    return next(owner for owner in run.extended if step_of(owner) == step_id)


def level(run: Run, key: str) -> int:
    """Return how many steps, each added by the next, are above this one: 0 if it was submitted."""
    count = 0
    while is_added(key):
        key = adder(run, key)
        count += 1
    return count
