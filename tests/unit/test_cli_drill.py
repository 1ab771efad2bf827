"""`onward drill` where there is nothing to rehearse on, and how findings are shown."""

from __future__ import annotations

import fcntl
import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from onward.cli import app
from onward.cli.drill import report
from onward.cli.exits import Exit
from rich.console import Console
from typer.testing import CliRunner, Result

from infra.local.drills.finding import Finding
from infra.local.stack import Stack

HELD = Finding("row-lock", "row_lock", "succeeded", 6, "28 events", (), ("refused twice",))
BROKEN = Finding("burst", "", "failed", 5, "20 events", ("close: 0 effects",), ())


def onward(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """A directory that looks like that of a running stack which does not allow drills."""
    stack = Stack("http://127.0.0.1:1", "", "http://127.0.0.1:1", "k", str(tmp_path), 1, 1)
    (tmp_path / "stack.json").write_text(json.dumps(asdict(stack)))
    with (tmp_path / "emulator.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        json.dump({"pid": 1, "port": 1}, lock)
        lock.flush()
        yield tmp_path


def printed(*findings: Finding, as_json: bool = False) -> tuple[Exit, list[str]]:
    """Return the exit code and what is shown."""
    out = io.StringIO()
    console = Console(file=out, highlight=False, soft_wrap=True)
    return report(findings, console, as_json=as_json), out.getvalue().splitlines()


def test_an_unknown_drill_is_named_with_those_there_are() -> None:
    """Before anything is started."""
    refused = onward("drill", "burst", "tsunami")

    assert Exit.WRONG_USE == refused.exit_code
    assert "no drill is called tsunami" in refused.stderr
    assert "kill-worker" in refused.stderr


def test_a_stack_without_drills_is_left_alone(state: Path) -> None:
    """The message says how to allow them."""
    refused = onward("drill", "burst", "--state", str(state))

    assert Exit.UNREACHABLE == refused.exit_code
    assert "onward up --drills" in refused.stderr


def test_a_broken_guarantee_is_an_exit_code() -> None:
    """One is enough."""
    assert Exit.SUCCEEDED == printed(HELD)[0]
    assert Exit.RUN_FAILED == printed(BROKEN, HELD)[0]


def test_each_finding_is_a_line_of_json() -> None:
    """For programs: always the same members."""
    _, lines = printed(HELD, BROKEN, as_json=True)

    first, second = map(json.loads, lines)
    assert ("held", "refused twice") == (first["verdict"], first["detail"])
    assert ("broken", "close: 0 effects") == (second["verdict"], second["detail"])
    assert {"drill", "case", "status", "effects", "seen", "verdict", "detail"} == set(first)


def test_a_finding_reads_in_the_order_of_the_questions() -> None:
    """Status, what really happened, what the client saw, verdict; then what was measured."""
    line = "row-lock (row_lock) · succeeded · 6 effects · 28 events · held"

    assert [line, "    refused twice"] == printed(HELD)[1]
