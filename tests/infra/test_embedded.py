"""Metrics in log lines, as the local stack takes them out."""

from __future__ import annotations

import json

import pytest
from onward import metrics
from onward.metrics import Metric

from infra.local.embedded import Value, values


def test_what_functions_count_is_found_in_their_lines() -> None:
    """Sums and measured values, under the stack's namespace and the service's dimension."""
    metrics.forget()
    metrics.count(Metric.RECOVERIES)
    metrics.count(Metric.RECOVERIES)
    metrics.count(Metric.STEP_SECONDS, 1.5)
    metrics.count(Metric.STEP_SECONDS, 2.5)
    told = metrics.embedded({"POWERTOOLS_METRICS_NAMESPACE": "Onward-a"})
    metrics.forget()

    found = list(values(json.dumps({"service": "onward", "message": "done"} | told)))

    here = {"service": "onward"}
    assert found == [
        Value("Onward-a", "Recoveries", 2.0, "Count", here),
        Value("Onward-a", "StepSeconds", 1.5, "Seconds", here),
        Value("Onward-a", "StepSeconds", 2.5, "Seconds", here),
    ]


@pytest.mark.parametrize("line", ["done", '{"message": "done"}', '{"_aws": cut', '{"_aws": {}}'])
def test_other_lines_carry_none(line: str) -> None:
    """A line that was cut off is no metric, and no error."""
    assert list(values(line)) == []
