"""From a commit to the frame on a socket: ours, beside the same hop with nothing in it.

Both go the same way on the same stack: transaction ─► stream ─► function ─► FIFO queue ─►
function ─► socket, and are timed from before the transaction. They take turns on one socket, so
whatever else the machine does happens to both.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from onward.client import Onward
from websockets.asyncio.client import connect as connect_many
from websockets.sync.client import connect

from infra.local.bench.bare import BareHop
from infra.local.deploy import client

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection as Many
    from websockets.sync.client import ClientConnection

    from infra.local.stack import Stack

WARM: Final = 5
PAUSE: Final = 0.15
"""Seconds between two turns: what the one set going is over when the other begins."""

STEP_SECONDS: Final = 0.5
_PATIENCE: Final = 60.0


@dataclass(frozen=True, slots=True)
class LatencySamples:
    """Seconds from commit to frame, turn by turn."""

    ours: list[float]
    bare: list[float]


def progress_turns(stack: Stack, turns: int) -> LatencySamples:
    """Measure commits of one long step, which tells its progress while nothing else moves."""
    told = {"value": 1, "seconds": turns + 1.5}
    plan = {"steps": [{"id": "long", "tool": "echo", "input": told, "timeout": turns + 60}]}
    return _turns(stack, plan, "step.progress", turns)


def step_turns(stack: Stack, turns: int) -> LatencySamples:
    """Measure commits between two steps, behind which the driver moves on at once."""
    return _turns(stack, _chain(turns), "step.succeeded", turns)


def _turns(stack: Stack, plan: dict[str, Any], kind: str, turns: int) -> LatencySamples:
    """Measure each so many times, once both have warm functions."""
    found = LatencySamples([], [])
    with Onward(stack.api_url, stack.api_key) as onward:
        ticket = onward.socket_ticket()
        address = f"{ticket['url']}?ticket={ticket['ticket']}"
        with connect(address, proxy=None) as socket:
            warm = onward.submit(plan=_chain(1))["run_id"]
            _subscribe(socket, warm)
            hop = BareHop(stack, _connection(stack, warm))
            for _ in range(WARM):
                _bare_to_frame(socket, hop)
            _subscribe(socket, onward.submit(plan=plan)["run_id"])
            for _ in range(turns):
                found.ours.append(_commit_to_frame(socket, kind))
                time.sleep(PAUSE)
                found.bare.append(_bare_to_frame(socket, hop))
    return found


def crowd(stack: Stack, sockets: int, steps: int) -> list[float]:
    """Return the seconds from each commit of a run to its frame on each of many sockets."""
    with Onward(stack.api_url, stack.api_key) as onward:
        run_id = onward.submit(plan=_chain(steps))["run_id"]
        return asyncio.run(_crowd(onward, run_id, sockets))


def _commit_to_frame(socket: ClientConnection, kind: str) -> float:
    """Wait for the next event of a kind; it was timed just before it was committed."""
    while True:
        frame = _heard(socket)
        if frame["type"] == "event" and frame["event"]["type"].endswith(kind):
            return _age(frame["event"])


def _bare_to_frame(socket: ClientConnection, hop: BareHop) -> float:
    began = time.time()
    hop.commit()
    while _heard(socket)["type"] != "bare":
        pass
    return time.time() - began


def _age(event: dict[str, Any]) -> float:
    return time.time() - datetime.fromisoformat(event["time"]).timestamp()


def _heard(socket: ClientConnection) -> dict[str, Any]:
    frame: dict[str, Any] = json.loads(socket.recv(timeout=_PATIENCE))
    return frame


def _subscribe(socket: ClientConnection, run_id: str) -> None:
    socket.send(json.dumps({"action": "subscribe", "run_id": run_id}))
    while _heard(socket)["type"] != "subscribed":
        pass


def _connection(stack: Stack, run_id: str) -> str:
    """Return the id of the socket that listens to a run."""
    rows = client("dynamodb", stack).query(
        TableName=stack.outputs["CursorsTable"],
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": f"RUN#{run_id}"}},
    )["Items"]
    return str(rows[0]["sk"]["S"]).removeprefix("SUB#")


async def _crowd(onward: Onward, run_id: str, sockets: int) -> list[float]:
    async with AsyncExitStack() as held:
        listening = []
        for _ in range(sockets):
            ticket = await asyncio.to_thread(onward.socket_ticket)
            address = f"{ticket['url']}?ticket={ticket['ticket']}"
            socket = await held.enter_async_context(connect_many(address, proxy=None))
            await socket.send(json.dumps({"action": "subscribe", "run_id": run_id}))
            listening.append(socket)
        found = await asyncio.gather(*(_ages(socket) for socket in listening))
    return [age for ages in found for age in ages]


async def _ages(socket: Many) -> list[float]:
    """Return how old each event was that came while this socket was up to date."""
    ages: list[float] = []
    greeted = 0
    async with asyncio.timeout(_PATIENCE):
        while True:
            frame = json.loads(await socket.recv())
            greeted = frame.get("as_of_seq", greeted)
            if frame["type"] != "event":
                continue
            if int(frame["event"]["sequence"]) > greeted:
                ages.append(_age(frame["event"]))
            if frame["event"]["type"].endswith("run.succeeded"):
                return ages


def _chain(length: int) -> dict[str, Any]:
    """Return a plan of steps that take half a second each and say nothing meanwhile."""
    told = {"value": 1, "seconds": STEP_SECONDS, "quiet": True}
    steps = [
        {"id": f"s{index}", "tool": "echo", "input": told}
        | ({"after": [f"s{index - 1}"]} if index else {})
        for index in range(length)
    ]
    return {"steps": steps}
