"""A key is revoked on the whole stack: what it had open ends, and nothing opens by it."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import httpx
import pytest
from onward.app.access.keys import issue_key
from onward.aws.api_keys import ApiKeys
from onward.client import Onward, OnwardProblem
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from infra.local.deploy import client
from infra.local.stack import Stack
from tests.stack.sandbox import until
from tests.stack.test_sockets import heard, opened, say

QUIET = {
    "steps": [
        {"id": "a", "tool": "echo", "input": {"value": 1, "seconds": 40, "quiet": True}},
    ]
}
WITHIN = 5.0
"""Seconds after which a revoked key is refused everywhere."""


@pytest.fixture
def guest(stack: Stack) -> tuple[str, str]:
    """A key of a submitter, and its id."""
    keys = ApiKeys(client("dynamodb", stack), stack.outputs["AccessTable"])
    text, key = issue_key(keys, "dev", "guest", ["submitter"], os.urandom, time.time())
    return text, key.key_id


def last(onward: Onward, run_id: str) -> tuple[str, int]:
    """Return the last event of a run: behind its step's start none comes for 40 seconds."""
    page = onward.events(run_id)
    return page["events"][-1]["type"], page["next_after"]


async def ended(socket: ClientConnection) -> float:
    """Return when a socket was closed by the other side."""
    async with asyncio.timeout(30):
        try:
            while True:
                await socket.recv()
        except ConnectionClosed:
            return time.monotonic()


async def held(stack: Stack, path: str, **request: Any) -> tuple[int, float]:
    """Ask for events that do not come; return the answer's status, and when it came."""
    async with httpx.AsyncClient(timeout=30, trust_env=False) as http:
        answer = await http.get(stack.api_url + path, **request)
        return answer.status_code, time.monotonic()


async def everything(
    stack: Stack, onward: Onward, guest: tuple[str, str]
) -> tuple[list[float], list[int]]:
    """Revoke a key while all that it can open is open; return delays, and what was answered."""
    text, key_id = guest
    with Onward(stack.api_url, text) as theirs:
        run_id = theirs.submit(plan=QUIET)["run_id"]
        until(lambda: last(theirs, run_id)[0] == "onward.step.started", seconds=60)
        _, seen = last(theirs, run_id)
        stream, unused = theirs.ticket(run_id)["ticket"], theirs.socket_ticket()
        async with opened(theirs) as socket:
            await say(socket, "subscribe", run_id)
            while (await heard(socket))["type"] != "event":
                pass
            path = f"/runs/{run_id}/events"
            key = {"Authorization": f"Bearer {text}"}
            sse = {"Accept": "text/event-stream"}
            poll, query = {"after": seen, "wait": 20}, {"after": seen, "ticket": stream}
            waiting = [
                asyncio.create_task(held(stack, path, headers=key, params=poll)),
                asyncio.create_task(held(stack, path, headers=sse, params=query)),
            ]
            closed = asyncio.create_task(ended(socket))
            await asyncio.sleep(3)
            early = [task.result() for task in (*waiting, closed) if task.done()]
            assert not early, await asyncio.to_thread(theirs.events, run_id)

            await asyncio.to_thread(onward.revoke_key, key_id, comment="left")
            began = time.monotonic()
            with pytest.raises(OnwardProblem) as refused:
                await asyncio.to_thread(theirs.get, run_id)
            answers = await asyncio.gather(*waiting)
            ends = [await closed, *(at for _, at in answers)]
            status, _ = await held(stack, path, headers=sse, params=query)
            with pytest.raises(InvalidStatus) as shut:
                await connect(f"{unused['url']}?ticket={unused['ticket']}", proxy=None)
    statuses = [refused.value.status, *(code for code, _ in answers), status]
    return [at - began for at in ends], [*statuses, shut.value.response.status_code]


def test_a_revoked_key_is_refused_everywhere(
    stack: Stack, onward: Onward, guest: tuple[str, str]
) -> None:
    """A request, a long poll, a stream, an open socket, and tickets had before: within 5 s."""
    delays, statuses = asyncio.run(everything(stack, onward, guest))

    print(f"after the revocation, in seconds: {[round(each, 2) for each in delays]}")  # noqa: T201 - a figure
    assert [401] * 4 == statuses[:4]
    assert statuses[4] in {401, 403}
    assert max(delays) < WITHIN
    rows = onward.keys()
    assert ["revoked"] == [row["state"] for row in rows if row["id"] == guest[1]]
    entry = next(onward.audit())
    assert ("key.revoke", guest[1], "left") == (
        entry["action"],
        entry["target"],
        entry["comment"],
    )
