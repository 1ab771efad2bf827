"""Drills that freeze a worker know which one it is, and leave none behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from onward.client import Onward, OnwardProblem

from infra.local import workers
from infra.local.drills.outside import Outside
from infra.local.drills.runner import DRILLS
from infra.local.drills.stage import Overdue, Refund, Stage
from infra.local.stack import Stack
from tests.unit.scripted_answers import RUN, problem

FUNCTION = "execute_step"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], int]]:
    """Start processes that look like workers of the stack in `tmp_path`."""
    nap = [sys.executable, "-c", "import time; time.sleep(60)", str(tmp_path), FUNCTION]
    with ExitStack() as started:

        def one() -> int:
            process = started.enter_context(subprocess.Popen(nap))
            started.callback(process.kill)
            return process.pid

        yield one


@pytest.fixture
def worker(start: Callable[[], int]) -> int:
    return start()


def stage(state: Path, freezes: Callable[[], object]) -> Stage:
    """A stack without sockets, whose worker does something as soon as a run is submitted."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/tickets":
            return problem(404, "route_not_found", detail="no sockets")
        freezes()
        return httpx.Response(202, json=RUN)

    onward = Onward("http://service", "ow_key", transport=httpx.MockTransport(answer))
    outputs = {"ExecuteStepFunction": FUNCTION}
    stack = Stack("http://service", "", "", "ow_key", str(state), 1, 1, outputs=outputs)
    return Stage(stack, onward, Outside("http://outside"))


def test_a_drill_that_cannot_be_carried_out_wakes_its_worker(tmp_path: Path, worker: int) -> None:
    """It would be taken for the next drill's."""
    played = stage(tmp_path, lambda: os.kill(worker, signal.SIGSTOP))
    with pytest.raises(OnwardProblem, match="no sockets"):
        next(DRILLS["refresh"](played))

    deadline = time.monotonic() + 5
    while workers.frozen(tmp_path, FUNCTION) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ([], [worker]) == (workers.frozen(tmp_path, FUNCTION), played.workers())


@pytest.mark.parametrize("name", ["refresh", "zombie"])
def test_a_worker_that_was_left_frozen_is_not_taken_for_the_drills_own(
    tmp_path: Path, worker: int, name: str
) -> None:
    """Nothing is submitted."""
    submitted: list[str] = []
    played = stage(tmp_path, lambda: submitted.append("a run"))
    os.kill(worker, signal.SIGSTOP)
    played.frozen_worker()

    with pytest.raises(Overdue, match=f"frozen before the drill began: \\[{worker}\\]"):
        next(DRILLS[name](played))
    assert [] == submitted


def test_of_several_frozen_workers_none_is_the_drills(
    tmp_path: Path, worker: int, start: Callable[[], int]
) -> None:
    """Nobody could tell which."""
    other = start()
    for process in (worker, other):
        os.kill(process, signal.SIGSTOP)
    played = stage(tmp_path, lambda: None)
    played.wait(lambda: len(workers.frozen(tmp_path, FUNCTION)) > 1, "both are frozen")

    with pytest.raises(Overdue, match="several workers are frozen"):
        played.frozen_worker()


def test_a_run_that_ends_between_two_looks_is_followed_to_its_last_event(tmp_path: Path) -> None:
    """Its client did not see less; it had not looked yet."""
    events = [
        {"id": f"r/{n}", "type": f"onward.{kind}", "sequence": f"{n:010}", "data": {}}
        for n, kind in enumerate(("run.queued", "run.started", "run.succeeded"), start=1)
    ]
    looks: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/events"):
            return httpx.Response(200, json=RUN | {"as_of_seq": 3, "ended_at": "2026-12-01"})
        after = int(request.url.params["after"])
        looks.append(after)
        there = events[after : 1 if len(looks) == 1 else 3]
        known = {"next_after": after + len(there), "as_of_seq": 3, "ended": len(looks) > 1}
        return httpx.Response(200, json={"events": there, **known})

    onward = Onward("http://service", "ow_key", transport=httpx.MockTransport(answer))
    stack = Stack("http://service", "", "", "ow_key", str(tmp_path), 1, 1)
    watched = Stage(stack, onward, Outside("http://outside"), pause=0.2).finish(
        Refund("run_1", "o-1"), seconds=0.1
    )
    assert 3 == len(watched.events)
