"""The tables are throttled for a minute from each service call of a golden run on, in turn.

One case again: pytest tests/fault/test_throttled.py -k 'busy-17'
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from moto import mock_aws
from onward.aws.run_reader import RunReader
from onward.domain.limits import DEFAULT_RUN_RETRIES
from onward.domain.model import Run, RunStatus, Step

from tests.fault import receiver
from tests.fault.course import to_the_end
from tests.fault.strike import Calls, busy
from tests.fault.test_every_call import RUN_ID, WRITES, begin, environment
from tests.store.conftest import RUNS, Time, new_client

SECONDS = 60.0
IDS = ("see", *WRITES)


def throttled(at: int) -> tuple[Run, dict[str, Step | None], Calls]:
    """Return how a run ended whose tables were busy from a call on, and its steps."""
    time = Time()
    receiver.forget()
    with mock_aws():
        driver, (dynamodb, _) = begin(time)
        driver.drive = replace(driver.drive, chance=lambda: 0.5)
        with busy(dynamodb, at, time.clock, SECONDS) as calls:
            run = to_the_end(driver)
        steps = RunReader(new_client("dynamodb"), RUNS).rows(RUN_ID, steps=IDS).steps
    return run, steps, calls


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "at" in metafunc.fixturenames:
        with pytest.MonkeyPatch.context() as monkeypatch:
            environment(monkeypatch)
            calls = throttled(-1)[2]
        metafunc.parametrize("at", range(calls.made), ids=[f"busy-{n}" for n in range(calls.made)])


def test_busy_tables_take_nothing_off_a_run(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It succeeds with every budget as without, and each write has one effect."""
    environment(monkeypatch)

    run, steps, calls = throttled(at)

    assert calls.struck, "the fault did not strike"
    assert (RunStatus.SUCCEEDED, 5) == (run.status, run.done), calls.struck
    assert DEFAULT_RUN_RETRIES == run.retries_left, calls.struck
    tries: dict[str, Any] = {step_id: row and row.tries for step_id, row in steps.items()}
    assert dict.fromkeys(IDS, 0) == tries, calls.struck
    assert dict.fromkeys(WRITES, 1) == dict(receiver.OUTSIDE.effects), calls.struck
    receiver.forget()
