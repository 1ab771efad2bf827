"""What becomes of an event that a receiver does not take: three requests, one letter, and peace."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from onward.app.delivering.deliver import WakeUp, deliver
from onward.app.delivering.redrive import dead_deliveries, redrive
from onward.domain.delivery import LAST_RECEIVES, SyncStatus, most_hops

from infra.local.subscriber import Subscriber, Told
from tests import faults
from tests.store.delivering import World
from tests.store.looking import look, woken
from tests.store.runs import RUN_ID


@pytest.fixture
def failing(here: World, hook: Subscriber) -> World:
    """An ended run, and a receiver that takes nothing of it."""
    here.subscribe(hook)
    here.finish()
    hook.answer = lambda _number, _event: Told(500)
    return here


def test_an_end_that_wakes_twice_costs_three_requests(failing: World, hook: Subscriber) -> None:
    """However often the queue hands each wake-up out: requests are counted, not receives."""
    assert [2.0, 10.0, None] == [failing.deliver(receives) for receives in (3, 1, 7)]
    for receives in (1, 2, 3):
        assert failing.deliver(receives) is None

    assert (3, 1) == (len(hook.arrivals), len(failing.letters))
    assert "dead" == failing.delivery().state(failing.run)


def test_a_run_that_goes_on_costs_one_request_more(here: World, hook: Subscriber) -> None:
    """The receiver may be back; the letter there is is enough."""
    here.subscribe(hook)
    here.begin()
    hook.answer = lambda _number, _event: Told(500)
    for _ in range(4):
        here.deliver()
    assert 3 == len(hook.arrivals)

    here.finish()
    for _ in range(2):
        assert here.deliver() is None

    assert (4, 1) == (len(hook.arrivals), len(here.letters))
    hook.answer = lambda _number, _event: Told()
    look(here)
    (wake,) = woken(here)
    here.deliver(retry=wake["retry"])
    assert SyncStatus.SYNCED == here.sync()


@pytest.mark.parametrize("dies_at", ["letter", "row"])
def test_a_death_after_the_third_request_leaves_a_letter(
    failing: World, hook: Subscriber, dies_at: str
) -> None:
    """Before the letter, or between the letter and the row: a second one, never none."""
    failing.deliver(), failing.deliver()
    sender = failing.sender()

    def die(wake: WakeUp) -> None:
        if dies_at != "letter":
            failing.letters.append(wake)
        raise SystemExit

    wake = WakeUp(RUN_ID, "acme", "billing", 3)
    with pytest.raises(SystemExit):
        deliver(replace(sender, letter=die), wake, failing.time.now + 1000)
    assert failing.delivery().dead_since is None

    assert failing.deliver(4) is None

    assert 1 <= len(failing.letters) <= 2
    assert failing.delivery().dead_since is not None


def test_a_worker_that_is_killed_each_time_leaves_no_letter_without_its_row(
    here: World, hook: Subscriber
) -> None:
    """The queue buries the message by itself; the list has it by then, and a success clears it."""
    here.subscribe(hook)
    here.finish()

    def die(*_: object) -> Any:
        raise SystemExit

    for receives in range(1, 11):
        wake = WakeUp(RUN_ID, "acme", "billing", receives)
        with pytest.raises(SystemExit):
            deliver(replace(here.sender(), post=die), wake, here.time.now + 1000)
    (row,) = dead_deliveries(here.downstream, here.service.reader, "acme")
    assert ("dead", 0) == (row["state"], row["attempts"])

    assert here.deliver(LAST_RECEIVES) is None
    assert (SyncStatus.SYNCED, None) == (here.sync(), here.delivery().dead_since)
    assert [] == dead_deliveries(here.downstream, here.service.reader, "acme")


def test_what_is_only_put_off_is_not_buried_by_its_queue(here: World, hook: Subscriber) -> None:
    """It goes on as a fresh message before its receives are used up."""
    here.subscribe(hook)
    here.finish()
    hook.answer = lambda _number, _event: Told(429, headers=(("Retry-After", "600"),))
    assert 600.0 == here.deliver()

    waits = [here.deliver(receives) for receives in range(2, LAST_RECEIVES + 1)]

    assert [600.0] * (LAST_RECEIVES - 2) + [None] == waits
    (wake,) = here.again
    assert (1, 1, 1) == (wake.receives, wake.hops, len(hook.arrivals))
    assert here.delivery().dead_since is None


def test_a_chain_that_outgrows_the_log_ends_among_the_dead_letters(
    here: World, hook: Subscriber
) -> None:
    """Each hop gets on by an event; one that does not is a fault of ours, and somebody hears."""
    here.subscribe(hook)
    most = most_hops(here.finish())

    assert here.deliver(hops=most + 1) is None
    assert (0, 1, "dead") == (
        len(hook.arrivals),
        len(here.letters),
        here.delivery().state(here.run),
    )
    assert here.deliver(hops=most, retry=True) is None
    assert SyncStatus.SYNCED == here.sync()


def test_a_failure_beside_an_acknowledgement_is_none(here: World, hook: Subscriber) -> None:
    """Two senders, as when a message outlives its visibility: what one heard counts."""
    here.subscribe(hook)
    here.finish()
    hook.answer = lambda number, _event: Told(500 if number == 0 else 204)
    client = here.downstream.deliveries._client

    with faults.meanwhile(client, "UpdateItem", here.deliver):
        assert 2.0 == here.deliver()

    assert (0, None) == (here.delivery().attempts, here.delivery().last_error)
    assert SyncStatus.SYNCED == here.sync()


def test_a_redriven_delivery_has_all_its_tries_again(failing: World, hook: Subscriber) -> None:
    """Also where its wake-up is handled before the redrive has taken the letter."""
    for _ in range(3):
        failing.deliver()
    (letter,) = failing.letters
    failing.letters.clear()
    queue = failing.downstream.dead()
    from onward.app.delivering.wake_notify import wake_up

    queue.send_ordered([wake_up(letter.run_id, letter.tenant, letter.endpoint_id, "letter")])

    assert 1 == redrive(failing.downstream, "acme")
    assert [2.0, 10.0, None] == [failing.deliver() for _ in range(3)]

    assert (6, 1) == (len(hook.arrivals), len(failing.letters))


def test_a_deleted_endpoint_hears_nothing_more(here: World, hook: Subscriber) -> None:
    """Nor the rest of what is just being sent: it is read again before each request."""
    here.subscribe(hook)
    here.finish()

    def delete(_number: int, _event: object) -> Told:
        here.downstream.endpoints.delete(here.endpoint(), here.time.now)
        return Told()

    hook.answer = delete
    assert here.deliver() is None
    (wake,) = here.again

    assert here.deliver(hops=wake.hops) is None
    assert 1 == len(hook.arrivals)
