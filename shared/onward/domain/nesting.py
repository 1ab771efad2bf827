"""Steps that added steps: whose part is whose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.domain.model import FIRST_PART, part_of

if TYPE_CHECKING:
    from onward.domain.model import Step


def is_added(key: str) -> bool:
    """Whether a planned step was added at run time."""
    return part_of(key) != FIRST_PART


def part_named(step_id: str, fence: int) -> str:
    """Return the part that an attempt writes; every attempt has one of its own."""
    return f"{step_id}.{fence}"


def adder(part: str) -> str:
    """Return the id of the step whose attempt wrote a part."""
    return part.rsplit(".", 1)[0]


def adopted(part: str, owner: Step | None) -> bool:
    """Whether a part is the run's: submitted, or written by the attempt that its step ended with.

    A step that adds steps keeps the fence of the attempt that did.
    """
    if part == FIRST_PART:
        return True
    return (
        owner is not None and bool(owner.added) and part == part_named(owner.step_id, owner.fence)
    )
