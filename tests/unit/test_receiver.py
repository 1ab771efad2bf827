"""The outside of the drills: what it does with writes that come again, and how it counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection, RemoteDisconnected
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from infra.local.drills.outside import Outside, outside


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Outside]:
    with outside(tmp_path / "ledger.jsonl") as running:
        yield running


def send(
    receiver: Outside, action: str, key: str = "k", fence: int = 1, rehearse: str = ""
) -> tuple[int, Any]:
    told = {"order_id": "o", "action": action, "body": {}}
    headers = {"Idempotency-Key": key, "Fence": str(fence), "Rehearse": rehearse}
    return post(receiver, "/writes", told, headers)


def post(
    receiver: Outside, path: str, told: dict[str, Any], headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    connection = HTTPConnection(urlsplit(receiver.url).netloc, timeout=5)
    try:
        connection.request("POST", path, json.dumps(told), headers or {})
        answer = connection.getresponse()
        return answer.status, json.load(answer)
    finally:
        connection.close()


def test_a_known_key_is_answered_as_the_first_time(receiver: Outside) -> None:
    """Three arrivals, two keys, two effects."""
    first, again, other = (send(receiver, "notify", key) for key in ("k", "k", "l"))

    assert (201, 200, 201) == (first[0], again[0], other[0])
    assert first[1] == again[1] != other[1]
    assert {"arrival": 3, "effect": 2, "repeat": 1} == receiver.counts("o")["notify"]


def test_a_lower_fence_is_rejected_and_a_higher_one_replaces(receiver: Outside) -> None:
    """There is one effect under the highest fence."""
    statuses = [send(receiver, "release", fence=fence)[0] for fence in (2, 1, 3, 3)]

    assert [201, 409, 200, 200] == statuses
    counts = {"arrival": 4, "effect": 1, "rejected": 1, "replacement": 1, "repeat": 1}
    assert counts == receiver.counts("o")["release"]


def test_where_nothing_is_honoured_every_arrival_is_an_effect(receiver: Outside) -> None:
    """And what a key wrote can be asked for."""
    assert receiver.receipt("k") is None
    _, receipt = send(receiver, "book")
    send(receiver, "book")

    assert {"arrival": 2, "effect": 2} == receiver.counts("o")["book"]
    assert receipt == receiver.receipt("k")


def test_a_reply_can_be_lost_after_the_write(receiver: Outside) -> None:
    """The connection ends without an answer; the effect stays."""
    with pytest.raises(RemoteDisconnected):
        send(receiver, "notify", rehearse="lost_reply")

    assert 1 == receiver.effects("o")["notify"]


def test_a_request_lands_after_its_sender_is_gone(receiver: Outside) -> None:
    """Whoever counts waits for what is in flight."""
    connection = HTTPConnection(urlsplit(receiver.url).netloc, timeout=5)
    told = json.dumps({"order_id": "o", "action": "book", "body": {}})
    connection.request("POST", "/writes", told, {"Rehearse": "late_landing;0.3"})
    connection.close()

    while not receiver.counts_now("o"):
        pass
    assert "effect" not in receiver.counts_now("o")["book"]
    assert 1 == receiver.effects("o")["book"]


def test_faults_can_be_programmed(receiver: Outside) -> None:
    """They strike so many times, and then no more."""
    lock = {"order_id": "o", "action": "account", "kind": "row_lock", "times": 2}
    post(receiver, "/faults", lock)
    post(receiver, "/faults", {"order_id": "o", "action": "number", "discipline": "none"})

    assert [423, 423, 201] == [send(receiver, "account")[0] for _ in range(3)]
    assert [201, 201] == [send(receiver, "number")[0] for _ in range(2)]


def test_what_was_counted_outlives_the_process(tmp_path: Path) -> None:
    """The next one reads the ledger file, and knows the keys in it."""
    with outside(tmp_path / "ledger.jsonl") as first:
        receipt = send(first, "notify")
    with outside(tmp_path / "ledger.jsonl") as second:
        assert (200, receipt[1]) == send(second, "notify")
        assert 1 == second.effects("o")["notify"]
