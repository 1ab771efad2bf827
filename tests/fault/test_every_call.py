"""Each service call of a golden run goes wrong once, in each way; every run ends the same.

One case again: pytest tests/fault/test_every_call.py -k 'reply-lost-17'
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws
from onward.app.driving.carry_out import Drive
from onward.aws.blobs import Blobs
from onward.aws.idempotency import Once
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.machine import submit
from onward.domain.model import Payload, RunStatus
from onward.domain.plan import compile_plan
from onward.domain.submission import Submission

from tests.fault import receiver
from tests.fault.course import Mortal, to_the_end
from tests.fault.strike import Mode, strike
from tests.fault.tools import TOOLS
from tests.store.conftest import BUCKET, IDEMPOTENCY, RUNS, Time, make_tables, new_client

REGION = "eu-central-1"
RUN_ID = "run_golden"
WRITES = ("pay", "book", "ship", "post")
LARGE = "x" * 5_000

PLAN = {
    "steps": [
        {"id": "see", "tool": "look", "input": {"value": LARGE}},
        {"id": "pay", "tool": "keyed", "input": {"value": {"$ref": "steps.see.value"}}},
        {"id": "ship", "tool": "fenced", "input": {"value": 1}, "after": ["pay"]},
        {"id": "book", "tool": "probed", "input": {"value": 2}, "after": ["pay"]},
        {"id": "post", "tool": "unkeyed", "input": {"value": 3}, "after": ["ship", "book"]},
    ]
}


@pytest.fixture(autouse=True)
def outside() -> Iterator[None]:
    receiver.forget()
    yield
    receiver.forget()


def begin(time: Time) -> tuple[Mortal, list[Any]]:
    """Make the tables, submit the golden run and return what drives it, with its clients."""
    dynamodb, s3 = new_client("dynamodb"), new_client("s3")
    make_tables(dynamodb)
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    drive = Drive(
        reader=RunReader(dynamodb, RUNS),
        store=RunStore(dynamodb, RUNS),
        blobs=lambda tenant: Blobs(s3, BUCKET, tenant),
        clock=time.clock,
        new_id=iter(map(str, range(10_000))).__next__,
        chance=lambda: 0.0,
        sleep=time.sleep,
    )
    plan = compile_plan(PLAN, TOOLS)
    run, event = submit(
        run_id=RUN_ID, tenant="acme", workflow="plan", worker="arn", plan=plan, now=time.clock()
    )
    rows = [plan.roots, *plan.steps]
    drive.store.create(run, Submission(Payload("{}")), rows, event, "birth")
    once = Once(dynamodb, IDEMPOTENCY, "execute_step", 3600)
    observer = RunReader(new_client("dynamodb"), RUNS)
    return Mortal(drive, RUN_ID, parks=50, once=once, observer=observer), [dynamodb, s3]


def golden(monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many service calls an undisturbed run makes."""
    environment(monkeypatch)
    receiver.forget()
    with mock_aws():
        driver, clients = begin(Time())
        with strike(clients, None, Mode.DIES_BEFORE) as calls:
            to_the_end(driver)
    receiver.forget()
    return calls.made


def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "at" in metafunc.fixturenames:
        with pytest.MonkeyPatch.context() as monkeypatch:
            count = golden(monkeypatch)
        cases = [(mode, at) for mode in Mode for at in range(count)]
        metafunc.parametrize(("mode", "at"), cases, ids=[f"{mode}-{at}" for mode, at in cases])


def test_one_fault_changes_nothing_outside(
    mode: Mode, at: int, time: Time, aws_names: None
) -> None:
    """The run ends, each write has one effect, no finished step runs again, the log is dense."""
    with mock_aws():
        driver, clients = begin(time)
        with strike(clients, at, mode) as calls:
            run = to_the_end(driver)
        log = driver.observer.events(RUN_ID, 0, 1_000) if driver.observer else []

    assert calls.struck, "the fault did not strike"
    assert (RunStatus.SUCCEEDED, 5) == (run.status, run.done), calls.struck
    assert dict.fromkeys(WRITES, 1) == dict(receiver.OUTSIDE.effects), calls.struck
    assert list(range(1, run.seq + 1)) == [event.seq for event in log]
    ended = [event.data["step_id"] for event in log if event.type == "step.succeeded"]
    assert sorted(set(ended)) == sorted(ended)
    assert "run.succeeded" == log[-1].type


@pytest.fixture
def aws_names(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch)


@pytest.fixture
def time() -> Time:
    return Time()
