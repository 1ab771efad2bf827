"""What is counted of runs, and how it reaches CloudWatch: inside the invocation's log line.

The embedded metric format makes a log line a metric without a call and without a second line.
No dimension but the service: every value of one is a metric of its own, and is billed so.
Standard library only: every handler imports this module on its cold path.
"""

from __future__ import annotations

import os
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVICE: Final = "onward"
"""The `service` of every log line, which is also the dimension of every metric."""

_NAMESPACE: Final = "POWERTOOLS_METRICS_NAMESPACE"
_MOST_VALUES: Final = 100
"""Values of one metric in one line (the format's limit)."""


class Metric(StrEnum):
    """Most count events of commits; those in seconds measure."""

    RUNS_STARTED = "RunsStarted"
    RUNS_SUCCEEDED = "RunsSucceeded"
    RUNS_FAILED = "RunsFailed"
    STEPS_SUCCEEDED = "StepsSucceeded"
    STEPS_RETRIED = "StepsRetried"
    STEPS_FAILED = "StepsFailed"
    STEP_SECONDS = "StepSeconds"
    RECOVERIES = "Recoveries"
    RESTARTS = "Restarts"
    NEEDS_RECONCILIATION = "NeedsReconciliation"
    DUPLICATES_SUSPECTED = "DuplicatesSuspected"
    LOOKS_GIVEN_UP = "LooksGivenUp"
    PERMISSION_FAILURES = "PermissionFailures"
    ENDPOINTS_DISABLED = "EndpointsDisabled"
    DELIVERY_SECONDS = "DeliverySeconds"
    UNSYNCED_SECONDS = "UnsyncedSeconds"
    PATROL_BEATS = "PatrolBeats"
    PATROL_REPAIRS = "PatrolRepairs"
    PATROL_FAILURES = "PatrolFailures"
    RUNS_RESTING = "RunsResting"
    SANDBOX_UNFILTERED = "SandboxUnfiltered"


_MEASURED: Final = frozenset(
    {Metric.STEP_SECONDS, Metric.DELIVERY_SECONDS, Metric.UNSYNCED_SECONDS}
)

_taken: Final[dict[Metric, list[float]]] = {}
"""Of this invocation: Lambda gives a process one at a time."""


def count(metric: Metric, value: float = 1.0) -> None:
    """Note a value for the log line of this invocation."""
    _taken.setdefault(metric, []).append(value)


def forget() -> None:
    """Drop what an earlier invocation counted and, ending abruptly, never told."""
    _taken.clear()


def embedded(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return the fields that turn a log line with a `service` into metrics; none without values.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
    """
    if not _taken:
        return {}
    listed = [
        {"Name": metric.value, "Unit": "Seconds" if metric in _MEASURED else "Count"}
        for metric in _taken
    ]
    directive = {
        "Namespace": environ.get(_NAMESPACE, SERVICE),
        "Dimensions": [["service"]],
        "Metrics": listed,
    }
    told: dict[str, Any] = {
        "_aws": {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [directive]}
    }
    for metric, values in _taken.items():
        told[metric.value] = values[:_MOST_VALUES] if metric in _MEASURED else sum(values)
    return told
