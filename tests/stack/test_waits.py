"""Sleeps and conditions on a whole stack: on time, alone and beside a tool that runs on."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from infra.local.bench.executions import history
from infra.local.bench.executions import seconds as lasted
from infra.local.deploy import client
from tests.stack.sandbox import until

if TYPE_CHECKING:
    from onward.client import Onward

    from infra.local.stack import Stack

LATE = 1.5
"""Seconds by which a sleep may end late on the local stack."""


def echo(step_id: str, seconds: float = 0, **keys: Any) -> dict[str, Any]:
    given = {"value": step_id, "seconds": seconds, "quiet": True}
    return {"id": step_id, "tool": "echo", "input": given, **keys}


def moments(onward: Onward, run_id: str) -> dict[tuple[str, str], float]:
    """When each step had each type of event, in epoch seconds."""
    return {
        (event["data"]["step_id"], event["type"].removeprefix("onward.step.")): at(event["time"])
        for event in onward.events(run_id)["events"]
        if "step_id" in event["data"]
    }


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize("beside", [[], [echo("works", 16)]], ids=["alone", "beside a tool"])
def test_a_sleep_of_ten_seconds_ends_on_time(onward: Onward, beside: list[dict[str, Any]]) -> None:
    """What comes after it begins then, and not when the other tool happens to end."""
    plan = {"steps": [{"id": "nap", "sleep": 10}, *beside, echo("then", after=["nap"])]}
    run_id = onward.submit(plan=plan)["run_id"]
    assert "succeeded" == onward.wait(run_id)["status"]
    when = moments(onward, run_id)
    slept = when["nap", "succeeded"] - when["nap", "waiting_external"]
    assert 10 <= slept <= 10 + LATE, slept
    if beside:
        assert when["nap", "succeeded"] < when["works", "succeeded"]


def test_of_two_sleeps_beside_a_tool_each_ends_on_time(onward: Onward) -> None:
    """The lane that waits with them is parked anew for the second."""
    naps = [{"id": "short", "sleep": 4}, {"id": "long", "sleep": 9}]
    run_id = onward.submit(plan={"steps": [*naps, echo("works", 14)]})["run_id"]
    assert "succeeded" == onward.wait(run_id)["status"]
    when = moments(onward, run_id)
    for name, seconds in (("short", 4), ("long", 9)):
        slept = when[name, "succeeded"] - when[name, "waiting_external"]
        assert seconds <= slept <= seconds + LATE, (name, slept)


def test_a_step_whose_condition_is_not_true_is_skipped(onward: Onward) -> None:
    """Which is no failure; what comes after it runs."""
    plan = {
        "steps": [
            echo("maybe", when={"equals": [{"$ref": "input.kind"}, "late"]}),
            echo("then", after=["maybe"]),
        ]
    }
    run = onward.wait(onward.submit(plan=plan, input={"kind": "early"})["run_id"])
    statuses = {step["id"]: step["status"] for step in run["steps"]}
    assert ("succeeded", {"maybe": "skipped", "then": "succeeded"}) == (run["status"], statuses)


def test_a_run_that_waits_is_cancelled_at_once(onward: Onward) -> None:
    """And its driver, which sleeps, is told."""
    plan = {"steps": [{"id": "nap", "sleep": "2h"}]}
    run_id = onward.submit(plan=plan)["run_id"]
    for event in onward.watch(run_id):
        if event["type"] == "onward.run.waiting":
            break
    assert "cancelled" == onward.cancel(run_id, reason="enough")["status"]
    assert "cancelled" == onward.wait(run_id)["status"]


def execution_of(stack: Stack, run_id: str) -> str:
    driver = stack.outputs["DriverArn"].replace(":stateMachine:", ":execution:")
    return f"{driver}:{run_id}-1"


@pytest.mark.parametrize("length", [2, 6])
def test_a_run_that_only_sleeps_invokes_nothing_meanwhile(
    stack: Stack, onward: Onward, length: int
) -> None:
    """It is parked once, however long it sleeps, and settled after that."""
    run_id = onward.submit(plan={"steps": [{"id": "nap", "sleep": length}]})["run_id"]
    assert "succeeded" == onward.wait(run_id)["status"]
    machines, execution = client("stepfunctions", stack), execution_of(stack, run_id)
    assert length <= lasted(machines, execution)
    events = machines.get_execution_history(executionArn=execution)["events"]
    tasks = [e["stateEnteredEventDetails"] for e in events if e["type"] == "TaskStateEntered"]
    assert ["Begin", "Park", "Settle", "Settle"] == [task["name"] for task in tasks]


def test_a_map_ends_with_its_last_tool_and_not_with_its_waits(stack: Stack, onward: Onward) -> None:
    """Whatever ends the last open attempt wakes the parked lane; the driver waits on alone."""
    plan = {"steps": [{"id": "nap", "sleep": "2h"}, echo("works", 2), echo("too", 1)]}
    run_id = onward.submit(plan=plan)["run_id"]
    machines, execution = client("stepfunctions", stack), execution_of(stack, run_id)
    for event in onward.watch(run_id):
        if event["type"] == "onward.step.succeeded" and event["data"]["step_id"] == "works":
            break
    until(lambda: "MapStateExited" in history(machines, execution), 5)
    assert "waiting_external" == onward.get(run_id)["steps"][0]["status"]
    onward.cancel(run_id, reason="enough")
    assert "cancelled" == onward.wait(run_id)["status"]
    lasted(machines, execution)
