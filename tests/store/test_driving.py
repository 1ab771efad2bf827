from __future__ import annotations

from typing import Any

import pytest
from onward.app.driving.park_driver import park_driver
from onward.app.submitting.start_run import start_run
from onward.aws.engine import Engine, Execution
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.errors import InvalidInput, PermissionDenied, RateLimited, Transient
from onward.domain.model import Run, RunStatus, StepStatus

from tests import faults
from tests.store import scripted_tools as tools
from tests.store.conftest import new_client
from tests.store.driver import Driver
from tests.store.runs import Journey, journey, steps

pytestmark = pytest.mark.usefixtures("script")

CHAIN = steps(
    {"id": "a", "tool": "read", "input": {"value": {"$ref": "input"}}},
    {"id": "b", "tool": "native", "input": {"value": {"$ref": "steps.a.value"}}},
    {"id": "c", "tool": "read", "input": {"value": {"$ref": "steps.b"}}},
)
FAN = steps(
    {"id": "a", "tool": "read", "input": {"value": [{"n": n} for n in range(13)]}},
    {
        "id": "b",
        "tool": "read",
        "input": {"value": {"$ref": "item.n"}},
        "for_each": {"$ref": "steps.a.value"},
    },
    {"id": "c", "tool": "read", "input": {"value": {"$ref": "steps.b"}}},
)


@pytest.fixture
def begin(store: RunStore, reader: RunReader, blobs: Any, time: Any) -> Any:
    def of(plan: Any) -> tuple[Journey, Driver]:
        made = journey(store, reader, blobs, time, plan)
        return made, Driver(made.drive, made.run_id)

    return of


def types(made: Journey) -> list[str]:
    return [event.type for event in made.drive.reader.events(made.run_id, 0, 1000)]


def output(made: Journey, step_id: str) -> Any:
    row = made.drive.reader.rows(made.run_id, steps=[step_id]).steps[step_id]
    assert row is not None
    return row.output and row.output.text


def step_status(made: Journey, step_id: str) -> tuple[StepStatus, int]:
    row = made.drive.reader.rows(made.run_id, steps=[step_id]).steps[step_id]
    assert row is not None
    return row.status, row.tries


def ended(made: Journey) -> tuple[RunStatus, int, int]:
    run: Run = made.run
    return run.status, run.done, run.attempts


def test_a_chain_runs_each_tool_once_and_its_log_is_dense(begin: Any) -> None:
    """A chain needs one attempt a step, and the log numbers everything that happened."""
    made, driver = begin(CHAIN)

    driver.execute()

    assert (RunStatus.SUCCEEDED, 3, 3) == ended(made)
    assert ["step"] * 3 == driver.did
    assert '{"value":{"value":{}}}' == output(made, "c")
    events = made.drive.reader.events(made.run_id, 0, 1000)
    assert list(range(1, made.run.seq + 1)) == [event.seq for event in events]


def test_a_fan_out_hands_the_list_of_outputs_on(begin: Any) -> None:
    """Thirteen children run in ten lanes; the next step sees their outputs in order."""
    made, driver = begin(FAN)

    driver.execute()

    assert (RunStatus.SUCCEEDED, 3, 15) == ended(made)
    expected = ",".join(f'{{"value":{n}}}' for n in range(13))
    assert f'{{"value":[{expected}]}}' == output(made, "c")


@pytest.mark.parametrize("dead", ["a", "b", "c"])
def test_a_worker_that_dies_is_replaced_and_nothing_finished_runs_again(
    begin: Any, dead: str
) -> None:
    """Only the attempt that died is repeated, under a raised fence and the same key."""
    made, driver = begin(CHAIN)
    tools.SCRIPT[dead] = [tools.dies]

    driver.execute()

    assert (RunStatus.SUCCEEDED, 3, 4) == ended(made)
    assert {1: 2, 2: 1} == {n: list(tools.CALLS.values()).count(n) for n in (1, 2)}
    assert 1 == types(made).count("step.taken_over")


def test_a_dead_lane_loses_only_its_own_attempt(begin: Any) -> None:
    """A death in one of ten lanes repeats one child."""
    made, driver = begin(FAN)
    tools.SCRIPT["b.7"] = [tools.dies]

    driver.execute()

    assert (RunStatus.SUCCEEDED, 3, 16) == ended(made)
    assert [2] == [count for count in tools.CALLS.values() if count > 1]


def test_a_lost_commit_reply_is_recognised_as_our_own(begin: Any, dynamodb: Any) -> None:
    """The commit went through and its reply did not: the step is not run again."""
    made, driver = begin(CHAIN)

    with faults.lost_reply(dynamodb, "TransactWriteItems", times=4):
        driver.execute()

    assert (RunStatus.SUCCEEDED, 3, 3) == ended(made)
    assert {1} == set(tools.CALLS.values())


def test_a_worker_that_dies_after_its_commit_is_not_asked_again(begin: Any) -> None:
    """Recover finds the attempt closed and re-fences what it had claimed next."""
    made, driver = begin(CHAIN)
    first = driver.settle(1, begin=True)
    driver.attempt(first)

    decision = driver.recover(first, "Runtime.ExitError")

    assert ("b", 2) == (decision.step_id, decision.fence)
    assert (StepStatus.SUCCEEDED, 0) == step_status(made, "a")


def test_an_attempt_that_lambda_had_no_room_for_rests(begin: Any, time: Any) -> None:
    """The driver's own tries are spent: the step keeps its attempts, and its lane is free."""
    made, driver = begin(CHAIN)
    first = driver.settle(1, begin=True)

    driver.follow(driver.recover(first, "Lambda.TooManyRequestsException"), 1)

    assert (RunStatus.SUCCEEDED, 3, 3) == ended(made)
    assert max(time.naps) >= 20
    assert {1} == set(tools.CALLS.values())


def test_a_version_that_is_gone_asks_a_person(begin: Any) -> None:
    """However many attempts its step has left."""
    made, driver = begin(CHAIN)
    first = driver.settle(1, begin=True)

    driver.follow(driver.recover(first, "Lambda.ResourceNotFoundException"), 1)

    assert RunStatus.NEEDS_RECONCILIATION is made.run.status
    assert {} == dict(tools.CALLS)


def test_a_zombie_can_commit_nothing(begin: Any) -> None:
    """An attempt that was taken over is refused, and its write is not even sent."""
    made, driver = begin(CHAIN)
    first = driver.settle(1, begin=True)
    second = driver.recover(first, "States.Timeout")

    driver.attempt(first)

    assert 0 == sum(tools.CALLS.values())
    assert second.fence < made.run.seq
    assert types(made).count("step.succeeded") == 0


def test_transient_errors_back_off_within_the_budget(begin: Any) -> None:
    """Three failures of four attempts are survived; the log says why each was retried."""
    made, driver = begin(CHAIN)
    tools.SCRIPT["a"] = [tools.raises(Transient("busy"))] * 3

    driver.execute()

    assert (RunStatus.SUCCEEDED, 3, 6) == ended(made)
    assert 3 == types(made).count("step.retrying")


@pytest.mark.parametrize("error", [InvalidInput("no"), PermissionDenied("no"), ValueError("no")])
def test_what_cannot_be_helped_by_a_retry_is_tried_once(begin: Any, error: Exception) -> None:
    """Invalid input and missing permission fail at once; a bug is tried as often as allowed."""
    made, driver = begin(CHAIN)
    tools.SCRIPT["a"] = [tools.raises(error)] * 9

    driver.execute()

    tried = 4 if isinstance(error, ValueError) else 1
    assert (RunStatus.FAILED, 0, tried) == ended(made)
    assert made.run.failing is not None
    assert "a" == made.run.failing.step_id


def test_a_long_rate_limit_parks_the_driver(begin: Any, time: Any) -> None:
    """A wait over five seconds holds no lane: the driver parks and settles when it is over."""
    made, driver = begin(CHAIN)
    tools.SCRIPT["a"] = [tools.raises(RateLimited(retry_after=30.0))]

    driver.execute()

    assert (RunStatus.SUCCEEDED, 3, 4) == ended(made)
    assert "wait" in driver.did
    assert max(time.naps) >= 30.0
    assert ["run.waiting", "run.resumed"] == [t for t in types(made) if t.startswith("run.")][2:4]


def test_a_park_that_was_refused_for_long_does_not_wait_as_long_again(
    begin: Any, time: Any
) -> None:
    """Its task waits as long as the decision said; settle says how much of that is left."""
    made, driver = begin(CHAIN)
    tools.SCRIPT["a"] = [tools.raises(RateLimited(retry_after=30.0))]
    wait = driver.attempt(driver.settle(1, begin=True))
    time.sleep(20)
    answered: list[str] = []

    slept = park_driver(made.drive, made.run_id, 1, "late", answered.append, wait.seconds)

    assert (False, ["late"]) == (slept, answered)
    wait = driver.settle(1)
    assert park_driver(made.drive, made.run_id, 1, "soon", answered.append, wait.seconds)


def test_a_write_nobody_can_vouch_for_waits_for_a_person(begin: Any) -> None:
    """Without a key or a probe a lost write is unknown: it is not sent again."""
    plan = steps({"id": "pay", "tool": "once", "input": {"value": 1}})
    made, driver = begin(plan)
    tools.SCRIPT["pay"] = [tools.dies]

    driver.execute()

    assert RunStatus.NEEDS_RECONCILIATION is made.run.status
    assert [1] == list(tools.CALLS.values())


def test_a_start_that_is_delivered_twice_starts_once(begin: Any, engine: Engine) -> None:
    """The execution's name makes a second message harmless while the first one runs."""
    made, _ = begin(CHAIN)
    until = made.drive.clock() + 60

    states = [start_run(made.drive, engine, made.run_id, 1, until) for _ in range(2)]

    assert Execution.STARTED is states[0]
    assert Execution.CLOSED not in states
    assert (1, 1) == (made.run.generation, made.run.seq)


def test_the_next_generation_carries_on_where_a_dead_execution_stopped(
    begin: Any, engine: Engine
) -> None:
    """A second execution fences the first, repeats its open attempt and nothing else."""
    made, driver = begin(CHAIN)
    engine.start(made.run_id, 1)
    stop_execution(engine, f"{made.run_id}-1")
    second = driver.attempt(driver.settle(1, begin=True))

    start_run(made.drive, engine, made.run_id, 1, made.drive.clock() + 60)
    driver.execute(generation=2)
    late = driver.attempt(second)

    assert (RunStatus.SUCCEEDED, 3, 4) == ended(made)
    assert "stop" == late.do.value
    assert 2 == made.run.generation


@pytest.fixture
def engine(aws: None) -> Engine:
    """The driver in moto: its executions are found by name, and never move."""
    client = new_client("stepfunctions")
    machine = client.create_state_machine(
        name="driver",
        definition='{"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 9, "End": true}}}',
        roleArn="arn:aws:iam::123456789012:role/driver",
    )
    return Engine(client, machine["stateMachineArn"])


def stop_execution(engine: Engine, name: str) -> None:
    client = new_client("stepfunctions")
    arn = engine.driver_arn.replace(":stateMachine:", ":execution:")
    client.stop_execution(executionArn=f"{arn}:{name}")
