"""Runs through the whole stack: API, stream, queue, driver, workers."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from onward.client import CloudEvent, Onward, OnwardProblem

from infra.local.stack import Stack
from infra.local.workers import kill

CALLERS = 20


def echo(step_id: str, value: Any, **members: Any) -> dict[str, Any]:
    return {"id": step_id, "tool": "echo", "input": {"value": value}, **members}


def chain(length: int) -> dict[str, Any]:
    return {
        "steps": [
            echo(f"s{n}", {"$ref": f"steps.s{n - 1}.value"} if n else "hello")
            for n in range(length)
        ]
    }


def follow(onward: Onward, run_id: str) -> list[CloudEvent]:
    return list(onward.watch(run_id))


def kinds(events: list[CloudEvent]) -> Counter[str]:
    return Counter(event["type"].removeprefix("onward.") for event in events)


def finish(onward: Onward, plan: dict[str, Any], **options: Any) -> tuple[Any, list[CloudEvent]]:
    run_id = onward.submit(plan=plan, **options)["run_id"]
    events = follow(onward, run_id)
    return onward.get(run_id), events


def test_a_long_chain_ends_and_its_log_is_dense(onward: Onward) -> None:
    """Three hundred steps, one attempt each; the log numbers every event once."""
    run, events = finish(onward, chain(300))

    assert ("succeeded", 300, 300) == (
        run["status"],
        run["counts"]["done"],
        run["counts"]["attempts"],
    )
    assert {"value": "hello"} == run["result"]
    numbers = [int(event["sequence"]) for event in events]
    assert list(range(1, run["as_of_seq"] + 1)) == numbers


def test_a_worker_killed_in_the_middle_of_a_step_costs_that_attempt_only(
    onward: Onward, stack: Stack, state: Path
) -> None:
    """The step is tried again by another process; what was finished stays finished."""
    plan = {
        "steps": [
            echo("before", 1),
            {
                "id": "slow",
                "tool": "echo",
                "input": {"value": {"$ref": "steps.before.value"}, "seconds": 2},
            },
            echo("behind", {"$ref": "steps.slow.value"}),
        ]
    }
    run_id = onward.submit(plan=plan)["run_id"]
    seen: list[CloudEvent] = []

    killed = 0
    for event in onward.watch(run_id):
        seen.append(event)
        if event["type"] == "onward.step.progress" and not killed:
            killed = kill(state, stack.outputs["ExecuteStepFunction"])

    run = onward.get(run_id)
    assert killed > 0
    assert ("succeeded", 4) == (run["status"], run["counts"]["attempts"])
    assert (3, 1) == (kinds(seen)["step.succeeded"], kinds(seen)["step.taken_over"])
    (taken,) = (event["data"] for event in seen if event["type"] == "onward.step.taken_over")
    assert ("slow", True) == (taken["step_id"], taken["dead_for_sure"])


def test_every_worker_killed_at_once_costs_their_attempts_only(
    onward: Onward, stack: Stack, state: Path
) -> None:
    """Lanes recover one by one; the fan-out still hands on every value in order."""
    plan = {
        "steps": [
            echo("list", [{"n": n} for n in range(12)]),
            {
                "id": "each",
                "tool": "echo",
                "input": {"value": {"$ref": "item.n"}, "seconds": 1},
                "for_each": {"$ref": "steps.list.value"},
            },
            echo("all", {"$ref": "steps.each"}),
        ]
    }
    run_id = onward.submit(plan=plan)["run_id"]
    killed = 0
    for event in onward.watch(run_id):
        if event["type"] == "onward.step.progress" and not killed:
            killed = kill(state, stack.outputs["ExecuteStepFunction"])

    run = onward.get(run_id)
    assert "succeeded" == run["status"]
    assert 14 < run["counts"]["attempts"] <= 14 + killed
    assert {"value": [{"value": n} for n in range(12)]} == run["result"]


def test_one_key_makes_one_run_however_often_it_comes(onward: Onward) -> None:
    """Twenty submissions at once with one Idempotency-Key name the same run."""
    with ThreadPoolExecutor(CALLERS) as pool:
        submitted = [
            pool.submit(onward.submit, plan=chain(2), key="one-order") for _ in range(CALLERS)
        ]

    assert 1 == len({made.result()["run_id"] for made in submitted})


def test_a_key_that_comes_back_with_another_body_is_refused(onward: Onward) -> None:
    """The same key for something else is the caller's mistake and is told so."""
    onward.submit(plan=chain(2), key="two-orders")

    with pytest.raises(OnwardProblem) as refused:
        onward.submit(plan=chain(3), key="two-orders")

    assert "idempotency_key_reused" == refused.value.code


def test_the_same_file_and_key_are_the_same_run(onward: Onward) -> None:
    """A command that is repeated with its file uploads the same reference, so the body is equal."""

    def again() -> str:
        artifact = onward.upload("words.txt", b"to be or not to be")
        return onward.submit(plan=chain(1), input=artifact, key="with-a-file")["run_id"]

    assert again() == again()


def test_a_plan_with_three_faults_hears_of_all_three(onward: Onward) -> None:
    """Unknown tool, missing step and cycle are named together."""
    plan = {
        "steps": [
            {"id": "a", "tool": "no-such-tool"},
            echo("b", {"$ref": "steps.nowhere.value"}),
            echo("c", 1, after=["d"]),
            echo("d", 1, after=["c"]),
        ]
    }

    with pytest.raises(OnwardProblem) as refused:
        onward.submit(plan=plan)

    assert ("invalid_plan", 3) == (refused.value.code, len(refused.value.errors))


def test_a_long_back_off_parks_the_driver_and_goes_on(onward: Onward) -> None:
    """A provider asks for six seconds: the run waits visibly, then goes on by itself."""
    plan = {
        "steps": [
            {
                "id": "busy",
                "tool": "flaky",
                "input": {"value": 1, "error": "rate_limited", "retry_after": 6},
            }
        ]
    }

    run, events = finish(onward, plan)

    assert ("succeeded", 2) == (run["status"], run["counts"]["attempts"])
    assert (1, 1) == (kinds(events)["run.waiting"], kinds(events)["run.resumed"])


@pytest.mark.parametrize("error", ["invalid", "permission"])
def test_what_a_retry_cannot_help_is_tried_once(onward: Onward, error: str) -> None:
    """The run fails with the tool's own words."""
    plan = {"steps": [{"id": "no", "tool": "flaky", "input": {"error": error}}]}

    run, _ = finish(onward, plan)

    assert ("failed", 1) == (run["status"], run["counts"]["attempts"])
    assert "attempt 1 of 1" in run["error"]["message"]
