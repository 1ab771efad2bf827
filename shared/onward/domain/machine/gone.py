"""The version of the worker that a run is pinned to is gone: what a person is asked then (G10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.domain.errors import OutcomeUnknown
from onward.domain.machine import ledger
from onward.domain.model import Failure

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import PlannedStep, Step

VERSION_GONE: Final = Failure(
    "version_missing",
    "the version of the worker that this run is pinned to is gone, and nothing else may run its "
    "steps: answer `not_applied` once it is back, `applied` with the step's result (but for a step "
    "that adds steps), or `abandon`",
)
_DOUBT: Final = Failure(
    OutcomeUnknown.code,
    "its write may have happened, and the version of the worker that would ask its receiver, or "
    "send it again, is gone: look there and answer `applied` or `not_applied`, or `abandon`",
)


def question(turn: Turn, planned: PlannedStep, step: Step) -> Failure:
    """Return why a person is asked: nothing may run the step, or what it did is in doubt too.

    Of a write in doubt `not_applied` says that it did not happen, not that its version is back.
    """
    return _DOUBT if ledger.in_doubt(turn, planned, step) else VERSION_GONE


def is_gone(step: Step) -> bool:
    """Whether a step waits for nothing but a version that may run it."""
    return step.error is not None and step.error.code == VERSION_GONE.code
