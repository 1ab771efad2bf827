"""Metrics that functions write into their log lines, taken out as CloudWatch does.

As released the emulator keeps such lines as text, so that nothing a commit counts ever rings.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

# ruff: noqa: SLF001 - patching private parts is what this module is for

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a metric under one set of dimensions."""

    namespace: str
    name: str
    value: float
    unit: str
    dimensions: dict[str, str]


def apply(lambda_service: Any, cloudwatch: Any) -> None:
    """Let what a function logs be counted."""
    emit: Callable[..., None] = lambda_service._emit_lambda_logs

    def emit_counting(func: Any, request_id: str, text: str, *args: Any, **options: Any) -> None:
        emit(func, request_id, text, *args, **options)
        for line in (text or "").splitlines():
            for told in values(line):
                cloudwatch.record_metric(
                    told.namespace, told.name, told.value, told.unit, told.dimensions
                )

    lambda_service._emit_lambda_logs = emit_counting


def values(line: str) -> Iterator[Value]:
    """Yield the values that a log line carries; none where it is another kind of line."""
    if not line.startswith("{") or '"_aws"' not in line:
        return
    try:
        told = json.loads(line)
    except ValueError:
        return
    for directive in told.get("_aws", {}).get("CloudWatchMetrics", []):
        for keys in directive["Dimensions"]:
            dimensions = {key: str(told[key]) for key in keys}
            for metric in directive["Metrics"]:
                given = told[metric["Name"]]
                for value in given if isinstance(given, list) else [given]:
                    yield Value(
                        directive["Namespace"],
                        metric["Name"],
                        float(value),
                        metric.get("Unit", "None"),
                        dimensions,
                    )
