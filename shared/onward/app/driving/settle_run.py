"""The main lane, or the parked one of a Map, asks what is next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.app.driving.carry_out import carry_out
from onward.domain.protocol import Begin, Settle, WakeLane

if TYPE_CHECKING:
    from onward.app.driving.carry_out import Drive
    from onward.domain.protocol import Command, Decision


def settle_run(
    drive: Drive,
    run_id: str,
    generation: int,
    until: float,
    *,
    begin: bool,
    lane: int | None = None,
) -> Decision:
    """Decide for the main lane: at the start of an execution, after a Map or after a Park.

    Or for the `lane` of a Map that was parked while others worked.
    """
    command: Command = Begin() if begin else Settle() if lane is None else WakeLane(lane)
    return carry_out(drive, run_id, generation, command, until).decision
