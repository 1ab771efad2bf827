from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from onward.app.service import Service
from onward.domain.protocol import Begin

from tests import faults
from tests.store.caller import Caller, Reply
from tests.store.conftest import Time, caller
from tests.store.reading import start
from tests.store.runs import RUN_ID, Journey, chain

PATH = f"/runs/{RUN_ID}/events"
STREAM = {"Accept": "text/event-stream"}


def frames(reply: Reply) -> list[dict[str, str]]:
    """Read a stream as the standard says: fields by line, frames by empty line."""
    assert (200, "text/event-stream") == (reply.status, reply.headers["content-type"])
    found: list[dict[str, str]] = []
    for block in reply.body.removesuffix("\n\n").split("\n\n"):
        fields = [line.partition(": ") for line in block.split("\n")]
        found.append({name: value for name, _, value in fields})
    return found


def told(reply: Reply) -> list[int]:
    return [int(frame["id"]) for frame in frames(reply) if "id" in frame]


def end(dynamodb: Any, journey: Journey) -> None:
    """Let the run's row say that it has ended at its last event."""
    dynamodb.update_item(
        TableName=journey.store.table,
        Key={"pk": {"S": f"RUN#{RUN_ID}"}, "sk": {"S": "RUN"}},
        UpdateExpression="SET #s = :s",
        ExpressionAttributeNames={"#s": "status"},
        ExpressionAttributeValues={":s": {"S": "succeeded"}},
    )


@pytest.fixture
def journey(service: Service, time: Time) -> Journey:
    return start(service, time, chain(3))


def test_events_are_frames(acme: Caller, journey: Journey) -> None:
    """Number, type and CloudEvent of each; when to ask again; nothing to keep."""
    journey.move(Begin())
    reply = acme.get(PATH, STREAM)
    retry, first, *others = frames(reply)
    assert {"retry": "1000"} == retry
    page = acme.get(PATH).body
    assert ("1", "onward.run.queued") == (first["id"], first["event"])
    assert page["events"] == [json.loads(frame["data"]) for frame in [first, *others]]
    assert "no-store" == reply.headers["cache-control"]


@pytest.mark.parametrize(
    "accept", ["text/event-stream", "TEXT/Event-Stream;q=0.9, */*", "a/b,text/event-stream"]
)
def test_who_names_the_type_gets_a_stream(acme: Caller, journey: Journey, accept: str) -> None:
    """Somewhere in the header."""
    assert [1] == told(acme.get(PATH, {"Accept": accept}))


@pytest.mark.parametrize("accept", ["*/*", "text/*", "application/json", ""])
def test_who_does_not_gets_a_page(acme: Caller, journey: Journey, accept: str) -> None:
    """A browser's address line and curl by itself accept anything."""
    assert acme.get(PATH, {"Accept": accept}).body["next_after"] == 1


def test_a_reconnect_goes_on_behind_its_last_event(acme: Caller, journey: Journey) -> None:
    """The header goes over the URL's `after`, which EventSource repeats each time."""
    last = journey.move(Begin()).run.seq
    assert list(range(2, last + 1)) == told(
        acme.get(PATH, STREAM | {"Last-Event-ID": "1"}, after=0)
    )
    assert list(range(1, last + 1)) == told(acme.get(PATH, STREAM | {"Last-Event-ID": ""}))


def test_without_news_a_stream_ends_in_time(acme: Caller, journey: Journey, time: Time) -> None:
    """Held for 20 s, within the gateway's 30, and ended by a comment, so that it is asked again."""
    before = time.now
    reply = acme.get(PATH, STREAM, after=1)
    assert 20 == pytest.approx(time.now - before)
    assert "retry: 1000\n\n: nothing new\n\n" == reply.body
    acme.get(PATH, STREAM, after=1, wait=0.5)
    assert 20.5 == pytest.approx(time.now - before)


def test_news_end_the_wait(acme: Caller, journey: Journey, service: Service, time: Time) -> None:
    """What was committed meanwhile is there within a second, and the answer ends with it."""
    before = time.now

    def sleep(seconds: float) -> None:
        time.sleep(seconds)
        if time.now > before + 3 and journey.run.seq == 1:
            journey.move(Begin())

    patient = caller(replace(service, sleep=sleep), acme.key)
    assert 2 in told(patient.get(PATH, STREAM, after=1))
    assert 3 < time.now - before < 5


def test_after_the_end_there_is_nothing_to_wait_for(
    acme: Caller, journey: Journey, dynamodb: Any, time: Time
) -> None:
    """The last frame says so to all, and 204 stops an EventSource that asks again."""
    last = journey.move(Begin()).run.seq
    end(dynamodb, journey)
    *_, final = frames(acme.get(PATH, STREAM, after=1))
    assert {"event": "end", "data": f'{{"as_of_seq":{last}}}'} == final
    again = acme.get(PATH, STREAM | {"Last-Event-ID": str(last)})
    assert (204, None) == (again.status, again.body)
    assert "content-type" not in again.headers
    assert not time.naps


def test_a_page_that_is_not_the_last_promises_no_end(
    acme: Caller, journey: Journey, dynamodb: Any
) -> None:
    """The run has ended, the caller has not seen it yet."""
    journey.move(Begin())
    end(dynamodb, journey)
    reply = acme.get(PATH, STREAM, limit=1)
    assert [1] == told(reply)
    assert "event: end" not in reply.body


def test_what_may_pass_keeps_the_stream_asking(
    acme: Caller, journey: Journey, dynamodb: Any
) -> None:
    """EventSource gives up on any status but 200; a program's page is 503 as ever."""
    with faults.throttled(dynamodb, "GetItem", 2):
        assert "retry: 1000\n\n: unavailable\n\n" == acme.get(PATH, STREAM).body
        assert 503 == acme.get(PATH).status


def test_what_will_not_pass_ends_it(acme: Caller, journey: Journey) -> None:
    """A problem like everywhere: EventSource then tells its owner."""
    for path, after, status in ((PATH, "x", 422), ("/runs/run_none/events", "0", 404)):
        reply = acme.get(path, STREAM, after=after)
        assert (status, "application/problem+json") == (reply.status, reply.headers["content-type"])


def test_no_text_breaks_a_frame(acme: Caller, journey: Journey, dynamodb: Any) -> None:
    """A tool may say anything: line breaks of every kind stay inside one data line."""
    said = "a\n\nid: 99\r\ndata: x\u2028\u0085"
    dynamodb.update_item(
        TableName=journey.store.table,
        Key={"pk": {"S": f"RUN#{RUN_ID}"}, "sk": {"S": "EVENT#0000000001"}},
        UpdateExpression="SET #d = :d",
        ExpressionAttributeNames={"#d": "data"},
        ExpressionAttributeValues={":d": {"S": json.dumps({"note": said})}},
    )
    _, frame = frames(acme.get(PATH, STREAM))
    assert said == json.loads(frame["data"])["data"]["note"]


@pytest.mark.parametrize("accept", [{}, STREAM])
def test_a_reader_ahead_of_the_log_is_sent_to_the_snapshot(
    acme: Caller, journey: Journey, dynamodb: Any, accept: dict[str, str]
) -> None:
    """410 with where the log stands, ended or not; never a 204, which is for good."""
    journey.move(Begin())
    for _ in range(2):
        reply = acme.get(PATH, accept | {"Last-Event-ID": str(journey.run.seq + 6)}, wait="20")
        assert (410, "cursor_expired", journey.run.seq) == (
            reply.status,
            reply.body["code"],
            reply.body["as_of_seq"],
        )
        end(dynamodb, journey)
