"""Runs that infrastructure keeps from going on: told after an hour, and never taken for stalled."""

from __future__ import annotations

from typing import Any

import pytest
from onward.app.driving.resting import RESTS_SECONDS, rests
from onward.app.submitting.start_run import start_run
from onward.aws.engine import Engine, Execution
from onward.domain.limits import MAX_STALLS
from onward.domain.model import MAIN_LANE, Failure
from onward.domain.protocol import Fail, Recover, Settle

from tests.store.conftest import Time, new_client
from tests.store.runs import Journey


def resting(made: Journey, now: float) -> bool:
    return rests(made.drive.reader, made.run, now)


def test_a_driver_that_commits_nothing_for_an_hour_is_told_of(made: Journey, time: Time) -> None:
    """Lambda refuses what it asks for; no attempt takes as long."""
    assert not resting(made, time.now + RESTS_SECONDS - 1)
    assert resting(made, time.now + RESTS_SECONDS)


def test_a_step_that_is_kept_from_its_tool_for_an_hour_is_told_of(
    made: Journey, time: Time
) -> None:
    """However much its rests write into the log."""
    fence, began = 1, time.now
    while time.now < began + RESTS_SECONDS:
        assert not resting(made, time.now)
        lost = Recover("s1", fence, MAIN_LANE, "NotBegun", dead=False, called=False, jitter=0.5)
        time.sleep(made.move(lost).decision.seconds)
        fence = made.move(Settle()).decision.fence
    assert resting(made, time.now)
    assert (100, 0) == (made.run.retries_left, made.run.stalls)


def test_a_provider_that_is_waited_for_is_no_rest(made: Journey, time: Time) -> None:
    """It named the time itself."""
    limited = Failure("rate_limited", "slow down", retryable=True, retry_after=4 * RESTS_SECONDS)
    made.move(Fail("s1", 1, limited))
    assert not resting(made, time.now + 2 * RESTS_SECONDS)


def test_executions_that_are_stopped_before_they_begin_stall_no_run(
    made: Journey, engine: Engine
) -> None:
    """A fourth one is started like the first."""
    for generation in range(1, 2 * MAX_STALLS):
        assert Execution.STARTED is engine.start(made.run_id, generation)
        engine.stop(made.run_id, generation)
        until = made.drive.clock() + 60
        assert Execution.CUT is start_run(made.drive, engine, made.run_id, generation, until)
        assert (generation + 1, False) == (made.run.generation, made.run.stalled)


@pytest.fixture
def engine(aws: Any) -> Engine:
    client = new_client("stepfunctions")
    wait = '{"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 9, "End": true}}}'
    role = "arn:aws:iam::123456789012:role/driver"
    made = client.create_state_machine(name="driver", definition=wait, roleArn=role)
    return Engine(client, made["stateMachineArn"])
