"""One tenant's many runs do not keep another's first step waiting."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onward.client import Onward

if TYPE_CHECKING:
    from infra.local.stack import Stack

RUNS, STEPS = 40, 20
SECONDS = 5


def chain(length: int) -> dict[str, Any]:
    def link(number: int) -> dict[str, Any]:
        given = {"$ref": f"steps.s{number - 1}"} if number else 1
        return {"id": f"s{number}", "tool": "echo", "input": {"value": given, "quiet": True}}

    return {"steps": [link(number) for number in range(length)]}


def test_a_step_of_another_tenant_starts_while_forty_runs_go(
    stack: Stack, onward: Onward, state: Path
) -> None:
    """Forty runs of twenty steps are submitted; the other one's first step starts within 5 s."""
    issue = [Path(sys.executable).with_name("onward"), "key", "--tenant", "other", "--json"]
    issued = subprocess.run(
        [*issue, "--state", state], check=True, capture_output=True, text=True
    ).stdout
    with Onward(stack.api_url, json.loads(issued)["api_key"]) as other:
        other.wait(other.submit(plan=chain(1))["run_id"])
        ours = [onward.submit(plan=chain(STEPS))["run_id"] for _ in range(RUNS)]
        began = time.time()
        theirs = other.submit(plan=chain(1))["run_id"]
        going = [run["status"] for run in onward.runs(limit=200) if run["run_id"] in ours]
        other.wait(theirs)
        events = other.events(theirs)["events"]
        # By the log: how soon a client is told is another matter, and measured elsewhere.
        started = next(event for event in events if event["type"] == "onward.step.started")
        waited = datetime.fromisoformat(started["time"]).timestamp() - began
    assert waited < SECONDS, waited
    assert going.count("succeeded") < RUNS / 2, "forty runs were not going meanwhile"
    assert going.count("running") <= 8
    statuses = {onward.wait(run_id)["status"] for run_id in ours}
    assert {"succeeded"} == statuses
