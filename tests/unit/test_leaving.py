"""Whoever stops watching before the end leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from onward.client import AsyncOnward, Onward

from tests.unit.scripted_api import ScriptedApi, serve
from tests.unit.scripted_sockets import Sockets, sent, sockets, subscribed

LONG = [subscribed(0, 400), *(sent(n) for n in range(1, 400))]
SHORT = [subscribed(0, 13), *(sent(n) for n in range(1, 13)), sent(13, "run.failed")]


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    yield from serve()


@contextmanager
def live(api: ScriptedApi, *scripts: list[str]) -> Iterator[Sockets]:
    with sockets(*scripts) as scripted:
        api.routes["POST /tickets"] = (201, {"ticket": "t", "use": "ws", "url": scripted.url})
        yield scripted


def test_a_watch_that_is_closed_closes_its_socket(api: ScriptedApi) -> None:
    """Also while more waits to be read."""
    with live(api, LONG) as socket, Onward(api.url, "ow_key") as onward:
        events = iter(onward.watch("run_1"))
        assert 1 == int(next(events)["sequence"])
        del events
        assert socket.left.wait(30)


def test_on_asyncio_leaving_the_client_closes_sockets_too(api: ScriptedApi) -> None:
    """A loop that was left by `break` is closed by nobody in time."""

    async def left() -> int:
        async with AsyncOnward(api.url, "ow_key") as onward:
            async for _ in onward.watch("run_1"):
                break
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    with live(api, LONG):
        assert 1 == asyncio.run(left())


def test_on_asyncio_a_watch_can_be_cancelled_at_any_moment(api: ScriptedApi) -> None:
    """Also in the one in which a frame arrives."""

    async def cancelled(ticks: int) -> bool:
        begun = asyncio.Event()

        async def follow() -> None:
            async for _ in onward.watch("run_1"):
                begun.set()
                await asyncio.sleep(0)

        async with AsyncOnward(api.url, "ow_key") as onward:
            following = asyncio.create_task(follow())
            await begun.wait()
            for _ in range(ticks):
                await asyncio.sleep(0)
            following.cancel()
            await asyncio.wait({following})
            return following.cancelled()

    with live(api, *[SHORT] * 8):
        assert [True] * 8 == [asyncio.run(cancelled(ticks)) for ticks in range(8)]
