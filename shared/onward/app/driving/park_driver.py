"""Park the driver until somebody signals or its wait is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.app.driving.carry_out import decided, look
from onward.domain.protocol import Do, Settle, WakeLane

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.app.driving.carry_out import Drive

_TRIES: Final = 20

_LATE: Final = 5
"""Seconds by which a wait may end later than its row says, for parking took so long."""


def park_driver(
    drive: Drive,
    run_id: str,
    generation: int,
    token: str,
    answer: Callable[[str], object],
    seconds: int = 0,
    lane: int | None = None,
) -> bool:
    """Store the task token if the decision to wait still stands, else answer it at once.

    The decision is made again from the row whose `seq` then guards the token: events that
    change nothing for the driver (progress, say) do not wake it, and an answer that was
    committed meanwhile does. `lane` is that of a Map, where others work meanwhile. `seconds` is
    how long the task will wait: where parking was refused for long, less is left by now, and
    settle says how much. Returns whether the driver sleeps.
    """
    for _ in range(_TRIES):
        command = Settle() if lane is None else WakeLane(lane)
        view = look(drive, run_id, command)
        outcome = decided(drive, view, command, generation)
        if outcome.decision.do is not Do.WAIT or outcome.changes:
            break
        if outcome.decision.seconds + _LATE < seconds:
            break
        if drive.store.keep_token(view.run, token, lane=lane is not None):
            return True
    answer(token)
    return False
