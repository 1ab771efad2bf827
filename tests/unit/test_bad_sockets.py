"""Both clients over sockets that do not open, or open and do not work."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any, Protocol

import pytest
from onward.client import AsyncOnward, Onward
from onward.client.feed import Feed, Turns
from onward.client.wire import BackOff

from tests.unit.scripted_api import ScriptedApi, serve
from tests.unit.scripted_sockets import CUT, event, sent, sockets, subscribed

EVENTS = "GET /runs/run_1/events"


class Watch(Protocol):
    """Follows run_1 to its end with tickets to an address; time passes while pages are held."""

    def __call__(self, url: str, held: float = 0) -> list[int]: ...


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    yield from serve()


@pytest.fixture(params=["sync", "async"])
def watch(api: ScriptedApi, request: pytest.FixtureRequest) -> Watch:
    """Each of the two clients; neither pauses."""

    def sync(back_off: BackOff) -> list[int]:
        with Onward(api.url, "ow_key", back_off=back_off) as onward:
            return [int(each["sequence"]) for each in onward.watch("run_1")]

    async def on_asyncio(back_off: BackOff) -> list[int]:
        async with AsyncOnward(api.url, "ow_key", back_off=back_off) as onward:
            return [int(each["sequence"]) async for each in onward.watch("run_1")]

    def to_the_end(url: str, held: float = 0) -> list[int]:
        ticket = {"ticket": "wst_1", "use": "ws", "url": url}
        api.routes.setdefault("POST /tickets", (201, ticket))
        back_off = BackOff(clock=lambda: held * said(api).count("page"), jitter=lambda: 0.0)
        return sync(back_off) if request.param == "sync" else asyncio.run(on_asyncio(back_off))

    return to_the_end


def said(api: ScriptedApi) -> list[str]:
    return ["ticket" if asked.path == "/tickets" else "page" for asked in api.asked]


def pages(api: ScriptedApi, *sequences: int, ended: bool = False) -> None:
    """Answer one event a page."""
    api.turns[EVENTS] = [
        (200, {"events": [event(n)], "as_of_seq": 9, "ended": False}) for n in sequences
    ]
    if ended:
        api.turns[EVENTS][-1][1].update(as_of_seq=sequences[-1], ended=True)


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


REFUSED = json.dumps({"message": "Internal server error"})
BROKEN = {
    "the gateway answers in its own words": [REFUSED],
    "a proxy accepts and closes": [CUT],
    "a greeting and nothing more": [subscribed(0, 9), CUT],
    "an event is missing every time": [subscribed(0, 9), sent(9)],
}


@pytest.mark.parametrize("script", BROKEN.values(), ids=BROKEN.keys())
def test_sockets_that_bring_nothing_leave_polling_alone(
    api: ScriptedApi, watch: Watch, script: list[str]
) -> None:
    """Three in a row, with a page after each of them; then pages only."""
    pages(api, 1, 2, 3, 4, 5, ended=True)
    with sockets(*[script] * 9) as live:
        assert [1, 2, 3, 4, 5] == watch(live.url)
    assert 3 == len(live.heard)
    assert ["ticket", "page"] * 3 + ["page"] * 2 == said(api)


def test_a_long_watch_comes_back_to_sockets(api: ScriptedApi, watch: Watch) -> None:
    """After a minute of polling one more is tried, and stays while it works."""
    pages(api, 1, 2, 3, 4, 5)
    api.log = [event(n) for n in range(1, 8)] + [event(8, "run.succeeded")]
    good = [subscribed(5, 6), sent(6), CUT]
    better = [subscribed(6, 8), sent(7), sent(8, "run.succeeded")]
    with sockets([REFUSED], [REFUSED], [REFUSED], good, better) as live:
        assert [1, 2, 3, 4, 5, 6, 7, 8] == watch(live.url, held=20)
    assert [0, 1, 2, 5, 6] == [each["last_event_id"] for each in live.heard]


def test_between_sockets_that_bring_nothing_there_are_pauses() -> None:
    """They double, end with a minute of polling, and are forgotten once a socket works."""
    now = 0.0
    turns = Turns(BackOff(clock=lambda: now, jitter=lambda: 1.0))
    feed = Feed("run_1", 0)

    def next_turn(frame: str | None) -> float | None:
        pause = turns.pause()
        if pause is not None:
            if frame is not None:
                feed.take(frame)
            turns.brought(feed)
        return pause

    assert [0.0, 0.2, 0.4, None] == [next_turn(REFUSED) for _ in range(4)]
    now = 59.9
    assert next_turn(None) is None
    now = 60.0
    assert [0.8, None] == [next_turn(None), next_turn(None)]
    now = 120.0
    assert [1.6, 0.0, 0.0, 0.2] == [next_turn(f) for f in (sent(1), sent(2), REFUSED, REFUSED)]


def test_the_pauses_are_made(api: ScriptedApi) -> None:
    """Before each socket but the first."""
    slept: list[float] = []
    pages(api, 1, 2, 3, ended=True)
    api.routes["POST /tickets"] = (404, {})
    back_off = BackOff(sleep=slept.append, jitter=lambda: 1.0)
    with Onward(api.url, "ow_key", back_off=back_off) as onward:
        list(onward.watch("run_1"))
    assert [0.0, 0.2, 0.4] == slept


def test_an_answered_ping_is_something_that_a_socket_brought() -> None:
    """A run that stands still for long is no reason to leave its sockets."""
    feed, turns = Feed("run_1", 0), Turns(BackOff())
    feed.take(json.dumps({"type": "pong", "runs": {"run_1": 0}}))
    assert turns.brought(feed)
    assert not turns.brought(feed)
