"""Deliveries that ran out of tries, and an operator who tries them again."""

from __future__ import annotations

from onward.app.delivering.redrive import dead_deliveries, redrive
from onward.app.delivering.wake_notify import wake_up
from onward.app.patrol.follow_up import GIVE_UP, FollowUp
from onward.domain.delivery import SyncStatus

from infra.local.subscriber import Subscriber, Told
from tests.store.delivering import World
from tests.store.looking import DAY, look, woken
from tests.store.runs import RUN_ID


def test_a_dead_run_that_is_redriven_is_synced_and_looked_at_again(
    here: World, hook: Subscriber
) -> None:
    """So that its log may expire after all."""
    here.subscribe(hook)
    here.finish()
    here.time.now += GIVE_UP + 1
    assert [FollowUp.GIVEN_UP] == look(here)
    (row,) = dead_deliveries(here.downstream, here.service.reader, "acme")
    assert (True, "dead") == (row["given_up"], row["state"])

    assert 1 == redrive(here.downstream, "acme")
    (wake,) = woken(here)
    assert (RUN_ID, "billing") == (wake["run_id"], wake["endpoint_id"])
    here.deliver()

    assert SyncStatus.SYNCED == here.sync()
    assert here.run.due_at is not None
    assert [] == look(here, DAY)
    assert here.run.expired_at is not None


def test_what_was_given_up_has_a_letter_again_after_each_redrive(
    here: World, hook: Subscriber
) -> None:
    """Nobody but an operator looks after it, who took the letter."""
    here.subscribe(hook)
    here.finish()
    here.time.now += GIVE_UP + 1
    assert [FollowUp.GIVEN_UP] == look(here)
    hook.answer = lambda _number, _event: Told(500)
    for letters in (1, 2):
        assert 1 == redrive(here.downstream, "acme")
        assert [2.0, 10.0, None] == [here.deliver(n) for n in (1, 2, 3)]
        assert (letters, letters * 3) == (len(here.letters), len(hook.arrivals))


def test_letters_of_others_stay_and_ours_are_sent_once(here: World, hook: Subscriber) -> None:
    """Sent before they are deleted; two letters about the same are one wake-up."""
    here.subscribe(hook)
    here.finish()
    dead = here.downstream.dead()
    from onward.app.delivering.wake_notify import wake_up

    dead.send_ordered(wake_up(RUN_ID, "acme", "billing", f"mine-{n}") for n in range(2))
    dead.send_ordered([wake_up("run_x", "umbra", "billing", "theirs")])

    assert 1 == redrive(here.downstream, "acme")

    assert [RUN_ID] == [body["run_id"] for body in woken(here)]
    assert ["umbra"] == [letter.body["tenant"] for letter in dead.letters()]


def test_a_letter_about_a_resend_is_redriven_as_one(here: World, hook: Subscriber) -> None:
    """A receiver that lost what it had acknowledged gets it again, and the delivery lives."""
    here.subscribe(hook)
    here.finish()
    here.deliver()
    hook.answer = lambda _number, _event: Told(500)
    for receives in (1, 2, 3):
        here.deliver(receives, after=1)
    assert here.delivery().dead_since is not None
    said = {"after": 1}
    here.downstream.dead().send_ordered([wake_up(RUN_ID, "acme", "billing", "letter", **said)])

    assert 1 == redrive(here.downstream, "acme")

    (again,) = here.downstream.bell.queue().letters()
    assert (1, None) == (again.body["after"], here.delivery().dead_since)
    hook.answer = lambda _number, _event: Told()
    before = len(hook.arrivals)
    assert here.deliver(after=1) is None
    assert 2 == len(hook.arrivals) - before


def test_nothing_stays_dead_for_an_endpoint_that_is_gone(here: World, hook: Subscriber) -> None:
    """The list of dead deliveries is for what can be mended."""
    endpoint = here.subscribe(hook)
    here.finish()
    hook.answer = lambda _number, _event: Told(500)
    for receives in (1, 2, 3):
        here.deliver(receives)
    assert 1 == len(list(here.downstream.deliveries.dead("acme")))

    here.downstream.endpoints.delete(endpoint, here.time.now)

    assert here.deliver() is None
    assert [] == list(here.downstream.deliveries.dead("acme"))
