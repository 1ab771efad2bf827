"""Lambda refuses every invocation of a run for two hours of its clock; no budget is less for it.

The pauses are those of `driver.asl.json`, the functions and the store are the real ones.
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from onward.app.service import Service
from onward.aws.run_reader import RunReader
from onward.domain.errors import RateLimited, Transient
from onward.domain.model import RunStatus

from tests.driver_model import TOO_MANY, Refusals, States, states
from tests.store import scripted_tools as tools
from tests.store.conftest import Time
from tests.store.refused_driver import RefusedDriver
from tests.store.runs import journey, steps

pytestmark = pytest.mark.usefixtures("script")

HOURS = 2 * 3600.0
SETUP = [{"id": "list", "tool": "read", "input": {"value": [{"n": n} for n in range(10)]}}]
PLANS: dict[str, Any] = {
    "one lane": steps(
        *SETUP,
        {"id": "pay", "tool": "native", "input": {"value": {"$ref": "steps.list.value"}}},
        {"id": "end", "tool": "read", "input": {"value": {"$ref": "steps.pay"}}},
    ),
    "ten lanes": steps(
        *SETUP,
        {
            "id": "pay",
            "tool": "native",
            "input": {"value": {"$ref": "item.n"}},
            "for_each": {"$ref": "steps.list.value"},
        },
        {"id": "end", "tool": "read", "input": {"value": {"$ref": "steps.pay"}}},
    ),
}
FLAKY: dict[str, list[Callable[[], object]]] = {
    "list": [tools.dies, tools.raises(RateLimited("slow down", retry_after=300))],
    "pay": [tools.dies],
    "pay[3]": [tools.dies],
    "pay[7]": [tools.raises(Transient("busy"))],
    "end": [tools.dies],
}
"""So that each state of the driver is entered: a retry that parks, one in a lane, and deaths."""

Left = dict[str, Any]
Drive = Callable[..., tuple[Left, Refusals]]


@pytest.fixture
def drive(service: Service, time: Time) -> Drive:
    """Runs a plan while Lambda refuses, and returns what is left of its budgets."""
    numbers = itertools.count()

    def run(
        name: str, first: int = 0, machine: States | None = None, error: str = TOO_MANY
    ) -> tuple[Left, Refusals]:
        tools.CALLS.clear()
        tools.SCRIPT.update({step: list(acts) for step, acts in FLAKY.items()})
        run_id = f"run_{next(numbers):04d}"
        blobs = service.blobs("acme")
        made = journey(service.store, service.reader, blobs, time, PLANS[name], run_id)
        chance = Random(first).random
        refusals = Refusals(machine or states(), chance, first, HOURS)
        RefusedDriver(made.drive, run_id, parks=100, refusals=refusals, error=error).to_the_end()
        return _left(made.drive.reader, run_id), refusals

    return run


def _left(reader: RunReader, run_id: str) -> Left:
    """Return a run's budgets, and how often each tool was called.

    An attempt whose time was up when it was taken at last began nothing and is opened again: that
    is no other attempt.
    """
    run = reader.run(run_id)
    assert run is not None
    return {
        "status": run.status,
        "generation": run.generation,
        "stalls": run.stalls,
        "attempts": run.attempts,
        "retries_left": run.retries_left,
        "usage": run.usage,
        "steps": {s.step_id: (s.status, s.tries, s.freezes) for s in reader.steps(run_id)},
        "calls": sorted(tools.CALLS.values()),
    }


def without(state: str) -> States:
    """Return the template without a state's retrier of refusals."""
    machine = copy.deepcopy(states())
    kept = [each for each in machine[state]["Retry"] if TOO_MANY not in each["ErrorEquals"]]
    machine[state]["Retry"] = kept
    return machine


def firsts(asked: list[str]) -> list[int]:
    """Return the first invocation by each state, and the last of all."""
    return sorted({asked.index(state) + 1 for state in asked} | {len(asked)})


@pytest.mark.parametrize("name", PLANS)
def test_two_hours_of_refusals_take_nothing_off(drive: Drive, name: str) -> None:
    """From each kind of invocation on, in turn, everything is refused; the run ends as ever."""
    calm, golden = drive(name)
    assert RunStatus.SUCCEEDED is calm["status"]

    refused: Counter[str] = Counter()
    for first in firsts(golden.asked):
        left, refusals = drive(name, first)
        assert calm == left, f"refused from invocation {first} on: {refusals.refused}"
        refused += refusals.refused

    assert refused.keys() == set(golden.asked) >= {"Begin", "RunStep", "Recover", "Settle", "Park"}
    assert (name == "ten lanes") == (refused.keys() >= {"LaneStep", "LaneRecover"})
    assert min(refused.values()) > HOURS / 60


@pytest.mark.parametrize("state", ["Begin", "Recover", "Settle", "LaneRecover"])
def test_without_a_retrier_of_refusals_they_would(drive: Drive, state: str) -> None:
    """The other retriers end within the hour, and with them the execution or its lanes."""
    calm, golden = drive("ten lanes")
    left, _ = drive("ten lanes", golden.asked.index(state) + 1, without(state))
    assert calm != left


@pytest.mark.parametrize(("name", "state"), [("one lane", "RunStep"), ("ten lanes", "LaneStep")])
@pytest.mark.parametrize(("error", "same"), [(TOO_MANY, True), ("Lambda.Unknown", False)])
def test_a_refused_attempt_that_is_caught_costs_nothing_either(
    drive: Drive, name: str, state: str, error: str, *, same: bool
) -> None:
    """Without the retrier, `recover` knows that nothing began; were it counted, it would cost."""
    calm, golden = drive(name)
    left, refusals = drive(name, golden.asked.index(state) + 1, without(state), error)
    assert refusals.refused[state]
    assert same == (calm == left)
