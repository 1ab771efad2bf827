"""How much of the service one tenant may take: runs at a time, and runs in all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from onward.domain.errors import TooManyRuns

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.aws.active_runs import ActiveRuns, Load
    from onward.domain.limits import TenantLimits
    from onward.domain.plan import CompiledPlan

COUNTED_FOR: Final = 15.0
"""Seconds for which a process believes its count of a tenant's active runs."""


@dataclass(frozen=True, slots=True)
class Share:
    """Decides which queued runs are started, so that no tenant holds all that can be driven."""

    active: ActiveRuns
    running: int

    def holds_back(self, tenant: str, run_id: str) -> bool:
        """Whether a run has to stay queued; else it counts as running from now on.

        One that was admitted before is never held back: its start may only be repeated.
        """
        if not tenant or not self.active.is_queued(run_id):
            return False
        if self.active.running(tenant, self.running) >= self.running:
            return True
        self.active.admit(run_id)
        return False

    def next(self, tenant: str) -> list[str]:
        """Return the queued runs of a tenant that there is room for, oldest first; admit them."""
        room = self.running - self.active.running(tenant, self.running)
        chosen = self.active.queued(tenant, room) if room > 0 else []
        for run_id in chosen:
            self.active.admit(run_id)
        return chosen


@dataclass(slots=True)
class Quota:
    """Refuses what would be too many active runs of a tenant.

    The count is read at most every 15 s a process and tenant, and what this process takes is
    added to it: other processes' are seen with the next count, by which it may be overshot.
    """

    active: ActiveRuns
    limits: TenantLimits
    clock: Callable[[], float]
    _counted: dict[str, tuple[float, Load]] = field(default_factory=dict)

    def take(self, tenant: str, plan: CompiledPlan) -> None:
        """Count a run that is about to be stored; raises TooManyRuns, which names the limit."""
        load = self._load(tenant)
        runs, steps = load.runs + 1, load.steps + len(plan.steps)
        if runs > self.limits.active:
            raise TooManyRuns(
                f"this tenant has {load.runs} runs that have not ended, "
                f"at most {self.limits.active} (max_active_runs)"
            )
        if steps > self.limits.steps:
            raise TooManyRuns(
                f"this tenant's active runs have {load.steps} steps and children, with this one "
                f"{steps}: at most {self.limits.steps} (max_active_steps)"
            )
        self._counted[tenant] = (self._counted[tenant][0], type(load)(runs, steps))

    def _load(self, tenant: str) -> Load:
        at, load = self._counted.get(tenant, (0.0, None))
        now = self.clock()
        if load is None or now >= at + COUNTED_FOR:
            load = self.active.load(tenant, self.limits.active)
            self._counted[tenant] = (now, load)
        return load
