"""Steps that a running step adds, through the whole stack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onward.client import Onward

from infra.local.stack import Stack
from infra.local.workers import kill
from tests.stack.test_runs import echo, finish, kinds

SAMPLE = Path(__file__).parents[1] / "data" / "sample.xlsx"


def planning(*added: dict[str, Any]) -> dict[str, Any]:
    """A plan whose second step adds these."""
    return {
        "steps": [
            echo("before", 1),
            {
                "id": "plan",
                "tool": "plan_as_told",
                "input": {"steps": json.dumps(added)},
                "after": ["before"],
            },
            echo("behind", {"$ref": "steps.plan.added"}),
        ]
    }


def ids(run: Any) -> set[str]:
    return {step["id"] for step in run["steps"]}


def test_a_worker_killed_in_an_added_step_costs_that_attempt_only(
    onward: Onward, stack: Stack, state: Path
) -> None:
    """Added steps are like any: they recover, and what waited for the planner sees them all."""
    slow = {"value": {"$ref": "steps.before.value"}, "seconds": 2}
    plan = planning(
        {"id": "slow", "tool": "echo", "input": slow}, echo("last", {"$ref": "steps.slow.value"})
    )
    run_id = onward.submit(plan=plan)["run_id"]
    seen = []
    killed = 0
    for event in onward.watch(run_id):
        seen.append(event)
        if event["type"] == "onward.step.progress" and not killed:
            killed = kill(state, stack.outputs["ExecuteStepFunction"])

    run = onward.get(run_id)
    assert killed > 0
    assert ("succeeded", 5, 6) == (run["status"], run["counts"]["done"], run["counts"]["attempts"])
    assert {"value": {"slow": {"value": 1}, "last": {"value": 1}}} == run["result"]
    assert 1 == kinds(seen)["step.taken_over"]


def test_a_plan_with_a_cycle_and_an_unknown_tool_fails_its_step_naming_both(
    onward: Onward,
) -> None:
    """Once, for the same plan fails the same way; nothing of it is stored."""
    plan = planning(
        echo("a", 1, after=["b"]),
        echo("b", 1, after=["a"]),
        {"id": "c", "tool": "browse", "input": {}},
    )

    run, events = finish(onward, plan)

    assert ("failed", 2) == (run["status"], run["counts"]["attempts"])
    assert ("plan", "invalid_input") == (run["error"]["step"], run["error"]["code"])
    assert "cycle: a → b → a" in run["error"]["message"]
    assert "unknown tool 'browse'" in run["error"]["message"]
    assert {"before", "plan", "behind"} == ids(run)
    assert 1 == kinds(events)["step.failed"]


def test_a_workbook_is_reported_with_code_run_in_the_sandbox(onward: Onward) -> None:
    """One analysis a table, planned while the run goes on; code's results are told apart."""
    file = onward.upload(SAMPLE.name, SAMPLE.read_bytes())
    run_id = onward.submit("excel-report", {"file": file})["run_id"]
    assert list(onward.watch(run_id))

    run = onward.get(run_id)
    assert "succeeded" == run["status"]
    assert {"analyse-1", "analyse-2", "analyse-3", "analyse-4", "code-1", "code-2"} < ids(run)
    assert 0 == run["counts"]["skipped"]
    summary = json.loads(onward.download(run["result"]["summary"]["ref"]))
    orders = summary["sheets"][0]["tables"][0]
    assert (64, "rules") == (orders["rows"], orders["insights"][0]["by"])
