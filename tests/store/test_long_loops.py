"""Loops whose every turn adds the next one, and what reading them takes."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from onward.app.reading.read_run import read_run
from onward.app.service import Service
from onward.domain.errors import InvalidInput
from onward.domain.model import Json, RunStatus
from onward.domain.protocol import Resume

from tests import faults
from tests.store import scripted_tools as tools
from tests.store.conftest import RUNS, Time
from tests.store.delivering import World, world
from tests.store.driver import Driver
from tests.store.runs import RUN_ID, chain, steps

pytestmark = pytest.mark.usefixtures("script")

TURNS = 40
"""More is slow in moto; two hundred are tests/unit/test_machine_nesting.py's."""

FAILS_AT = 10
ROW_BYTES = 1_024


def planner(added: list[dict[str, Any]], **members: Json) -> dict[str, Any]:
    return {"id": "plan", "tool": "expand", "input": {"value": json.dumps(added)}, **members}


def statuses(here: World) -> Counter[str]:
    document = read_run(here.service, "acme", RUN_ID).document
    assert document is not None
    return Counter(step["status"] for step in document["steps"])


def test_a_long_loop_fails_is_resumed_and_ends(service: Service, time: Time, dynamodb: Any) -> None:
    """A level above another is under way as long as the run is; the run row stays small."""
    first = {"id": f"d{TURNS}", "tool": "dig", "input": {"value": TURNS}}
    here = world(service, time, steps(first))
    tools.SCRIPT[f"d{FAILS_AT}"] = [tools.raises(InvalidInput("no"))]
    sent = faults.calls(dynamodb, "TransactWriteItems")
    driver = Driver(here.made.drive, RUN_ID)

    driver.execute()
    assert (RunStatus.FAILED, f"d{FAILS_AT}") == (
        here.run.status,
        here.run.failing and here.run.failing.step_id,
    )
    assert {"cancelled": TURNS - FAILS_AT, "failed": 1} == statuses(here)

    here.made.move(Resume("op", (f"d{FAILS_AT}",)), None)
    driver.execute(2)
    assert (RunStatus.SUCCEEDED, TURNS + 1) == (here.run.status, here.run.done)
    assert {"succeeded": TURNS + 1} == statuses(here)
    assert max(len(call["TransactItems"]) for call in sent) <= 60
    row = service.reader.item(f"RUN#{RUN_ID}", "RUN")
    assert (
        sum(len(name) + len(str(*held.values())) for name, held in (row or {}).items()) < ROW_BYTES
    )


@pytest.mark.parametrize("refers", [[], ["list", "one"]], ids=["to nothing", "to two steps"])
def test_a_planner_reads_only_what_its_steps_refer_to(
    service: Service, time: Time, dynamodb: Any, refers: list[str]
) -> None:
    """Not every child of every fan-out: there may be ten thousand."""
    children = 30
    added = [{"id": "new", "tool": "read", "input": {"value": [ref(f"steps.{s}") for s in refers]}}]
    plan = steps(
        {"id": "list", "tool": "read", "input": {"value": list(range(children))}},
        {"id": "one", "tool": "read", "input": {"value": 1}},
        {
            "id": "each",
            "tool": "read",
            "for_each": ref("steps.list.value"),
            "input": {"value": ref("item")},
        },
        planner(added, after=["each", "one"]),
    )
    here = world(service, time, plan)
    read: list[str] = []

    def look() -> None:
        dynamodb.meta.events.register("after-call.dynamodb", note)

    def note(parsed: dict[str, Any], **_: Any) -> None:
        rows = parsed.get("Items", []) + parsed.get("Responses", {}).get(RUNS, [])
        read.extend(row["sk"]["S"] for row in rows if row["sk"]["S"].startswith("STEP#"))

    tools.SCRIPT["plan"] = [look]
    tools.SCRIPT["new"] = [lambda: dynamodb.meta.events.unregister("after-call.dynamodb", note)]
    Driver(here.made.drive, RUN_ID).execute()

    assert RunStatus.SUCCEEDED is here.run.status
    assert {f"STEP#{step_id}" for step_id in [*refers, "new"]} >= set(read)
    assert len(read) <= len(refers) + 4


@pytest.mark.parametrize("added", [False, True], ids=["a plain step", "an added step"])
def test_a_snapshot_of_a_quiet_run_is_read_once(
    service: Service, time: Time, dynamodb: Any, *, added: bool
) -> None:
    """The run row twice, plan, steps and effects once: also while steps run that another added."""
    one = {"id": "one", "tool": "read", "input": {"value": 1}}
    here = world(service, time, steps(planner([one])) if added else chain(1))
    calls: Counter[str] = Counter()

    def look() -> None:
        def counted(model: Any, **_: Any) -> None:
            calls[model.name] += 1

        dynamodb.meta.events.register("before-parameter-build.dynamodb", counted)
        read_run(service, "acme", RUN_ID)
        dynamodb.meta.events.unregister("before-parameter-build.dynamodb", counted)

    tools.SCRIPT["one" if added else "s1"] = [look]
    Driver(here.made.drive, RUN_ID).execute()

    assert {"GetItem": 2, "Query": 3, "BatchGetItem": 1} == calls


def ref(path: str) -> dict[str, str]:
    return {"$ref": path}
