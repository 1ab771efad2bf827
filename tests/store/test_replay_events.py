from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from onward.app.reading.replay_events import MAX_WAIT, replay_events
from onward.app.service import Service
from onward.aws import keys
from onward.domain.errors import CursorExpired, RunNotFound
from onward.domain.model import Payload
from onward.domain.protocol import Complete

from tests import faults
from tests.store.conftest import RUNS, Time
from tests.store.runs import RUN_ID, Journey

DONE = Payload("{}")


def page(service: Service, after: int = 0, limit: int = 100, wait: float = 0.0) -> dict[str, Any]:
    return replay_events(service, "acme", RUN_ID, after=after, limit=limit, wait=wait)


def seqs(found: dict[str, Any]) -> list[int]:
    return [int(event["sequence"]) for event in found["events"]]


def test_the_log_as_cloud_events(service: Service, made: Journey) -> None:
    """Identity, order, time and data of an event are where CloudEvents 1.0 has them."""
    found = page(service)
    assert {
        "specversion": "1.0",
        "id": f"{RUN_ID}/1",
        "source": f"/runs/{RUN_ID}",
        "type": "onward.run.queued",
        "time": "2025-11-29T21:00:00.000Z",
        "sequence": "0000000001",
        "datacontenttype": "application/json",
        "data": {"workflow": "plan", "steps": 2},
    } == found["events"][0]
    assert [1, 2, 3] == seqs(found)
    assert (3, 3, False) == (found["next_after"], found["as_of_seq"], found["ended"])


def test_pages_join_without_gap_or_repetition(service: Service, made: Journey) -> None:
    """`next_after` is where the next page begins."""
    after, read = 0, []
    while after < 3:
        found = page(service, after, limit=2)
        read += seqs(found)
        after = found["next_after"]
    assert [1, 2, 3] == read


def test_a_log_that_is_read_to_its_end_has_ended(service: Service, made: Journey) -> None:
    """Only the page that reaches the last event of an ended run says so."""
    made.move(Complete("s1", 1, DONE))
    made.move(Complete("s2", 1, DONE))
    last = made.run.seq
    assert not page(service, 0, limit=last - 1)["ended"]
    assert page(service, 0, limit=last)["ended"]
    assert page(service, last)["ended"]
    assert [] == page(service, last, wait=20)["events"]


def test_nothing_new_is_waited_for(service: Service, made: Journey, time: Time) -> None:
    """An empty page is held as long as was asked for, with ever longer pauses up to a second."""
    before = time.now
    found = page(service, 3, wait=MAX_WAIT)
    assert ([], 3, 3, False) == (
        found["events"],
        found["next_after"],
        found["as_of_seq"],
        found["ended"],
    )
    assert pytest.approx(MAX_WAIT) == time.now - before
    assert all(a <= b for a, b in pairwise(time.naps[:-1]))
    assert max(time.naps) == 1.0
    assert len(time.naps) < 30


def test_what_comes_meanwhile_is_answered_at_once(
    service: Service, made: Journey, time: Time, dynamodb: Any
) -> None:
    """The wait ends with the first new event, whose row is all that is read until then."""
    slept = time.naps
    looks = faults.calls(dynamodb, "Query")

    def later(seconds: float) -> None:
        slept.append(seconds)
        time.now += seconds
        if len(slept) == 3:
            made.move(Complete("s1", 1, DONE))

    found = page(replace(service, sleep=later), 3, wait=20)
    assert [4, 5] == seqs(found)
    assert len(slept) == 3
    assert len(looks) == 1


def test_the_end_of_the_run_ends_the_wait(service: Service, made: Journey, time: Time) -> None:
    """Nobody is held for events that cannot come."""
    made.move(Complete("s1", 1, DONE))
    made.move(Complete("s2", 1, DONE))
    assert page(service, made.run.seq, wait=20)["ended"]
    assert time.naps == []


def test_an_event_that_is_not_visible_yet_is_not_skipped(
    service: Service, made: Journey, dynamodb: Any
) -> None:
    """A page stops before a gap, and comes back to it."""
    made.move(Complete("s1", 1, DONE))
    key = {"pk": {"S": keys.run_pk(RUN_ID)}, "sk": {"S": keys.event_sk(4)}}
    hidden = dynamodb.get_item(TableName=RUNS, Key=key)["Item"]
    dynamodb.delete_item(TableName=RUNS, Key=key)
    assert (3, [2, 3]) == (page(service, 1)["next_after"], seqs(page(service, 1)))
    assert [] == seqs(page(service, 3))
    dynamodb.put_item(TableName=RUNS, Item=hidden)
    assert [4, 5] == seqs(page(service, 3))


def test_a_page_may_be_newer_than_the_run_row(
    service: Service, made: Journey, dynamodb: Any
) -> None:
    """Events committed between the two reads are delivered, and `as_of_seq` follows them."""
    with faults.meanwhile(dynamodb, "Query", lambda: made.move(Complete("s1", 1, DONE))):
        found = page(service)
    assert [1, 2, 3, 4, 5] == seqs(found)
    assert (5, 5) == (found["next_after"], found["as_of_seq"])


@pytest.mark.parametrize("wait", [0, 20])
@pytest.mark.parametrize("ended", [False, True])
def test_a_position_beyond_the_log_is_told_so(
    service: Service, made: Journey, time: Time, *, ended: bool, wait: int
) -> None:
    """Six events of the future: at once, and never that the run has ended without its events."""
    if ended:
        made.move(Complete("s1", 1, DONE))
        made.move(Complete("s2", 1, DONE))
    with pytest.raises(CursorExpired) as beyond:
        page(service, made.run.seq + 6, wait=wait)
    assert (made.run.seq, []) == (beyond.value.as_of_seq, time.naps)
    assert page(service, made.run.seq)["ended"] is ended


def test_a_log_that_grows_to_a_position_has_it(service: Service, made: Journey) -> None:
    """Whoever was a step ahead of a row that was read late is not sent away."""
    made.move(Complete("s1", 1, DONE))
    assert [5] == seqs(page(service, 4))


def test_every_read_is_consistent(service: Service, made: Journey, dynamodb: Any) -> None:
    """A replica that lags would end a page early or a run never."""
    calls = [faults.calls(dynamodb, name) for name in ("Query", "GetItem")]
    page(service)
    assert all(call["ConsistentRead"] for made_calls in calls for call in made_calls)


def test_another_tenants_log_is_not_there(service: Service, made: Journey) -> None:
    """Not forbidden: not found."""
    with pytest.raises(RunNotFound):
        replay_events(service, "evil", RUN_ID, after=0, limit=1, wait=0)
