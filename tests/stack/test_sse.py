"""Event streams of a whole stack, read by clients whose connections break."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from secrets import randbits
from typing import Any

import httpx
import pytest
from onward.client import Onward

from infra.local.stack import Stack
from tests.stack.event_source import EventSource, Line, Script
from tests.stack.sandbox import until

SEED = int(os.environ.get("ONWARD_SEED", randbits(32)))
STEPS = 19
EVENTS = 3 * STEPS + 3
"""Started, progress and succeeded of each step; queued, started and succeeded of the run."""

CUTS = 20
LONGEST = 1100
"""Bytes of an answer that arrive at most: some 300 of its head, and two events."""


def chain(length: int, seconds: float) -> dict[str, Any]:
    def step(number: int) -> dict[str, Any]:
        before = {"after": [f"s{number - 1}"]} if number else {}
        value = {"value": "ä\n\nid: 99\n", "seconds": seconds}
        return {"id": f"s{number}", "tool": "echo", "input": value, **before}

    return {"steps": [step(number) for number in range(length)]}


@pytest.fixture(scope="module")
def dice() -> random.Random:
    print(f"ONWARD_SEED={SEED}")  # noqa: T201 - with it, a failure can be repeated
    return random.Random(SEED)


@pytest.fixture
def raw(stack: Stack) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=stack.api_url, trust_env=False, timeout=40) as client:
        yield client


def test_cut_at_random_each_client_sees_every_event_once(
    onward: Onward, stack: Stack, dice: random.Random
) -> None:
    """1…N in order, live and to the end, over at least twenty broken connections each."""
    run_id = onward.submit(plan=chain(STEPS, 0.05))["run_id"]
    address = f"{stack.api_url}/runs/{run_id}/events"
    ticket = onward.ticket(run_id)["ticket"]
    seeds = [dice.random(), dice.random()]
    lines = [Line(address, random.Random(seed), LONGEST) for seed in seeds]
    lines[0].url += f"?ticket={ticket}"
    browser, script = EventSource(lines[0]), Script(lines[1], stack.api_key)
    end = time.monotonic() + 150

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(client.run, end) for client in (browser, script)]:
            done.result()

    log = list(onward.watch(run_id))
    assert EVENTS == len(log)
    for client in (browser, script):
        assert list(range(1, EVENTS + 1)) == [number for number, _ in client.seen]
        assert log == [event for _, event in client.seen]
        assert client.line.cuts >= CUTS
    print([(line.asked, line.cuts) for line in lines])  # noqa: T201 - how hard it was


def test_a_stream_is_held_and_ends_by_itself(onward: Onward, raw: httpx.Client) -> None:
    """Through the gateway: the next event ends the wait; at the end of the run 204, at once."""
    run_id = onward.submit(plan=chain(1, 3))["run_id"]
    path, ticket = f"/runs/{run_id}/events", onward.ticket(run_id)["ticket"]
    until(lambda: onward.get(run_id)["as_of_seq"] >= 3)
    after = onward.get(run_id)["as_of_seq"]
    stream = {"Accept": "text/event-stream"}

    began = time.monotonic()
    held = raw.get(path, params={"ticket": ticket, "after": after}, headers=stream)
    assert (200, "text/event-stream") == (held.status_code, held.headers["content-type"])
    assert f"\n\nid: {after + 1}\n" in held.text
    assert time.monotonic() - began < 15

    last = list(onward.watch(run_id))[-1]["sequence"]
    behind = stream | {"Last-Event-ID": str(int(last))}
    over = raw.get(path, params={"ticket": ticket}, headers=behind)
    assert (204, b"") == (over.status_code, over.content)


def test_no_ticket_stays_in_the_stacks_files(
    onward: Onward, raw: httpx.Client, state: Path
) -> None:
    """Neither in logs nor in tables: a ticket was used, and its text is nowhere."""
    run_id = onward.submit(plan=chain(1, 0))["run_id"]
    ticket = onward.ticket(run_id)["ticket"]
    path = f"/runs/{run_id}/events"
    assert 200 == raw.get(path, params={"ticket": ticket}).status_code
    list(onward.watch(run_id))
    held = {file.relative_to(state): file.read_bytes() for file in state.rglob("*.log")}
    held |= {file.relative_to(state): file.read_bytes() for file in state.rglob("*.json")}
    assert any(run_id.encode() in content for content in held.values())
    assert [] == [name for name, content in held.items() if ticket.encode() in content]


def test_lists_and_catalogue_of_a_stack(onward: Onward, raw: httpx.Client) -> None:
    """The index follows within moments; the description is public; what ships is listed."""
    made = [onward.submit(plan=chain(1, 0))["run_id"] for _ in range(3)]
    listed = until(
        lambda: (
            (found := [run["run_id"] for run in onward.runs(limit=2, workflow="plan")][:3])
            and set(made) <= set(found)
            and found
        )
    )
    assert made[::-1] == listed
    for run_id in made:
        list(onward.watch(run_id))
    ended = until(
        lambda: (
            (found := {run["run_id"]: run for run in onward.runs(status="succeeded")})
            and set(made) <= set(found)
            and found
        )
    )
    assert all(ended[run_id]["ended_at"] for run_id in made)
    assert {"excel-report", "hello"} <= {flow["name"] for flow in onward.workflows()}
    assert "echo" in {tool["name"] for tool in onward.tools()}
    assert "3.1.0" == raw.get("/openapi.json").json()["openapi"]
    refused = raw.delete("/runs")
    assert (405, "GET, POST") == (refused.status_code, refused.headers["allow"])
