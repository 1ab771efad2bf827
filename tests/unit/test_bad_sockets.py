"""Both clients over sockets that do not open, or open and do not work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from onward.client import AsyncOnward, Onward

from tests.unit.scripted_api import ScriptedApi, serve
from tests.unit.scripted_sockets import event, sent, sockets, subscribed

Watch = Callable[[str], list[int]]


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    yield from serve()


@pytest.fixture(params=["sync", "async"])
def watch(api: ScriptedApi, request: pytest.FixtureRequest) -> Watch:
    """Follow run_1 to its end by one of the clients, with tickets to an address."""

    def sync() -> list[int]:
        with Onward(api.url, "ow_key") as onward:
            return [int(each["sequence"]) for each in onward.watch("run_1")]

    async def on_asyncio() -> list[int]:
        async with AsyncOnward(api.url, "ow_key") as onward:
            return [int(each["sequence"]) async for each in onward.watch("run_1")]

    def to_the_end(url: str) -> list[int]:
        ticket = {"ticket": "wst_1", "use": "ws", "url": url}
        api.routes.setdefault("POST /tickets", (201, ticket))
        return sync() if request.param == "sync" else asyncio.run(on_asyncio())

    return to_the_end


def test_the_gateways_own_words_end_a_socket_only(api: ScriptedApi, watch: Watch) -> None:
    """A handler that dies is told of in plain text, where a frame would be."""
    api.log = [event(1), event(2, "run.succeeded")]
    good = [subscribed(0, 2), sent(1), sent(2, "run.succeeded")]
    with sockets(["Worker process died"], ["Task timed out after 29.00 seconds"], good) as live:
        assert [1, 2] == watch(live.url)


@pytest.mark.parametrize(
    "ticket", [b"<html>", [], "words", {"ticket": "t", "url": "ws://[::1"}, {"url": 3, "ticket": 3}]
)
def test_what_is_no_ticket_opens_nothing(api: ScriptedApi, watch: Watch, ticket: Any) -> None:
    """The run is followed by polling."""
    api.log = [event(1), event(2, "run.succeeded")]
    api.routes["POST /tickets"] = (201, ticket)
    assert [1, 2] == watch("")


@pytest.mark.parametrize("proxy", ["gopher://127.0.0.1:9", "socks5://127.0.0.1:9"])
def test_a_proxy_that_no_socket_can_take_leaves_polling(
    api: ScriptedApi, watch: Watch, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    """One of an unknown kind, or one whose library is not installed."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ws_proxy", proxy)
    api.log = [event(1), event(2, "run.succeeded")]
    assert [1, 2] == watch("ws://onward.invalid")
