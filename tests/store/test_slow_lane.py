"""Endpoints that do not answer at once have senders of their own."""

from __future__ import annotations

from typing import Any

from onward.domain.delivery import REST_SECONDS, SLOW_SECONDS, SyncStatus

from infra.local.subscriber import Subscriber, Told
from tests.store.delivering import World


def test_who_does_not_answer_at_once_is_given_more_time_elsewhere(
    here: World, hook: Subscriber
) -> None:
    """The quick lane is done with it; what was sent comes again under the same id."""
    here.subscribe(hook)
    here.finish()
    hook.answer = lambda _number, _event: Told(seconds=0.45)

    assert here.deliver() is None
    (wake,) = here.again
    assert "no answer within 0.3 s" == here.delivery().last_error
    assert here.endpoint().slow(here.time.now + SLOW_SECONDS - 1)

    assert here.deliver(slow=True) is None
    assert SyncStatus.SYNCED == here.sync()
    assert ("billing", True) == (wake.endpoint_id, wake.slow)
    assert [] == hook.out_of_order() == hook.strange_duplicates()
    assert 3 == len(hook.heard())


def test_who_is_slow_is_not_waited_for_in_the_quick_lane(here: World, hook: Subscriber) -> None:
    """Not for a moment: its messages are passed on as they are."""
    here.subscribe(hook, slow_until=here.time.now + 100)
    endpoint = here.endpoint()
    assert here.downstream.endpoints.set_aside(endpoint, here.time.now + 100)
    here.finish()

    assert here.deliver(receives=2, after=1) is None

    assert [] == hook.arrivals
    (wake,) = here.again
    assert (1, True) == (wake.after, wake.slow)


def test_who_answers_at_once_goes_back_after_a_while(here: World, hook: Subscriber) -> None:
    """One quick answer is no sign: a repetition is quickly told to be one."""
    here.subscribe(hook)
    here.finish()
    known: set[str] = set()

    def dull(_number: int, event: dict[str, Any]) -> Told:
        new = event["id"] not in known
        known.add(event["id"])
        return Told(seconds=0.45 if new else 0)

    hook.answer = dull
    assert here.deliver() is None
    assert here.deliver(slow=True) is None
    assert SyncStatus.SYNCED == here.sync()
    assert here.endpoint().slow(here.time.now)

    here.time.now += SLOW_SECONDS + 1
    assert here.deliver(after=0) is None
    assert 1 == len(here.again)


def test_a_message_that_starts_over_goes_on_where_it_got_to(here: World, hook: Subscriber) -> None:
    """What was sent again and acknowledged is not sent a third time."""
    here.subscribe(hook)
    run = here.finish()
    here.deliver()
    end = "onward.run.succeeded"
    hook.answer = lambda _number, event: Told(seconds=0.45 if event["type"] == end else 0)

    assert here.deliver(after=0) is None

    (wake,) = here.again
    assert run.seq - 1 == wake.after


def test_a_hanging_endpoint_is_left_alone_after_two_time_outs(
    here: World, hook: Subscriber
) -> None:
    """Then one sender at a time tries, and the first answer ends the rest."""
    here.subscribe(hook)
    here.finish()
    hook.answer = lambda _number, _event: Told(seconds=2.5)

    assert (2.0, 10.0) == (here.deliver(1, slow=True), here.deliver(2, slow=True))
    assert "no answer within 1.5 s" == here.delivery().last_error
    assert 2 == here.endpoint().timeouts

    assert REST_SECONDS == here.deliver(slow=True)
    assert 2 == len(hook.arrivals)
    here.time.now += REST_SECONDS + 1
    hook.answer = lambda _number, _event: Told()
    assert here.deliver(slow=True) is None
    assert (0, None) == (here.endpoint().timeouts, here.endpoint().resting_until)


def test_a_hanging_endpoint_ends_among_the_dead_letters(here: World, hook: Subscriber) -> None:
    """After three tries, however they fall on receives; what it rests meanwhile is none."""
    here.subscribe(hook)
    here.finish()
    hook.answer = lambda _number, _event: Told(seconds=2.5)

    course = through_the_queue(here)

    assert (3, "dead") == (len(hook.arrivals), here.delivery().state(here.run))
    assert (1, None) == (len(here.letters), course[-1])


def test_what_waits_for_an_endpoint_that_hangs_on_is_heard_of(
    here: World, hook: Subscriber
) -> None:
    """Though nobody had time to try it: others ran into the time-out three times."""
    endpoint = here.subscribe(hook)
    here.downstream.endpoints.slowed(endpoint, here.time.now, here.time.now + 600)
    here.finish()
    waits = []
    for receives in (1, 2, 3):
        now = here.time.now
        here.downstream.endpoints.slowed(endpoint, now + 300, now + 600)
        waits.append(here.deliver(receives, slow=True))
        here.time.now += 60

    assert (None, 1) == (waits[-1], len(here.letters))
    assert (0, "dead") == (len(hook.arrivals), here.delivery().state(here.run))


def through_the_queue(here: World) -> list[float | None]:
    """Handle one wake-up as its queue hands it out, to its end; return the waits."""
    waits: list[float | None] = []
    slow, receives = False, 1
    while len(waits) < 50:
        wait = here.deliver(receives, slow=slow)
        waits.append(wait)
        if wait is None:
            if not here.again:
                break
            slow, receives = here.again.pop().slow, 1
            continue
        here.time.now += wait
        receives += 1
    return waits


def test_an_endpoint_that_hangs_on_rests_longer_and_longer(here: World, hook: Subscriber) -> None:
    """At most five minutes; nobody wakes it meanwhile but the messages that wait for it."""
    here.subscribe(hook)
    here.finish()
    hook.answer = lambda _number, _event: Told(seconds=2.5)
    rests = []
    for _ in range(4):
        here.deliver(slow=True, retry=True)
        rests.append((here.endpoint().resting_until or 0) - here.time.now)
        assert here.endpoint().resting(here.time.now) is (len(rests) > 1)
        here.time.now += rests[-1] + 1

    assert [20, 20, 40, 80] == [round(rest) for rest in rests]


def test_of_two_senders_after_a_rest_one_tries(here: World, hook: Subscriber) -> None:
    """The other one waits until the first has its answer."""
    endpoint = here.subscribe(hook, timeouts=2)
    for _ in range(2):
        here.downstream.endpoints.slowed(endpoint, here.time.now + 1, here.time.now + 100)
    here.time.now += 2
    seen = here.endpoint()

    tries = [here.downstream.endpoints.probe(seen, here.time.now + 20) for _ in range(2)]

    assert [True, False] == tries
