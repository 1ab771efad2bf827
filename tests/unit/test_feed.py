from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from onward.client import AsyncOnward, Onward, OnwardProblem
from onward.client.feed import Feed, Sign

from tests.unit.scripted_api import ScriptedApi, serve
from tests.unit.scripted_sockets import CUT, LATER, Sockets, event, sent, sockets, subscribed


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    yield from serve()


def watched(api: ScriptedApi, live: Sockets, after: int = 0) -> list[int]:
    api.routes["POST /tickets"] = (201, {"ticket": "wst_1", "use": "ws", "url": live.url})
    with Onward(api.url, "ow_dev_key") as onward:
        return [int(each["sequence"]) for each in onward.watch("run_1", after)]


def watched_async(api: ScriptedApi, live: Sockets) -> list[dict[str, Any]]:
    api.routes["POST /tickets"] = (201, {"ticket": "wst_1", "use": "ws", "url": live.url})

    async def watch() -> list[Any]:
        async with AsyncOnward(api.url, "ow_dev_key") as onward:
            return [each async for each in onward.watch("run_1")]

    return asyncio.run(watch())


def test_on_asyncio_events_come_once_and_in_order_too(api: ScriptedApi) -> None:
    """Over a cut, a repetition, a large event and a gap, to the end."""
    api.log = [event(n) for n in (1, 2, 3, 4)] + [event(5, "run.failed")]
    api.log[1]["data"] = {"note": "long"}
    first = [subscribed(0, 5), sent(1), sent(2, dataref="/elsewhere"), CUT]
    second = [subscribed(2, 5), sent(2), sent(3), sent(5, "run.failed")]
    third = [subscribed(3, 5), sent(4), sent(5, "run.failed")]
    with sockets(first, second, third) as live:
        seen = watched_async(api, live)
    assert [1, 2, 3, 4, 5] == [int(each["sequence"]) for each in seen]
    assert {"note": "long"} == seen[1]["data"]
    assert [0, 2, 3] == [said["last_event_id"] for said in live.heard]


def test_on_asyncio_there_is_polling_without_a_socket(api: ScriptedApi) -> None:
    """And `wait` returns the run as it ended."""
    api.log = [event(1), event(2, "run.succeeded")]
    api.routes["GET /runs/run_1"] = (200, {"run_id": "run_1", "as_of_seq": 0})

    async def waited() -> Any:
        async with AsyncOnward(api.url, "ow_dev_key") as onward:
            assert [1, 2] == [int(e["sequence"]) async for e in onward.watch("run_1")]
            return await onward.wait("run_1")

    assert "run_1" == asyncio.run(waited())["run_id"]


def test_events_come_over_the_socket_until_the_run_has_ended(api: ScriptedApi) -> None:
    """The end is believed once a page says that nothing follows."""
    api.log = [event(1), event(2), event(3, "run.succeeded")]
    with sockets([subscribed(0, 1), sent(1), sent(2), sent(3, "run.succeeded")]) as live:
        assert [1, 2, 3] == watched(api, live)
    assert [{"action": "subscribe", "run_id": "run_1", "last_event_id": 0}] == live.heard
    assert 1 == sum("/events" in asked.path for asked in api.asked)


def test_a_broken_socket_is_replaced_and_costs_nothing(api: ScriptedApi) -> None:
    """The next one asks for what follows; what comes twice is dropped."""
    api.log = [event(n) for n in (1, 2, 3)] + [event(4, "run.failed")]
    first = [subscribed(0, 4), sent(1), sent(2), CUT]
    second = [subscribed(2, 4), sent(2), sent(3), sent(4, "run.failed")]
    with sockets(first, second) as live:
        assert [1, 2, 3, 4] == watched(api, live)
    assert [0, 2] == [said["last_event_id"] for said in live.heard]


def test_a_gap_is_asked_for_again(api: ScriptedApi) -> None:
    """An event that is not the next one is not passed on."""
    api.log = [event(1), event(2), event(3, "run.succeeded")]
    with sockets(
        [subscribed(0, 3), sent(1), sent(3, "run.succeeded")],
        [subscribed(1, 3), sent(2), sent(3, "run.succeeded")],
    ) as live:
        assert [1, 2, 3] == watched(api, live)


def test_a_run_that_has_ended_is_read_to_its_end(api: ScriptedApi) -> None:
    """A subscription behind which nothing comes looks at a page."""
    api.log = [event(1), event(2, "run.succeeded")]
    with sockets([subscribed(2, 2)]) as live:
        assert [] == watched(api, live, after=2)


def test_large_events_are_fetched(api: ScriptedApi) -> None:
    """The frame names where the data is; the page has it."""
    api.log = [event(1, data={"note": "long"}), event(2, "run.succeeded")]
    large = sent(1, dataref="/runs/run_1/events?after=0&limit=1")
    api.routes["POST /tickets"] = (201, {})
    with sockets([subscribed(0, 2), large, sent(2, "run.succeeded")]) as live:
        api.routes["POST /tickets"] = (201, {"ticket": "t", "use": "ws", "url": live.url})
        with Onward(api.url, "ow_dev_key") as onward:
            first, second = onward.watch("run_1")
    assert {"note": "long"} == first["data"]
    assert {} == second["data"]


@pytest.mark.parametrize("ticket", [{}, {"ticket": "t", "url": "ws://127.0.0.1:9"}, {"url": "x"}])
def test_without_a_socket_there_is_polling(api: ScriptedApi, ticket: dict[str, Any]) -> None:
    """A service that has none, one that nobody answers on, or one that makes no sense."""
    api.log = [event(1), event(2, "run.succeeded")]
    api.routes["POST /tickets"] = (201, ticket)
    with Onward(api.url, "ow_dev_key") as onward:
        assert ["1", "2"] == [each["id"][-1] for each in onward.watch("run_1")]


def test_silence_is_asked_about_once(api: ScriptedApi) -> None:
    """A ping first; a socket that does not answer it is dead."""
    feed = Feed("run_1", 0)
    assert {"action": "ping"} == json.loads(str(feed.quiet()))
    assert feed.quiet() is None
    feed.take(json.dumps({"type": "pong", "runs": {"run_1": 5}}))
    assert feed.quiet() is not None


@pytest.mark.parametrize(
    ("frame", "sign"),
    [
        (subscribed(3, 3), Sign.LOOK),
        (subscribed(3, 4), Sign.NOTHING),
        (json.dumps({"type": "pong", "runs": {"run_1": 3}}), Sign.LOOK),
        (json.dumps({"type": "pong", "runs": {"run_1": 4}}), Sign.LOOK),
        (json.dumps({"type": "pong", "runs": {}}), Sign.RECONNECT),
        (json.dumps({"message": "Internal server error"}), Sign.RECONNECT),
        (sent(3), Sign.NOTHING),
        (sent(5), Sign.RECONNECT),
    ],
)
def test_what_a_frame_asks_for(frame: str, sign: Sign) -> None:
    """With everything up to event 3 seen; a pong without the run has lost the subscription."""
    assert sign is Feed("run_1", 3).take(frame)


@pytest.mark.parametrize(
    "frame",
    [
        "Worker process died",
        "Task timed out after 29.00 seconds",
        b"\xff\xfe\xfd",
        "[" * 100_000,
        "[]",
        "3",
        json.dumps({"type": []}),
        json.dumps({"type": "event"}),
        json.dumps({"type": "event", "event": []}),
        json.dumps({"type": "event", "event": event(4) | {"sequence": "next"}}),
        json.dumps({"type": "event", "event": event(4) | {"sequence": float("inf")}}),
        json.dumps({"type": "event", "event": event(4) | {"type": None}}),
        json.dumps({"type": "event", "event": {"id": "run_1/4", "sequence": "4"}}),
        json.dumps({"type": "event", "event": {"type": "onward.run.failed", "sequence": "4"}}),
        json.dumps({"type": "subscribed", "as_of_seq": 3}),
        subscribed(3, 3, "soon"),
        subscribed(3, 3, "2099-01-01T00:00:00"),
        json.dumps({"type": "subscribed", "as_of_seq": None, "reconnect_by": LATER}),
        json.dumps({"type": "pong"}),
        json.dumps({"type": "snapshot"}),
        json.dumps({"type": "snapshot", "as_of_seq": None}),
        json.dumps({"type": "error", "code": "bad_request"}),
        json.dumps({"type": "error", "code": [], "message": "odd"}),
    ],
)
def test_a_frame_that_is_not_ours_ends_its_socket(frame: str | bytes) -> None:
    """And moves nothing: what it may have meant comes over the next one."""
    feed = Feed("run_1", 3)
    assert Sign.RECONNECT is feed.take(frame)
    assert (3, None) == (feed.position, feed.reconnect_by)


def test_a_socket_is_left_before_the_gateway_cuts_it() -> None:
    """Between two events, when its time is up."""
    feed = Feed("run_1", 0)
    feed.take(subscribed(0, 9, "2020-01-01T00:00:00.000Z"))
    taken = feed.take(sent(1))
    assert not isinstance(taken, Sign)
    assert Sign.RECONNECT is feed.after(taken)


@pytest.mark.parametrize(
    ("frame", "status"),
    [
        ({"type": "error", "code": "run_not_found", "message": "none"}, 404),
        ({"type": "error", "code": "bad_request", "message": "bad"}, 400),
    ],
)
def test_what_the_service_refuses_is_raised(frame: dict[str, Any], status: int) -> None:
    """As it would be by HTTP."""
    with pytest.raises(OnwardProblem) as refused:
        Feed("run_1", 0).take(json.dumps(frame))
    assert status == refused.value.status


@pytest.mark.parametrize("position", [0, 99])
def test_a_snapshot_says_where_the_log_goes_on(position: int) -> None:
    """Behind what is kept no longer, and from the end of a log that is shorter than was known."""
    feed = Feed("run_1", position)
    state = {"type": "snapshot", "run": {}, "as_of_seq": 7}
    assert Sign.LOOK is feed.take(json.dumps(state))
    assert not isinstance(feed.take(sent(8)), Sign)
    assert 8 == feed.position


@pytest.mark.parametrize(("code", "seq"), [("cursor_expired", None), ("run_not_found", 7)])
def test_what_names_no_other_position_is_raised(code: str, seq: int | None) -> None:
    """Nobody asks the same question for ever."""
    problem = OnwardProblem(code, 410, "no", as_of_seq=seq)
    with pytest.raises(OnwardProblem, match=code):
        Feed("run_1", 9).refused(problem)
    with pytest.raises(OnwardProblem):
        Feed("run_1", 7).refused(problem)
