"""Whether an alarm of the template rings on what functions wrote into their log lines."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from infra.local.embedded import Value

STATISTICS: dict[str, Callable[[Sequence[float]], float]] = {"Sum": sum, "Maximum": max}
COMPARED: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
}
MISSING = {"breaching": True, "notBreaching": False}
HASH = re.compile(r"^Alarms(.+?)[0-9A-F]{8}$")


@dataclass(frozen=True, slots=True)
class Said:
    """A value that a function told, and when: seconds after the first moment that is looked at."""

    at: float
    value: Value


def name_of(logical_id: str) -> str:
    """Return an alarm's name: its id without the construct around it and without the hash."""
    found = HASH.match(logical_id)
    assert found, logical_id
    return found[1]


def rings(alarm: dict[str, Any], said: Iterable[Said], seconds: float) -> bool:
    """Whether an alarm's properties have it ring in these seconds, as CloudWatch decides it.

    Periods are counted from the first second, so that nothing hangs on the hour of a test.
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html
    """
    period = alarm["Period"]
    points: dict[int, list[float]] = {}
    for each in said:
        if _is_about(alarm, each.value):
            points.setdefault(int(each.at // period), []).append(each.value.value)
    breaching = [_breaches(alarm, points.get(n)) for n in range(math.ceil(seconds / period))]
    needed, among = alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]
    return any(
        sum(breaching[max(0, end - among) : end]) >= needed for end in range(1, len(breaching) + 1)
    )


def _is_about(alarm: dict[str, Any], value: Value) -> bool:
    looked_at = {each["Name"]: each["Value"] for each in alarm.get("Dimensions", [])}
    unit = alarm.get("Unit", value.unit)
    told = (value.namespace, value.name, value.dimensions, value.unit)
    return (alarm["Namespace"], alarm["MetricName"], looked_at, unit) == told


def _breaches(alarm: dict[str, Any], values: list[float] | None) -> bool:
    if values is None:
        return MISSING[alarm["TreatMissingData"]]
    found = STATISTICS[alarm["Statistic"]](values)
    return COMPARED[alarm["ComparisonOperator"]](found, alarm["Threshold"])
