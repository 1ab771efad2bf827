"""Look at executions from outside, as Step Functions shows them."""

from __future__ import annotations

import time
from typing import Any, Final

_LIMIT_SECONDS: Final = 120
_POLL_SECONDS: Final = 0.02


class ExecutionNotSucceeded(RuntimeError):
    """What was to be measured did not end in time."""


def seconds(machines: Any, execution: str) -> float:
    """Wait for an execution's end and return how long it took."""
    limit = time.monotonic() + _LIMIT_SECONDS
    while time.monotonic() < limit:
        found = machines.describe_execution(executionArn=execution)
        if found["status"] == "SUCCEEDED":
            return float((found["stopDate"] - found["startDate"]).total_seconds())
        if found["status"] != "RUNNING":
            raise ExecutionNotSucceeded(f"{execution} ended as {found['status']}")
        time.sleep(_POLL_SECONDS)
    raise ExecutionNotSucceeded(f"{execution} did not end within {_LIMIT_SECONDS} s")


def history(machines: Any, execution: str) -> list[str]:
    """Return the types of all events of an execution's history."""
    pages = machines.get_paginator("get_execution_history").paginate(executionArn=execution)
    return [event["type"] for page in pages for event in page["events"]]
