"""A wide fan-out: how long it takes on the stack, and what each child of it costs.

The costs are counted without Step Functions, in processes of the bench, one a lane, as workers are.
"""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from onward.client import Onward

from infra.local.bench.calls import Cost, context, enter, meter, submit_plan

if TYPE_CHECKING:
    from infra.local.stack import Stack

_LANES: Final = 10


def fan_out_seconds(stack: Stack, items: int) -> float:
    """Return how long the stack takes for items of one second, once its workers are warm."""
    with Onward(stack.api_url, stack.api_key) as onward:
        for wide in (_LANES, items):
            run_id = onward.submit(plan=_wide(wide))["run_id"]
            for _ in onward.watch(run_id):
                pass
        (each,) = (step for step in onward.get(run_id)["steps"] if step["id"] == "each")
    began, ended = (datetime.fromisoformat(str(each[at])) for at in ("started_at", "ended_at"))
    return (ended - began).total_seconds()


def child_costs(stack: Stack, items: int) -> list[Cost]:
    """Fan out over so many items of one second and return what each child cost."""
    enter(stack)
    # Imported only now: the handlers read their environment once.
    import execute_step
    import settle

    event = {"run_id": submit_plan(_wide(items)), "generation": 1}
    decision = settle.handler(event | {"begin": True}, context())
    while decision["do"] == "step":
        decision = execute_step.handler(decision, context())
    spawned = multiprocessing.get_context("spawn")  # a fork would share connections
    with ProcessPoolExecutor(_LANES, mp_context=spawned) as pool:
        found = [cost for costs in pool.map(_lane, decision["lanes"]) for cost in costs]
    return sorted(found, key=lambda cost: int(cost.step_id.rpartition(".")[2]))


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
