"""Alarms on what commits and the patrol say: one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.metrics import Metric

from infra.alarms.alarm import BREACHING, Alarm, Counted
from infra.alarms.readings import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constructs import Construct

_LOST_ATTEMPTS: Final = 10
"""In five minutes. Single deaths are what the driver is for; this many are a cause of their own."""

_UNHEARD: Final = 3600
"""Seconds after its end that a run may be unsynced; the dead letters ring long before."""

COUNTED: Final = (
    Counted(
        Metric.NEEDS_RECONCILIATION,
        "unknown-outcome",
        "The outcome of a write is unknown: somebody has to look and resolve it.",
    ),
    Counted(
        Metric.DUPLICATES_SUSPECTED,
        "suspected-duplicate",
        "A write seems to have happened twice: look at its receiver, then raise settles_after.",
    ),
    Counted(
        Metric.PERMISSION_FAILURES,
        "refused-tool",
        "A tool was refused by its provider: check its credentials and grants.",
    ),
    Counted(
        Metric.RESTARTS,
        "dead-execution",
        "A dead execution was replaced; its run goes on. Find out what ended it.",
    ),
    Counted(
        Metric.RECOVERIES,
        "lost-attempts",
        "Many workers die and are replaced: a tool kills its worker or outlasts its time.",
        threshold=_LOST_ATTEMPTS,
    ),
    Counted(
        Metric.PATROL_BEATS,
        "no-patrol",
        "The patrol has not finished a round for five minutes: nothing that stands still is found.",
        below=True,
        missing=BREACHING,
    ),
    Counted(
        Metric.PATROL_REPAIRS,
        "patrol-repairs",
        "A run stood still until the patrol found it: look for what should have moved it.",
    ),
    Counted(
        Metric.PATROL_FAILURES,
        "patrol-failures",
        "The patrol could not look at a run: its log has the reason.",
    ),
    Counted(
        Metric.RUNS_RESTING,
        "resting-run",
        "A run could not go on for an hour: Lambda refuses its functions, or our tables are busy.",
    ),
    Counted(
        Metric.SANDBOX_UNFILTERED,
        "unfiltered-sandbox",
        "Code that nobody has read ran without the kernel's filter, under the other locks.",
    ),
    Counted(
        Metric.UNSYNCED_SECONDS,
        "unheard-end",
        "The end of a run was not heard for an hour: onward deliveries says by whom.",
        threshold=_UNHEARD,
        statistic="max",
    ),
    Counted(
        Metric.ENDPOINTS_DISABLED,
        "disabled-endpoint",
        "A receiver answered 410 Gone and hears nothing more: enable or delete its endpoint.",
    ),
)
"""In the order of the runbook. The alarm is named after its metric."""


def run_alarms(scope: Construct) -> Iterator[Alarm]:
    """Yield an alarm for each row, on the metrics of the scope's stack."""
    for row in COUNTED:
        yield Alarm(
            name=row.metric.value,
            metric=counted(scope, row.metric, row.statistic),
            says=row.says,
            runbook=row.runbook,
            threshold=row.threshold,
            of=row.of,
            missing=row.missing,
            below=row.below,
        )
