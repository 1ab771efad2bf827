"""What of a run only a person can answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.domain.model import StepStatus

if TYPE_CHECKING:
    from onward.domain.model import Run


def open_questions(run: Run) -> list[str]:
    """Return the steps that wait for a person, in the order in which they began to.

    A run that goes on beside them has such steps too, and one that has failed keeps them.
    """
    return [s for s, wait in run.waiting.items() if wait.kind is StepStatus.NEEDS_RECONCILIATION]


def needs_a_person(run: Run) -> bool:
    """Whether a question of the run is open, or its executions died until none is started."""
    return bool(open_questions(run)) or run.stalled
