"""Logs of the length that is promised, to receivers and sockets that take their time."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from onward.app.delivering.deliver import WakeUp, deliver
from onward.app.live.push_events import push_events
from onward.app.live.wake_live import PassedOn
from onward.aws import codec, keys
from onward.domain.delivery import SyncStatus, most_hops
from onward.outside.request import Reply, TimedOut

from tests.store.conftest import RUNS, Time
from tests.store.delivering import World
from tests.store.listening import Sockets
from tests.store.runs import RUN_ID

EVENTS = 2000
SLOWNESS = [0.1, *([10.0] if os.environ.get("ONWARD_TEST_PROFILE") == "thorough" else [])]
"""Seconds an answer takes; the longer ones are some minutes of a core: see test_machine."""

CUT = 16
"""Hops after which Lambda cuts a chain that is not allowed."""

NOTIFY_SECONDS, PUSH_SECONDS = 30.0, 5.0


@pytest.fixture
def long(here: World, dynamodb: Any) -> World:
    """An ended run with a log of that many events."""
    run = here.finish()
    key = {"pk": {"S": keys.run_pk(RUN_ID)}}
    model = dynamodb.get_item(TableName=RUNS, Key=key | {"sk": {"S": keys.event_sk(run.seq)}})
    rows = [
        model["Item"] | {"sk": {"S": keys.event_sk(seq)}} | codec.item({"seq": seq})
        for seq in range(run.seq + 1, EVENTS + 1)
    ]
    for start in range(0, len(rows), 25):
        puts = [{"PutRequest": {"Item": row}} for row in rows[start : start + 25]]
        assert not dynamodb.batch_write_item(RequestItems={RUNS: puts})["UnprocessedItems"]
    dynamodb.update_item(
        TableName=RUNS,
        Key=key | {"sk": {"S": keys.RUN}},
        UpdateExpression="SET seq = :seq",
        ExpressionAttributeValues={":seq": {"N": str(EVENTS)}},
    )
    return here


@pytest.mark.parametrize("seconds", SLOWNESS)
def test_a_healthy_endpoint_hears_all_of_a_long_log(long: World, seconds: float) -> None:
    """However slow it answers: no letter, no chain over its bound, each event acknowledged once."""
    long.subscribe("http://127.0.0.1:9/", event_types=("*",), created_at=long.time.now - 1e6)
    heard: list[str] = []

    def post(_url: str, headers: dict[str, str], _body: bytes, patience: float) -> Reply:
        long.time.now += min(seconds, patience)
        if seconds > patience:
            raise TimedOut(f"no answer within {patience:g} s")
        heard.append(headers["webhook-id"])
        return Reply(200, {}, b"")

    sender, hops = replace(long.sender(), post=post), 0
    queue = [WakeUp(RUN_ID, "acme", "billing")]
    while queue:
        wake = queue.pop()
        hops = max(hops, wake.hops)
        assert deliver(sender, wake, long.time.now + NOTIFY_SECONDS) is None
        queue, long.again[:] = list(long.again), []

    assert (EVENTS, EVENTS) == (len(heard), len(set(heard)))
    assert (SyncStatus.SYNCED, []) == (long.sync(), long.letters)
    assert hops <= most_hops(long.run)


@pytest.mark.parametrize("seconds", SLOWNESS)
def test_a_socket_hears_all_of_a_long_log(
    long: World, sockets: Sockets, time: Time, seconds: float
) -> None:
    """Each event once and in order, and no chain over its bound.

    At 10 s a frame a socket reaches its two hours on the way: its client comes back for the rest.
    """

    def slowly(_connection: str) -> None:
        time.now += seconds

    sockets.before_post = slowly
    passed: list[PassedOn] = []
    live, hops, told = replace(sockets.live, again=passed.append), 0, 0
    while told < EVENTS:
        sockets.say("a", "subscribe", last_event_id=told)
        passed.append(PassedOn(RUN_ID, 0))
        while passed:
            wake = passed.pop()
            hops = max(hops, wake.hops)
            push_events(live, RUN_ID, time.now + PUSH_SECONDS, hops=wake.hops)
        assert told < len(sockets.seqs("a")), "a socket brought nothing"
        told = len(sockets.seqs("a"))

    assert list(range(1, EVENTS + 1)) == sockets.seqs("a")
    assert hops > CUT
