"""Sockets of a whole stack, read by a client that knows nothing but WebSockets and JSON."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from secrets import randbits
from typing import Any

import pytest
from onward.client import Onward
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from infra.local.deploy import client
from infra.local.drills.hooks import disabled
from infra.local.stack import Stack
from tests.stack.sandbox import until

SEED = int(os.environ.get("ONWARD_SEED", randbits(32)))
STEPS = 19
EVENTS = 3 * STEPS + 3
"""Started, progress and succeeded of each step; queued, started and succeeded of the run."""

CUTS = 20
SOCKETS = 50
AT_ONCE = 5
"""Handshakes, and runs, at the same time: the emulator has a process for each function of each."""

PATIENCE = 60


def chain(length: int, seconds: float = 0.02) -> dict[str, Any]:
    def step(number: int) -> dict[str, Any]:
        before = {"after": [f"s{number - 1}"]} if number else {}
        value = {"value": "ä", "seconds": seconds}
        return {"id": f"s{number}", "tool": "echo", "input": value, **before}

    return {"steps": [step(number) for number in range(length)]}


@pytest.fixture
def dice() -> random.Random:
    print(f"ONWARD_SEED={SEED}")  # noqa: T201 - with it, a failure can be repeated
    return random.Random(SEED)


@asynccontextmanager
async def opened(onward: Onward) -> AsyncIterator[ClientConnection]:
    ticket = await asyncio.to_thread(onward.socket_ticket)
    url = f"{ticket['url']}?ticket={ticket['ticket']}"
    async with connect(url, proxy=None, open_timeout=PATIENCE, close_timeout=1) as socket:
        yield socket


async def say(socket: ClientConnection, action: str, run_id: str = "", **body: Any) -> None:
    await socket.send(json.dumps({"action": action, "run_id": run_id} | body))


async def heard(socket: ClientConnection) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        frame: dict[str, Any] = json.loads(await socket.recv())
        return frame


async def followed(
    onward: Onward, run_id: str, last: int, *, after: int = 0, turn: asyncio.Semaphore | None = None
) -> list[int]:
    """Return the numbers of the events of a run up to one, as one socket was sent them."""
    seen: list[int] = []
    turn = turn or asyncio.Semaphore()
    await turn.acquire()
    async with opened(onward) as socket:
        await say(socket, "subscribe", run_id, last_event_id=after)
        turn.release()
        while not seen or seen[-1] < last:
            frame = await heard(socket)
            if frame["type"] == "event":
                seen.append(int(frame["event"]["sequence"]))
    return seen


async def read_with_cuts(onward: Onward, run_id: str, dice: random.Random) -> tuple[list[int], int]:
    """Follow a run over sockets that break; return what was kept, and how much was dropped."""
    seen: list[int] = []
    twice = 0
    for cut in range(CUTS + 1):
        left = dice.randint(0, 4) if cut < CUTS else EVENTS
        async with opened(onward) as socket:
            await say(socket, "subscribe", run_id, last_event_id=len(seen))
            while left and len(seen) < EVENTS:
                frame = await heard(socket)
                if frame["type"] != "event":
                    continue
                number = int(frame["event"]["sequence"])
                if seen and number <= seen[-1]:
                    twice += 1
                    continue
                seen.append(number)
                left -= 1
            if cut < CUTS:
                await asyncio.sleep(dice.random() / 20)
                socket.transport.abort()
    return seen, twice


def test_cut_at_random_a_client_sees_every_event_once(onward: Onward, dice: random.Random) -> None:
    """1…N in order over twenty broken sockets, and not one event too many for each."""
    run_id = onward.submit(plan=chain(STEPS, 0.05))["run_id"]
    seen, twice = asyncio.run(read_with_cuts(onward, run_id, dice))

    assert EVENTS == onward.get(run_id)["as_of_seq"]
    assert list(range(1, EVENTS + 1)) == seen
    assert twice <= CUTS


def test_many_sockets_on_one_run_are_each_sent_all_of_it(onward: Onward) -> None:
    """They come while it runs, and some from the middle."""
    run_id = onward.submit(plan=chain(STEPS, 0.3))["run_id"]
    # A position ahead of the log would be answered with a snapshot, and events from there.
    until(lambda: onward.get(run_id)["as_of_seq"] >= STEPS)
    starts = [0 if number % 2 else number % STEPS for number in range(SOCKETS)]

    async def all_of_them() -> list[list[int]]:
        turn = asyncio.Semaphore(AT_ONCE)
        return await asyncio.gather(
            *(followed(onward, run_id, EVENTS, after=start, turn=turn) for start in starts)
        )

    for start, seen in zip(starts, asyncio.run(all_of_them()), strict=True):
        assert list(range(start + 1, EVENTS + 1)) == seen


def test_many_runs_are_each_told_to_their_socket(onward: Onward) -> None:
    """Runs do not wait for each other."""

    async def run_and_follow(turn: asyncio.Semaphore) -> list[int]:
        async with turn:
            run_id = (await asyncio.to_thread(onward.submit, plan=chain(3)))["run_id"]
        return await followed(onward, run_id, 12, turn=turn)

    async def all_of_them() -> list[list[int]]:
        turn = asyncio.Semaphore(AT_ONCE)
        return await asyncio.gather(*(run_and_follow(turn) for _ in range(SOCKETS)))

    assert [list(range(1, 13))] * SOCKETS == asyncio.run(all_of_them())


def test_after_a_storm_of_subscriptions_the_last_one_counts(
    onward: Onward, dice: random.Random
) -> None:
    """Two hundred in any order while events flow; nothing behind the last one is missing."""
    run_id = onward.submit(plan=chain(STEPS))["run_id"]
    at = dice.randint(0, 3)

    async def storm() -> list[dict[str, Any]]:
        frames: list[dict[str, Any]] = []
        async with opened(onward) as socket:
            for _ in range(200):
                action = dice.choice(["subscribe", "unsubscribe"])
                await say(socket, action, run_id, last_event_id=dice.randint(4, 9))
            await say(socket, "subscribe", run_id, last_event_id=at)
            while not _complete(frames, at):
                frames.append(await heard(socket))
        return frames

    frames = asyncio.run(storm())
    assert list(range(at + 1, EVENTS + 1)) == _behind_the_last(frames, at)


def _behind_the_last(frames: list[dict[str, Any]], at: int) -> list[int]:
    """Return the events behind the greeting of the last subscription."""
    greeted = [n for n, f in enumerate(frames) if f["type"] == "subscribed" and f["after"] == at]
    if not greeted:
        return []
    rest = frames[greeted[-1] :]
    return [int(frame["event"]["sequence"]) for frame in rest if frame["type"] == "event"]


def _complete(frames: list[dict[str, Any]], at: int) -> bool:
    return EVENTS in _behind_the_last(frames, at)


def test_an_end_is_told_without_the_stream(onward: Onward, stack: Stack) -> None:
    """Behind the last event no other comes that would make good its wake-up."""

    async def told() -> int:
        run_id = onward.submit(plan=chain(1, 1.5))["run_id"]
        async with opened(onward) as socket:
            await say(socket, "subscribe", run_id)
            await reached(socket, 3)
            with disabled(stack, "PublishOutboxFunction"):
                return await reached(socket, 6)

    assert 6 == asyncio.run(told())


def test_an_end_of_which_no_wake_up_is_left_is_found_by_the_patrol(
    onward: Onward, stack: Stack
) -> None:
    """The stream's and the second trigger's are lost; the client says nothing and waits."""
    queues = client("sqs", stack)

    async def told() -> tuple[dict[str, Any], int]:
        run_id = onward.submit(plan=chain(1, 1.5))["run_id"]
        async with opened(onward) as socket:
            await say(socket, "subscribe", run_id)
            await reached(socket, 3)
            with disabled(stack, "PushEventsFunction"):
                until(lambda: onward.get(run_id)["status"] == "succeeded")
                # The stream's wake-up is there when another run's is, which was committed later.
                other = onward.submit(plan=chain(1))["run_id"]
                until(lambda: other in waiting(queues, stack))
                queues.purge_queue(QueueUrl=stack.outputs["LiveQueueUrl"])
            repairs = onward.patrol()["repairs"]
            return repairs, await reached(socket, 6)

    repairs, last = asyncio.run(told())
    assert (1, 6) == (repairs["pushed_again"], last)


async def reached(socket: ClientConnection, last: int) -> int:
    """Read on to an event, and return its number."""
    while True:
        frame = await heard(socket)
        if frame["type"] == "event" and int(frame["event"]["sequence"]) >= last:
            return int(frame["event"]["sequence"])


def waiting(queues: Any, stack: Stack) -> set[str]:
    """The runs of the wake-ups that nobody takes."""
    answer = queues.receive_message(
        QueueUrl=stack.outputs["LiveQueueUrl"], MaxNumberOfMessages=10, VisibilityTimeout=0
    )
    return {json.loads(message["Body"])["run_id"] for message in answer.get("Messages", [])}


def test_a_ticket_opens_one_socket(onward: Onward, stack: Stack) -> None:
    """Without one, with a used one or a made-up one, the handshake is refused."""
    ticket = onward.socket_ticket()
    assert stack.ws_url == ticket["url"]

    async def statuses() -> list[int]:
        refused = []
        for query in (f"?ticket={ticket['ticket']}",) * 2 + ("?ticket=wst_made_up", ""):
            try:
                async with connect(ticket["url"] + query, proxy=None):
                    refused.append(0)
            except InvalidStatus as error:
                refused.append(error.response.status_code)
        return refused

    assert [0, 403, 403, 401] == asyncio.run(statuses())


def test_a_mistake_is_answered_on_the_socket(onward: Onward) -> None:
    """Unknown actions, no JSON at all, and runs that are not there."""

    async def codes() -> list[str]:
        async with opened(onward) as socket:
            await socket.send("no JSON")
            await say(socket, "dance")
            await say(socket, "subscribe", "run_none")
            return [str((await heard(socket))["code"]) for _ in range(3)]

    assert ["bad_request", "bad_request", "run_not_found"] == asyncio.run(codes())


def test_a_ping_tells_where_the_logs_are(onward: Onward) -> None:
    """A client that lags behind its pong knows that it misses something."""
    run_id = onward.submit(plan=chain(1))["run_id"]
    list(onward.watch(run_id))

    async def pong() -> dict[str, Any]:
        async with opened(onward) as socket:
            await say(socket, "subscribe", run_id)
            while (frame := await heard(socket))["type"] != "event":
                pass
            await say(socket, "ping")
            while (frame := await heard(socket))["type"] != "pong":
                pass
            return frame

    assert {run_id: 6} == asyncio.run(pong())["runs"]
