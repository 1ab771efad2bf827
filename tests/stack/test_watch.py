"""Watching goes on through a restart of the whole stack."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event as Flag

import pytest
from onward.cli import app
from onward.client import AsyncOnward, Event, Onward
from typer.testing import CliRunner

from infra.local.stack import Stack, down, up
from tests.stack.test_sockets import chain

STEPS = 12


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


def test_watching_outlives_the_stack(onward: Onward, stack: Stack, state: Path) -> None:
    """Down in the middle of a run and up again: every event once, in order, to the end."""
    run_id = onward.submit(plan=chain(STEPS, 0.2))["run_id"]
    begun = Flag()

    def watch() -> list[Event]:
        seen = []
        for event in onward.watch(run_id):
            seen.append(event)
            if int(event["sequence"]) >= 8:
                begun.set()
        return seen

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        assert begun.wait(30)
        down(state)
        up(None, state, drills=True)
        seen = watching.result(timeout=120)

    run = onward.get(run_id)
    assert "succeeded" == run["status"]
    assert list(range(1, run["as_of_seq"] + 1)) == [int(event["sequence"]) for event in seen]


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
