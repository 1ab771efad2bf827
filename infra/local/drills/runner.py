"""All drills, and how they are run one after the other."""

from __future__ import annotations

import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

from onward.client import ClientError, Onward

from infra.local.drills import (
    burst,
    dead_execution,
    endpoint_down,
    gateway_timeout,
    kill_worker,
    lost_response,
    refresh,
    row_lock,
    silent_loss,
    zombie,
)
from infra.local.drills.finding import Finding
from infra.local.drills.outside import outside
from infra.local.drills.stage import Overdue, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from infra.local.stack import Stack

_MODULES: Final = (
    refresh,
    kill_worker,
    zombie,
    gateway_timeout,
    row_lock,
    lost_response,
    silent_loss,
    endpoint_down,
    dead_execution,
    burst,
)

DRILLS: Final[dict[str, Callable[[Stage], Iterator[Finding]]]] = {
    module.NAME: module.rehearse for module in _MODULES
}
"""Every drill by its name, in the order in which they are run."""


def run(stack: Stack, names: Sequence[str], *, quick: bool = False) -> Iterator[Finding]:
    """Run drills on a stack that allows them, and yield what each case found out.

    A drill that could not be carried out is a finding too, a broken one, whatever was in its way:
    a guarantee that breaks shows things that no drill expects. `quick` leaves repetitions out.
    The receiver's ledger is kept in the stack's state directory.
    """
    folder = Path(stack.state_dir) / "drills"
    folder.mkdir(exist_ok=True)
    with (
        Onward(stack.api_url, stack.api_key) as onward,
        outside(_ledger(folder)) as receiver,
    ):
        stage = Stage(stack, onward, receiver, quick)
        for name in names:
            try:
                yield from DRILLS[name](stage)
            except Exception as error:  # noqa: BLE001 - told, and the drills behind it are run
                yield Finding(name, "", "unknown", 0, "", (in_the_way(error),))


def in_the_way(error: Exception) -> str:
    """Say what a drill met: what it waited for in vain, or what it could make nothing of."""
    if isinstance(error, Overdue | ClientError):
        return str(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return f"it could not be carried out: {type(error).__name__}: {error} ({place})"


def _ledger(folder: Path) -> Path:
    """Return a file of its own for this round."""
    _, path = tempfile.mkstemp(".jsonl", time.strftime("%Y%m%d-%H%M%S-"), folder)
    return Path(path)
