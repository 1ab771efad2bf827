"""How many requests are held at once, and what those are told that cannot be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from onward.app.reading.replay_events import RETRY_SECONDS, replay_events
from onward.app.service import Service
from onward.aws.waiting_slots import MARGIN, Slot, WaitingSlots
from onward.domain.protocol import Complete
from onward.http.event_stream import streamed

from tests import faults
from tests.store.caller import Caller
from tests.store.conftest import CURSORS, Time, new_client
from tests.store.runs import RUN_ID, Journey
from tests.store.test_replay_events import DONE

COUNT = 3
PATH = f"/runs/{RUN_ID}/events"


@pytest.fixture
def slots(dynamodb: Any) -> WaitingSlots:
    return WaitingSlots(dynamodb, CURSORS, COUNT)


def fill(service: Service) -> list[Slot]:
    """Hold every slot for twenty seconds."""
    held = [service.slots.take(f"other-{n}", service.clock(), 20, n) for n in range(COUNT)]
    assert None not in held
    return [slot for slot in held if slot]


def test_as_many_are_held_as_there_are_slots(slots: WaitingSlots, time: Time) -> None:
    """Whichever they try first; one that is given back is there for the next."""
    held = [slots.take(f"r{n}", time.now, 20, 7) for n in range(COUNT)]
    assert {0, 1, 2} == {slot.number for slot in held if slot}
    assert slots.take("late", time.now, 20, 0) is None

    assert held[1]
    slots.release(held[1], time.now)
    assert slots.take("late", time.now, 20, 0) == replace(held[1], holder="late")


def test_without_slots_nobody_is_held(dynamodb: Any, time: Time) -> None:
    """A setting of 0 forbids it."""
    assert WaitingSlots(dynamodb, CURSORS, 0).take("r", time.now, 20, 5) is None


def test_a_dead_holder_frees_its_slot(service: Service, time: Time) -> None:
    """After its wait and a margin; and when it was not dead after all, it frees nobody else's."""
    slow, *_ = fill(service)
    time.now += 20 + MARGIN - 1
    assert service.slots.take("next", time.now, 20, 0) is None

    time.now += 2
    taken = service.slots.take("next", time.now, 20, slow.number)
    assert taken == replace(slow, holder="next")
    service.slots.release(slow, time.now)
    service.slots.take("b", time.now, 20, 1)
    service.slots.take("c", time.now, 20, 1)
    assert service.slots.take("third", time.now, 20, 0) is None


def test_a_lost_reply_takes_one_slot_only(slots: WaitingSlots, time: Time, aws: None) -> None:
    """The SDK asks again, and its own row is no refusal."""
    client = new_client("dynamodb", attempts=2)
    mine = WaitingSlots(client, CURSORS, COUNT)
    with faults.lost_reply(client, "PutItem"):
        assert mine.take("r", time.now, 20, 0) == Slot(0, "r")
    assert slots.take("s", time.now, 20, 1)
    assert slots.take("t", time.now, 20, 1)
    assert slots.take("u", time.now, 20, 1) is None


def test_a_throttled_table_holds_nobody(service: Service, dynamodb: Any, made: Journey) -> None:
    """And fails no request: it is answered with what there is."""
    with faults.throttled(dynamodb, "PutItem", times=COUNT):
        page = replay_events(service, "acme", RUN_ID, after=3, limit=10, wait=20)
    assert page["retry_after"]


def test_who_finds_no_slot_is_answered_at_once(
    service: Service, acme: Caller, made: Journey, time: Time
) -> None:
    """As a page with the pause in its header, as a stream with the pause EventSource takes."""
    fill(service)

    page = acme.get(PATH, after=3, wait=20)
    stream = acme.get(PATH, {"Accept": "text/event-stream"}, after=3)

    assert time.naps == []
    least, most = RETRY_SECONDS
    assert (200, []) == (page.status, page.body["events"])
    wait = page.body["retry_after"]
    assert least <= wait <= most
    assert str(wait) == page.headers["retry-after"] == stream.headers["retry-after"]
    assert f"retry: {wait}000\n\n: nothing new\n\n" == stream.body


def test_what_is_there_needs_no_slot(service: Service, acme: Caller, made: Journey) -> None:
    """Nor does a question that is not to be held."""
    fill(service)
    assert 3 == len(acme.get(PATH, wait=20).body["events"])
    assert "retry_after" not in acme.get(PATH, after=3).body


@pytest.mark.parametrize("end", ["time", "event", "error"])
def test_a_slot_is_given_back_however_the_wait_ends(
    service: Service, made: Journey, time: Time, end: str
) -> None:
    """Its time is up, something came, or the request failed."""

    def sleep(seconds: float) -> None:
        time.now += seconds
        if end == "event":
            made.move(Complete("s1", 1, DONE))
        if end == "error":
            raise RuntimeError(end)

    held = replace(service, sleep=sleep)
    for _ in range(COUNT + 1):
        after = made.run.seq
        if end == "event" and after > 3:
            break
        try:
            page = replay_events(held, "acme", RUN_ID, after=after, limit=10, wait=5)
        except RuntimeError:
            continue
        assert "retry_after" not in page
    assert [] == [n for n in range(COUNT) if not service.slots.take(f"n{n}", time.now, 1, n)]


def test_a_stream_that_is_held_comes_again_after_a_second() -> None:
    """Where a slot was there nothing changes."""
    page = {"events": [], "next_after": 3, "as_of_seq": 3, "ended": False}
    assert streamed(page).text.startswith("retry: 1000\n")
    assert "Retry-After" not in streamed(page).headers
