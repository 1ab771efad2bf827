"""Code from a plan, through the whole stack, in a function of its own."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from onward.client import Onward

from infra.local.stack import Stack
from infra.local.workers import workers
from tests.unit.attacks import FILES, NETWORK, OTHERS, PROCESSES, children, source

SPIN = "def run(d):\n    while True:\n        pass"


def run(onward: Onward, code: str, data: Any = None, **bounds: Any) -> Any:
    """Run a plan of one step that runs code, to its end."""
    step = {"id": "code", "tool": "run_code", "input": {"code": code, "data": data, **bounds}}
    run_id = onward.submit(plan={"steps": [step]})["run_id"]
    return list(onward.watch(run_id)) and onward.get(run_id)


def test_a_step_gets_what_its_code_returns(onward: Onward) -> None:
    """Data in, JSON out."""
    code = "import statistics\ndef run(data):\n    return {'median': statistics.median(data)}"

    assert {"value": {"median": 3}} == run(onward, code, [1, 3, 9])["result"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def run(d):\n    return 1 / 0", "raised, line 2): ZeroDivisionError"),
        ("def run(d:\n    pass", "syntax, line 1): '(' was never closed"),
        ("def run(d):\n    bytearray(4 * 2**30)", "memory, line 2): the code needed more"),
        (SPIN, "timeout): the code did not end within 1 s"),
        ("import os\ndef run(d):\n    os._exit(0)", "killed): the code ended its process"),
        ("def run(d):\n    while True: print('x' * 999)", "output_too_large): the code printed"),
        ("def run(d):\n    return {1}", "not_json): TypeError: Object of type set"),
    ],
)
def test_a_step_fails_with_what_went_wrong(onward: Onward, code: str, words: str) -> None:
    """Once: the same code fails the same way."""
    ended = run(onward, code, timeout=1)

    assert ("failed", 1) == (ended["status"], ended["counts"]["attempts"])
    assert ("code_failed", "code") == (ended["error"]["code"], ended["error"]["step"])
    assert f"the code failed ({words}" in ended["error"]["message"]


@pytest.mark.parametrize("name", FILES | NETWORK | PROCESSES | OTHERS)
def test_a_step_cannot_do_harm(
    onward: Onward, stack: Stack, state: Path, tmp_path: Path, name: str
) -> None:
    """Its target is the very worker that runs it: its environment, its endpoint, its life."""
    run(onward, "def run(d): pass")
    (worker,) = workers(state, stack.outputs["RunSandboxFunction"])
    secrets = Path(f"/proc/{worker}/environ").read_bytes()
    assert b"AWS_SECRET_ACCESS_KEY" in secrets
    tmp_path.chmod(0o777)
    data = {"parent": worker, "path": str(tmp_path / "new"), "port": stack.port}

    ended = run(onward, source((FILES | NETWORK | PROCESSES | OTHERS)[name]), data, timeout=3)

    assert "code_failed" == ended["error"]["code"]
    assert [] == list(tmp_path.iterdir())
    assert [worker] == workers(state, stack.outputs["RunSandboxFunction"])
    assert [] == children(worker)


def test_a_worker_that_dies_takes_its_code_along(onward: Onward, stack: Stack, state: Path) -> None:
    """And the step is tried again, for nothing is known to be wrong with the code."""
    code = "def run(d):\n    import time\n    time.sleep(3)\n    return 1"
    step = {"id": "code", "tool": "run_code", "input": {"code": code}}
    run_id = onward.submit(plan={"steps": [step]})["run_id"]
    deadline = time.monotonic() + 20
    found: list[int] = []
    while not found and time.monotonic() < deadline:
        running = workers(state, stack.outputs["RunSandboxFunction"])
        found = [worker for worker in running if children(worker)]
    (child,) = children(found[0])
    os.kill(found[0], 9)
    assert list(onward.watch(run_id))

    assert {"value": 1} == onward.get(run_id)["result"]
    assert not Path(f"/proc/{child}").exists()
