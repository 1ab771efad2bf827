"""Runs go on although their execution, or the whole emulator, is gone."""

from __future__ import annotations

from pathlib import Path

from onward.client import Onward

from infra.local.deploy import client
from infra.local.stack import Stack, down, up
from tests.stack.sandbox import until


def slow(step_id: str, seconds: float, **members: object) -> dict[str, object]:
    return {
        "id": step_id,
        "tool": "echo",
        "input": {"value": 1, "seconds": seconds},
        **members,
    }


PLAN = {"steps": [slow("a", 0), slow("b", 3, after=["a"]), slow("c", 0, after=["b"])]}


def in_the_middle(onward: Onward) -> str:
    """Submit a run and wait until its second step tells of its progress."""
    run_id: str = onward.submit(plan=PLAN)["run_id"]
    for event in onward.watch(run_id):
        if event["type"] == "onward.step.progress":
            break
    return run_id


def test_an_aborted_execution_is_replaced_by_the_next_generation(
    stack: Stack, onward: Onward
) -> None:
    """The rule on the execution's status wakes the patrol; finished steps stay finished."""
    run_id = in_the_middle(onward)
    driver = stack.outputs["DriverArn"].replace(":stateMachine:", ":execution:")
    machines = client("stepfunctions", stack)

    machines.stop_execution(executionArn=f"{driver}:{run_id}-1")
    until(lambda: onward.patrol() and onward.get(run_id)["generation"] > 1, seconds=70)
    events = list(onward.watch(run_id))

    run = onward.get(run_id)
    assert ("succeeded", 3) == (run["status"], run["counts"]["done"])
    succeeded = [e["data"]["step_id"] for e in events if e["type"].endswith("step.succeeded")]
    assert sorted(set(succeeded)) == sorted(succeeded)


def test_after_a_restart_of_the_emulator_runs_go_on_by_themselves(
    stack: Stack, onward: Onward, state: Path
) -> None:
    """No execution survives; `up` sends the patrol out and every run is carried on."""
    run_id = in_the_middle(onward)

    down(state)
    again = up(None, state, drills=True)

    with Onward(again.api_url, again.api_key) as back:
        types = [event["type"] for event in back.watch(run_id)]
        run = back.get(run_id)
        causes = {row["cause"]: row["count"] for row in back.recovery()["causes"]}
    assert "succeeded" == run["status"]
    assert 1 == types.count("onward.run.succeeded")
    assert causes


def test_a_patrol_with_nothing_to_repair_changes_nothing(onward: Onward) -> None:
    """Twice is as good as once; only sockets of before a restart may still be woken in vain.

    A wake-up that was in flight then holds its run's others back for a minute.
    """
    for _ in range(2):
        assert onward.patrol()["repairs"].keys() <= {"pushed_again"}
