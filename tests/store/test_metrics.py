from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from onward import metrics
from onward.app.driving.carry_out import carry_out
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain import protocol
from onward.domain.errors import PermissionDenied, Transient
from onward.domain.limits import MAX_LANES
from onward.domain.protocol import Restart, Resume
from onward.metrics import Metric
from onward.observability import log, logger

from tests import faults
from tests.store import scripted_tools as tools
from tests.store.caller import Context
from tests.store.driver import Driver
from tests.store.runs import Journey, chain, journey, steps

WRITE = steps({"id": "pay", "tool": "once", "input": {"value": 1}})
UNIT = {"Name": "RunsStarted", "Unit": "Count"}

Begin = Callable[[Any], tuple[Journey, Driver]]


@pytest.fixture
def begin(store: RunStore, reader: RunReader, blobs: Any, time: Any) -> Iterator[Begin]:
    def of(plan: Any) -> tuple[Journey, Driver]:
        made = journey(store, reader, blobs, time, plan)
        return made, Driver(made.drive, made.run_id)

    tools.forget()
    metrics.forget()
    yield of
    tools.forget()
    metrics.forget()


def counted() -> dict[str, Any]:
    """Return the values that the log line would tell, without the times of steps."""
    told = metrics.embedded()
    return {
        metric.value: told[metric.value]
        for metric in Metric
        if metric.value in told and metric is not Metric.STEP_SECONDS
    }


def test_a_run_counts_its_start_its_steps_and_its_end(begin: Begin) -> None:
    """And the time from a step's first claim to its checkpoint."""
    _, driver = begin(chain(2))

    driver.execute()

    assert {"RunsStarted": 1, "RunsSucceeded": 1, "StepsSucceeded": 2} == counted()
    assert [0, 0] == metrics.embedded()["StepSeconds"]


def test_a_commit_whose_reply_was_lost_is_counted_once(begin: Begin, dynamodb: Any) -> None:
    """It is recognised as ours, and counted like any other."""
    _, driver = begin(chain(2))

    with faults.lost_reply(dynamodb, "TransactWriteItems", times=3):
        driver.execute()

    assert {"RunsStarted": 1, "RunsSucceeded": 1, "StepsSucceeded": 2} == counted()


@pytest.mark.parametrize(
    ("plan", "step", "act", "expected"),
    [
        (chain(1), "s1", tools.dies, {"Recoveries": 1, "StepsSucceeded": 1, "RunsSucceeded": 1}),
        (
            chain(1),
            "s1",
            tools.raises(Transient("busy")),
            {"StepsRetried": 1, "StepsSucceeded": 1, "RunsSucceeded": 1},
        ),
        (
            chain(1),
            "s1",
            tools.raises(PermissionDenied("no")),
            {"PermissionFailures": 1, "StepsFailed": 1, "RunsFailed": 1},
        ),
        (WRITE, "pay", tools.dies, {"NeedsReconciliation": 1}),
    ],
    ids=["death", "retry", "permission", "unknown"],
)
def test_what_an_alarm_listens_to_is_counted(
    begin: Begin, plan: Any, step: str, act: Callable[[], object], expected: dict[str, int]
) -> None:
    """Each once, however many events say the same."""
    _, driver = begin(plan)
    tools.SCRIPT[step] = [act]

    driver.execute()

    assert expected | {"RunsStarted": 1} == counted()


def test_the_replacement_of_a_dead_execution_is_counted(begin: Begin) -> None:
    """A generation that a long run goes on in is not."""
    made, _ = begin(chain(1))
    until = made.drive.clock() + 60

    carry_out(made.drive, made.run_id, 1, Restart("execution_failed"), until)
    assert {"Restarts": 1} == counted()
    carry_out(made.drive, made.run_id, 2, Restart("handoff"), until)
    assert {"Restarts": 1} == counted()


@pytest.mark.parametrize("death", ["execution", "map"])
def test_one_death_is_one_recovery_however_many_lanes_it_cut(begin: Begin, death: str) -> None:
    """Ten open attempts are taken over; `LostAttempts` would ring at ten."""
    made, _ = begin(steps(*({"id": f"s{n}", "tool": "read"} for n in range(MAX_LANES))))
    until = made.drive.clock() + 60
    carry_out(made.drive, made.run_id, 1, protocol.Begin(), until)
    assert MAX_LANES == len(made.run.open)

    if death == "execution":
        carry_out(made.drive, made.run_id, 1, Restart("execution_failed"), until)
        carry_out(made.drive, made.run_id, 2, protocol.Begin(), until)
    else:
        carry_out(made.drive, made.run_id, 1, protocol.Settle(), until)

    events = made.drive.reader.events(made.run_id, 0, 100)
    assert MAX_LANES == len([event for event in events if event.type == "step.taken_over"])
    assert 1 == counted()["Recoveries"]


def test_a_run_that_stalled_rings_and_its_resume_is_no_restart(begin: Begin) -> None:
    """Three generations died without a commit: only a person helps."""
    made, _ = begin(chain(1))
    until = made.drive.clock() + 60

    for generation in (1, 2, 3):
        carry_out(made.drive, made.run_id, generation, Restart("execution_failed"), until)
    carry_out(made.drive, made.run_id, None, Resume("ada", ()), until)

    assert {"Restarts": 2, "NeedsReconciliation": 1} == counted()


@pytest.mark.parametrize("text", ["1", "not a number"], ids=["done", "failed"])
def test_the_line_of_an_invocation_is_its_metrics_too(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """One line, in CloudWatch's embedded format; an earlier invocation's counts are not in it."""
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Stack")
    metrics.count(Metric.RUNS_FAILED)
    kept = io.StringIO()
    handler = logging.StreamHandler(kept)
    handler.setFormatter(logger().registered_formatter)
    logging.getLogger("onward").addHandler(handler)
    with suppress(ValueError), log(Context(), run_id="r"):
        metrics.count(Metric.RUNS_STARTED)
        int(text)
    logging.getLogger("onward").removeHandler(handler)

    (line,) = map(json.loads, kept.getvalue().splitlines())
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert {"Namespace": "Stack", "Dimensions": [["service"]], "Metrics": [UNIT]} == directive
    assert ("onward", 1, "r") == (line["service"], line["RunsStarted"], line["run_id"])
    assert line["_aws"]["Timestamp"] > 1_700_000_000_000


def test_an_invocation_that_counted_nothing_says_nothing_of_metrics() -> None:
    """Most lines stay as short as they were."""
    metrics.forget()
    assert {} == metrics.embedded()
