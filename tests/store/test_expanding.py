from __future__ import annotations

import json
import math
from typing import Any

import pytest
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.model import RunStatus
from onward.domain.nesting import part_named

from tests import faults
from tests.store import scripted_tools as tools
from tests.store.driver import Driver
from tests.store.runs import Journey, journey, steps

LARGE = "x" * 5_000

pytestmark = pytest.mark.usefixtures("script")


@pytest.fixture
def begin(store: RunStore, reader: RunReader, blobs: Any, time: Any) -> Any:
    def of(added: list[dict[str, Any]]) -> tuple[Journey, Driver]:
        made = journey(store, reader, blobs, time, expanding(added))
        return made, Driver(made.drive, made.run_id)

    return of


def expanding(added: list[dict[str, Any]]) -> Any:
    return steps(
        {"id": "list", "tool": "read", "input": {"value": [1, 2]}},
        # As text: a plan's own template would fill in what refers to steps that are not there yet.
        {"id": "plan", "tool": "expand", "input": {"value": json.dumps(added)}},
        {"id": "sum", "tool": "read", "input": {"value": {"$ref": "steps.plan.added"}}},
    )


def read(step_id: str, value: Any, **members: Any) -> dict[str, Any]:
    return {"id": step_id, "tool": "read", "input": {"value": value}, **members}


def parts(made: Journey) -> set[str]:
    """The parts that were adopted."""
    rows = made.drive.reader.steps(made.run_id)
    return {part_named(row.step_id, row.fence) for row in rows if row.added}


def output(made: Journey, step_id: str) -> Any:
    row = made.drive.reader.rows(made.run_id, steps=[step_id]).steps[step_id]
    assert row is not None
    return row.output and row.output.text


def test_added_steps_run_and_what_waited_for_the_planner_sees_their_outputs(begin: Any) -> None:
    """Added steps may depend on each other; the planner's dependents wait for all of them."""
    added = [read("one", 1), read("two", ref("steps.one.value")), read("three", 3)]
    made, driver = begin(added)

    driver.execute()

    run = made.run
    assert (RunStatus.SUCCEEDED, 6, 6) == (run.status, run.done, run.steps_total)
    expected = '{"value":{"one":{"value":1},"three":{"value":3},"two":{"value":1}}}'
    assert expected == output(made, "sum")


def test_an_added_step_may_refer_to_what_has_ended(begin: Any) -> None:
    """The outputs of steps before the planner, and the planner's own, are at hand."""
    made, driver = begin([read("one", ref("steps.list.value.1"))])

    driver.execute()

    assert '{"value":2}' == output(made, "one")


def test_a_bad_extension_fails_its_step_naming_every_fault(begin: Any) -> None:
    """Cycle, unknown tool and an id that is taken are told together; nothing is stored."""
    added = [
        read("a", 1, after=["b"]),
        read("b", 1, after=["a"]),
        {"id": "c", "tool": "nonsense"},
        read("list", 1),
    ]
    made, driver = begin(added)

    driver.execute()

    failing = made.run.failing
    assert failing is not None
    assert RunStatus.FAILED is made.run.status
    assert ("plan", "invalid_input") == (failing.step_id, failing.failure.code)
    for word in ("cycle", "nonsense", "already"):
        assert word in failing.failure.message
    assert {"0"} == {planned.key.split("#")[0] for planned in made.drive.reader.plan(made.run_id)}


def test_a_planner_that_dies_after_writing_ahead_leaves_no_trace(begin: Any, time: Any) -> None:
    """The second attempt writes a part of its own; the first one's is never read."""
    made, driver = begin([read("one", 1)])
    lost = made.drive.store.commit

    def die_once(*arguments: Any) -> None:
        if made.run.open.keys() == {"plan"}:
            made.drive.store.commit = lost  # type: ignore[method-assign]
            raise tools.Died
        lost(*arguments)

    made.drive.store.commit = die_once  # type: ignore[method-assign]
    driver.execute()

    run = made.run
    assert (RunStatus.SUCCEEDED, {"plan.2"}, 4) == (run.status, parts(made), run.done)


def test_no_steps_added_is_no_extension(begin: Any) -> None:
    """A planner that finds nothing to do ends like any step."""
    made, driver = begin([])

    driver.execute()

    assert (RunStatus.SUCCEEDED, 3) == (made.run.status, made.run.steps_total)
    assert output(made, "sum") == '{"value":{}}'


@pytest.mark.parametrize("names", [("x", "y"), ("x", "x")], ids=["different", "same"])
def test_two_steps_that_add_steps_at_once_see_each_others(
    store: RunStore, reader: RunReader, blobs: Any, time: Any, dynamodb: Any, names: tuple[str, str]
) -> None:
    """Both are valid by themselves; the later commit is checked again, and no tool is called."""
    planners = [
        {"id": step_id, "tool": "expand", "input": {"value": json.dumps([read(name, 1)])}}
        for step_id, name in zip(("a", "b"), names, strict=True)
    ]
    made = journey(store, reader, blobs, time, steps(*planners))
    driver = Driver(made.drive, made.run_id)
    first, second = driver.settle(1, begin=True).lanes

    with faults.meanwhile(dynamodb, "TransactWriteItems", lambda: driver.attempt(second)):
        driver.attempt(first)
    while not made.run.status.ended:
        driver.follow(driver.settle(1), 1)

    run = made.run
    assert {1} == set(tools.CALLS.values())
    if names == ("x", "y"):
        assert (RunStatus.SUCCEEDED, {"b.1", "a.1"}, 4) == (run.status, parts(made), run.done)
    else:
        assert run.failing is not None
        assert (RunStatus.FAILED, "a") == (run.status, run.failing.step_id)
        assert "already" in run.failing.failure.message


def test_a_busy_table_does_not_make_a_planner_plan_again(begin: Any, dynamodb: Any) -> None:
    """It has answered, and was paid; its steps are written as soon as there is room."""
    made, driver = begin([read("one", 1)])

    with faults.throttled(dynamodb, "BatchWriteItem", times=3):
        driver.execute()

    assert (RunStatus.SUCCEEDED, {"plan.1"}) == (made.run.status, parts(made))
    assert {1} == set(tools.CALLS.values())


@pytest.mark.parametrize("operation", ["BatchWriteItem", "GetObject"])
def test_steps_are_fitted_to_the_run_as_soon_as_its_stores_have_room(
    store: RunStore, reader: RunReader, blobs: Any, time: Any, dynamodb: Any, operation: str
) -> None:
    """Another planner was first, and the store is busy when the steps are checked again."""
    planners = [
        {"id": step_id, "tool": "expand", "input": {"value": json.dumps([read(name, LARGE)])}}
        for step_id, name in (("a", "x"), ("b", "y"))
    ]
    made = journey(store, reader, blobs, time, steps(*planners))
    driver = Driver(made.drive, made.run_id)
    first, second = driver.settle(1, begin=True).lanes
    client = dynamodb if operation == "BatchWriteItem" else blobs._client

    with faults.refused(client, operation, "SlowDown", times=0) as fault:

        def be_first() -> None:
            driver.attempt(second)
            fault.times = 3

        with faults.meanwhile(dynamodb, "TransactWriteItems", be_first):
            driver.attempt(first)

    assert {"b.1", "a.1"} == parts(made)
    assert [1, 1] == list(tools.CALLS.values())


def ref(path: str) -> dict[str, str]:
    return {"$ref": path}


@pytest.mark.parametrize(("number", "said"), [(math.inf, "inf"), (math.nan, "nan")])
def test_a_number_that_json_lacks_is_refused_with_its_place(
    begin: Any, number: float, said: str
) -> None:
    """In added steps, where it came to be null."""
    made, driver = begin([read("far", [1, number])])

    driver.execute()

    row = made.drive.reader.rows(made.run_id, steps=["plan"]).steps["plan"]
    assert (RunStatus.FAILED, "invalid_output") == (made.run.status, row.error.code)
    assert f"steps.0.input.value.1: {said} is no JSON number" in row.error.message
    assert row.added == ()
