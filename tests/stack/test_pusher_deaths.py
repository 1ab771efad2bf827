"""Whoever watches a run over a socket sees all of it, whatever becomes of who pushes to it."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

from onward.client import AsyncOnward, Onward

from infra.local.stack import Stack
from infra.local.workers import kill
from tests.stack.test_sockets import chain, heard, opened, say

STEPS = 10
DEATHS = (5, 20)
"""Events after which the process that just sent them is killed, on its way to more."""

PAGE = 25
"""Events between two writes of a cursor: what a pusher that dies may send a second time."""


async def bare(onward: Onward, run_id: str, state: Path, function: str) -> tuple[list[int], int]:
    """Return every number that one socket was sent, as it came, and how many pushers died."""
    seen: list[int] = []
    deaths, due = 0, list(DEATHS)
    async with opened(onward) as socket:
        await say(socket, "subscribe", run_id)
        while True:
            frame = await heard(socket)
            if frame["type"] != "event":
                continue
            seen.append(int(frame["event"]["sequence"]))
            if due and seen[-1] >= due[0]:
                due.pop(0)
                deaths += await asyncio.to_thread(kill, state, function) > 0
            if frame["event"]["type"] == "onward.run.succeeded":
                return seen, deaths


async def watched(stack: Stack, run_id: str) -> list[int]:
    """Return what the client makes of it."""
    async with AsyncOnward(stack.api_url, stack.api_key) as onward:
        return [int(event["sequence"]) async for event in onward.watch(run_id)]


def test_a_pusher_that_is_killed_loses_nothing_and_tells_a_client_nothing_twice(
    onward: Onward, stack: Stack, state: Path
) -> None:
    """Its wake-up comes again within seconds, on the same socket, from its cursor.

    The bare socket may be sent a page again for each death; the client leaves out what it knows.
    """
    run_id = onward.submit(plan=chain(STEPS, 1.0))["run_id"]

    async def both() -> tuple[tuple[list[int], int], list[int]]:
        listening = bare(onward, run_id, state, stack.outputs["PushEventsFunction"])
        return await asyncio.gather(listening, watched(stack, run_id))

    (sent, deaths), seen = asyncio.run(both())

    whole = list(range(1, onward.get(run_id)["as_of_seq"] + 1))
    assert len(DEATHS) == deaths
    assert whole == seen == sorted(set(sent))
    steps = list(pairwise(sent))
    again = [(before, after) for before, after in steps if after <= before]
    assert len(again) <= deaths
    assert all(before - after < PAGE for before, after in again)
    assert all(after == before + 1 for before, after in steps if after > before)
