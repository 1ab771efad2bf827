"""The main lane asks what is next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.app.driving.carry_out import carry_out
from onward.domain.protocol import Begin, Settle

if TYPE_CHECKING:
    from onward.app.driving.carry_out import Drive
    from onward.domain.protocol import Decision


def settle_run(
    drive: Drive, run_id: str, generation: int, until: float, *, begin: bool
) -> Decision:
    """Decide for the main lane: at the start of an execution, after a Map or after a Park."""
    command = Begin() if begin else Settle()
    return carry_out(drive, run_id, generation, command, until).decision
