"""Watching goes on through a restart of the whole stack."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Self

import pytest
from onward.cli import app
from onward.cli.words import sentence
from onward.client import AsyncOnward, Onward
from typer.testing import CliRunner

from infra.local.stack import Stack, down, up
from tests.stack.sandbox import until
from tests.stack.test_sockets import chain

COMMAND = Path(sys.executable).with_name("onward")
PATIENCE = 120
STEPS = 12


class Watching:
    """`onward watch` as a process of its own, in the directory above the file of what it prints."""

    def __init__(self, out: Path, run_id: str, *flags: str, **environment: str) -> None:
        self.out = out
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("ONWARD_")}
        with out.open("w") as file:
            self.process = subprocess.Popen(
                [COMMAND, "watch", run_id, *flags],
                cwd=out.parent,
                env=inherited | environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def lines(self) -> list[str]:
        """What it has printed so far, complaints included."""
        return self.out.read_text().splitlines()

    def wait(self) -> int:
        """Return its exit code."""
        return self.process.wait(PATIENCE)


def test_events_come_by_socket(onward: Onward, stack: Stack) -> None:
    """And no page is asked for before the end; cold, a socket may open too late for that."""
    list(onward.watch(onward.submit(plan=chain(1))["run_id"]))
    run_id = onward.submit(plan=chain(STEPS))["run_id"]
    pages = []
    onward._wire._http.event_hooks["request"] = [
        lambda request: (
            pages.append(request.url.params["after"])
            if request.url.path.endswith("/events")
            else None
        )
    ]
    events = list(onward.watch(run_id))

    assert list(range(1, 3 * STEPS + 4)) == [int(event["sequence"]) for event in events]
    assert [str(len(events))] == pages


def test_on_asyncio_a_run_is_followed_and_waited_for(stack: Stack) -> None:
    """The same events, and the run as it ended."""

    async def follow() -> tuple[list[int], str]:
        async with AsyncOnward(stack.api_url, stack.api_key) as onward:
            run_id = (await onward.submit(plan=chain(3)))["run_id"]
            seen = [int(event["sequence"]) async for event in onward.watch(run_id)]
            return seen, (await onward.wait(run_id))["status"]

    assert (list(range(1, 13)), "succeeded") == asyncio.run(follow())


def test_the_command_outlives_the_stack(
    onward: Onward, stack: Stack, state: Path, tmp_path: Path
) -> None:
    """Down in the middle of a run and up again: every event once, in order, and exit code 0.

    One is told by its environment where the stack is, the other finds the file that it left.
    """
    (tmp_path / ".onward").symlink_to(state)
    run_id = onward.submit(plan=chain(STEPS, 0.5))["run_id"]
    told = {"ONWARD_API_URL": stack.api_url, "ONWARD_API_KEY": stack.api_key}
    program = Watching(tmp_path / "program", run_id, "--json", **told)
    person = Watching(tmp_path / "person", run_id)
    with program, person:
        until(lambda: min(len(program.lines), len(person.lines)) >= 8, 30)
        down(state)
        up(None, state, drills=True)
        assert (0, 0) == (program.wait(), person.wait())

    events = onward.events(run_id)["events"]
    assert list(range(1, len(events) + 1)) == [int(event["sequence"]) for event in events]
    assert "execution_dead" in {event["data"].get("cause") for event in events}
    assert events == [json.loads(line) for line in program.lines]
    assert [sentence(event) for event in events] == person.lines[:-1]
    assert f"Run {run_id} succeeded: {STEPS} of {STEPS} steps done" in person.lines[-1]


def test_the_command_shows_what_the_client_sees(
    onward: Onward, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`onward watch --json`: one event a line, from the first to the last."""
    monkeypatch.setenv("ONWARD_API_URL", stack.api_url)
    monkeypatch.setenv("ONWARD_API_KEY", stack.api_key)
    run_id = onward.submit(plan=chain(2))["run_id"]
    shown = CliRunner().invoke(app, ["watch", run_id, "--json"])

    assert 0 == shown.exit_code
    events = [json.loads(line) for line in shown.output.splitlines()]
    assert list(range(1, 10)) == [int(event["sequence"]) for event in events]
