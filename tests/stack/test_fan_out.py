"""A wide fan-out keeps its ten lanes busy."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from onward.client import Onward

from tests.stack.test_runs import echo, finish, kinds

LANES = 10
WIDE = 300
IDEAL = WIDE / LANES
"""Seconds, for items of one second."""

TURNS = 3


def fan_out(items: int, seconds: int) -> dict[str, Any]:
    waits = {"value": {"$ref": "item"}, "seconds": seconds, "quiet": True}
    return {
        "steps": [
            echo("list", list(range(items))),
            {
                "id": "each",
                "tool": "echo",
                "input": waits,
                "for_each": {"$ref": "steps.list.value"},
            },
            echo("all", {"$ref": "steps.each"}),
        ]
    }


def took(run: Any) -> float:
    """How long the fan-out itself lasted."""
    (each,) = (step for step in run["steps"] if step["id"] == "each")
    began, ended = (datetime.fromisoformat(each[name]) for name in ("started_at", "ended_at"))
    return (ended - began).total_seconds()


def test_a_wide_fan_out_takes_little_longer_than_its_items(onward: Onward) -> None:
    """Three hundred items of a second, ten at a time: 1.3 times the ideal is the limit.

    Its workers are warm. What a busy machine takes away in one turn says nothing of ours, so the
    best of a few turns counts.
    """
    finish(onward, fan_out(LANES, 1))

    best = float("inf")
    for _ in range(TURNS):
        run, events = finish(onward, fan_out(WIDE, 1))
        assert ("succeeded", WIDE + 2) == (run["status"], run["counts"]["attempts"])
        assert [{"value": at} for at in range(WIDE)] == run["result"]["value"]
        numbers = [int(event["sequence"]) for event in events]
        assert list(range(1, run["as_of_seq"] + 1)) == numbers
        assert WIDE + 2 == kinds(events)["step.succeeded"] - 1
        best = min(best, took(run))
        if best < 1.3 * IDEAL:
            break

    assert best < 1.3 * IDEAL
