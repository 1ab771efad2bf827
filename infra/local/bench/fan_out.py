"""A wide fan-out, driven without Step Functions: every lane is a process, as a worker is.

What is left out is the driver's own time, so that conflicts and units are those of the commits.
"""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

from infra.local.bench.calls import Cost, context, enter, meter, submit_plan

if TYPE_CHECKING:
    from infra.local.stack import Stack


def child_costs(stack: Stack, items: int) -> tuple[float, list[Cost]]:
    """Fan out over so many items of one second; return the seconds and what each child cost."""
    enter(stack)
    # Imported only now: the handlers read their environment once.
    import execute_step
    import settle

    event = {"run_id": submit_plan(_wide(items)), "generation": 1}
    decision = settle.handler(event | {"begin": True}, context())
    while decision["do"] == "step":
        decision = execute_step.handler(decision, context())
    lanes = decision["lanes"]
    spawned = multiprocessing.get_context("spawn")  # a fork would share connections
    with ProcessPoolExecutor(len(lanes), mp_context=spawned) as pool:
        list(pool.map(_warm, lanes))
        started = time.monotonic()
        found = [cost for costs in pool.map(_lane, lanes) for cost in costs]
    took = time.monotonic() - started
    return took, sorted(found, key=lambda cost: int(cost.step_id.rpartition(".")[2]))


def _warm(_lane: Any) -> None:
    """Import what a worker imports, before anything is timed."""
    import execute_step

    execute_step.attempts()  # type: ignore[attr-defined]


def _lane(decision: dict[str, Any]) -> list[Cost]:
    """Follow one lane to its end."""
    import execute_step

    costs: list[Cost] = []
    meter(costs)
    while decision["do"] in {"step", "delay"}:
        time.sleep(decision.get("seconds", 0))
        costs.append(Cost(decision["step_id"]))
        decision = execute_step.handler(decision, context())
    return costs


def _wide(items: int) -> dict[str, Any]:
    """Return a plan that lists items and echoes each, quietly: progress is a commit too."""
    each = {"value": {"$ref": "item"}, "seconds": 1, "quiet": True}
    return {
        "steps": [
            {"id": "list", "tool": "echo", "input": {"value": list(range(items))}},
            {
                "id": "each",
                "tool": "echo",
                "input": each,
                "for_each": {"$ref": "steps.list.value"},
            },
        ]
    }
