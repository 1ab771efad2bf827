"""A run that is driven and gets nowhere, for no function of ours can be started or has room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.domain.errors import NotBegun
from onward.domain.limits import BEGAN_LATE
from onward.domain.model import RunStatus

if TYPE_CHECKING:
    from onward.aws.run_reader import RunReader
    from onward.domain.model import Run, Step

RESTS_SECONDS: Final = 3600
"""How long a run may rest at no cost before somebody is told: no budget bounds it."""

_DRIVEN: Final = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})
_UNBEGUN: Final = frozenset({NotBegun.code, BEGAN_LATE})


def rests(reader: RunReader, run: Run, now: float) -> bool:
    """Whether infrastructure has kept a run from going on for an hour.

    Either nothing was committed for so long, though no attempt takes longer than a quarter of an
    hour (the driver is refused, and asks on), or a step was kept for so long from its tool.
    """
    last = reader.events(run.run_id, run.seq - 1, 1)
    if run.status in _DRIVEN and last and last[0].at + RESTS_SECONDS <= now:
        return True
    rows = reader.rows(run.run_id, steps=[*run.open, *run.waiting]).steps.values()
    return any(_kept_back(run, row, now) for row in rows if row is not None)


def _kept_back(run: Run, row: Step, now: float) -> bool:
    if row.lost is None or row.lost.at + RESTS_SECONDS > now:
        return False
    return row.step_id in run.open or (row.error is not None and row.error.code in _UNBEGUN)
