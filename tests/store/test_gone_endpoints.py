"""Receivers that answer 410: nobody calls that heard, until somebody decides."""

from __future__ import annotations

from typing import Any

import pytest
from onward.app.delivering.endpoints import asked_for, delete_endpoint, put_endpoint
from onward.app.delivering.wake_notify import wake_up
from onward.app.patrol.follow_up import FollowUp
from onward.domain.delivery import SyncStatus
from onward.metrics import Metric, embedded, forget

from infra.local.subscriber import Subscriber, Told
from tests.store.caller import Caller
from tests.store.conftest import caller, issue
from tests.store.delivering import SECRET, World
from tests.store.looking import look, woken
from tests.store.runs import RUN_ID

BECAUSE = "answered 410 Gone"


@pytest.fixture
def gone(here: World, hook: Subscriber) -> World:
    """An ended run whose receiver answered once with 410, and would take everything by now."""
    here.subscribe(hook)
    here.finish()
    hook.answer = lambda number, _event: Told(410 if number == 0 else 204)
    forget()
    assert here.deliver() is None
    send(here)
    return here


def send(here: World) -> None:
    """Put the letters into the queue that redriving reads."""
    for number, letter in enumerate(here.letters):
        message = wake_up(letter.run_id, letter.tenant, letter.endpoint_id, f"letter-{number}")
        here.downstream.dead().send_ordered([message])


def test_what_a_gone_endpoint_did_not_hear_is_dead(gone: World, hook: Subscriber) -> None:
    """One request, one letter, a metric; the run says so, whoever asks, and is never synced."""
    assert (1, 1) == (len(hook.arrivals), len(gone.letters))
    assert 1.0 == embedded()[Metric.ENDPOINTS_DISABLED.value]
    assert ("disabled", BECAUSE) == (gone.endpoint().status, gone.endpoint().disabled_because)
    assert SyncStatus.DEAD == gone.sync() == gone.downstream.verified(gone.run)
    assert gone.deliver() is None
    assert gone.deliver(retry=True) is None
    assert (1, 1) == (len(hook.arrivals), len(gone.letters))


def test_a_snapshot_does_not_call_it_synced(gone: World, acme: Caller) -> None:
    """Nor not applicable, with and without asking the receivers."""
    for query in ({}, {"verify": "true"}):
        body = acme.get(f"/runs/{RUN_ID}", **query).body
        assert (False, "dead") == (body["downstream_synced"], body["sync_status"])


def test_the_patrol_keeps_it_dead_and_lets_no_log_go(gone: World) -> None:
    """Nobody is woken, and nothing expires that was not heard."""
    assert [FollowUp.GIVEN_UP] == look(gone, keep_seconds=1)
    assert ([], None, None) == (woken(gone), gone.run.due_at, gone.run.expired_at)
    assert SyncStatus.DEAD == gone.sync()


def test_a_run_that_ends_while_it_is_disabled_is_dead_too(here: World, hook: Subscriber) -> None:
    """It was there before the end, and somebody wanted it to hear."""
    here.subscribe(hook)
    here.downstream.endpoints.disable(here.endpoint(), BECAUSE, here.time.now)
    here.finish()
    assert SyncStatus.DEAD == here.sync()
    here.downstream.bell.ended(here.run)
    assert [] == woken(here)
    look(here)

    put_endpoint(
        here.service.registrar,
        asked_for(here.service.registrar, "acme", "billing", {"url": hook.url}),
    )

    (wake,) = woken(here)
    assert here.deliver() is None
    assert (RUN_ID, SyncStatus.SYNCED) == (wake["run_id"], here.sync())


@pytest.mark.parametrize("looked", [False, True])
def test_putting_it_again_goes_on_from_where_it_was(
    gone: World, hook: Subscriber, *, looked: bool
) -> None:
    """With everything since; the letter is gone, and with it the alarm."""
    if looked:
        look(gone)
    gone.time.now += 5

    put_endpoint(
        gone.service.registrar,
        asked_for(gone.service.registrar, "acme", "billing", {"url": hook.url}),
    )

    assert "enabled" == gone.endpoint().status
    assert [] == list(gone.downstream.dead().letters())
    (wake,) = woken(gone)
    assert gone.deliver(after=wake.get("after")) is None
    assert SyncStatus.SYNCED == gone.sync()
    assert 3 == len(hook.heard(RUN_ID))
    assert [] == list(gone.downstream.deliveries.dead("acme"))


def test_deleting_it_lets_go_of_it(gone: World) -> None:
    """Of its letter, and of the list of what is dead; nobody is to hear of the run any more."""
    delete_endpoint(gone.service.registrar, "acme", "billing")

    assert [] == list(gone.downstream.dead().letters())
    assert [] == list(gone.downstream.deliveries.dead("acme"))
    assert SyncStatus.NOT_APPLICABLE == gone.sync()


def test_an_old_address_does_not_disable_the_new_one(here: World, hook: Subscriber) -> None:
    """It was put elsewhere while the old one answered."""
    here.subscribe(f"{hook.url}/old")
    hook.secrets.append(SECRET)
    hook.clock = here.time.clock
    here.finish()

    def moved(_number: int, _event: dict[str, Any]) -> Told:
        put_endpoint(
            here.service.registrar,
            asked_for(here.service.registrar, "acme", "billing", {"url": hook.url}),
        )
        return Told(410)

    hook.answer = moved
    forget()
    here.deliver()

    assert here.endpoint().active
    assert Metric.ENDPOINTS_DISABLED.value not in embedded()


def test_an_endpoint_that_is_gone_for_many_runs_at_once_is_counted_once(
    here: World, hook: Subscriber
) -> None:
    """Each of its senders had read the row before another one was told so."""
    here.subscribe(hook)
    here.finish()

    def told_first(_number: int, _event: dict[str, Any]) -> Told:
        here.downstream.endpoints.disable(here.endpoint(), BECAUSE, here.time.now)
        return Told(410)

    hook.answer = told_first
    forget()
    assert here.deliver() is None

    assert Metric.ENDPOINTS_DISABLED.value not in embedded()
    assert (1, "disabled") == (len(here.letters), here.endpoint().status)


def test_redriving_a_disabled_endpoint_keeps_the_letter(gone: World, hook: Subscriber) -> None:
    """Somebody has to decide about the endpoint, not about its letters."""
    from onward.app.delivering.redrive import redrive

    assert 1 == redrive(gone.downstream, "acme")
    assert gone.deliver() is None
    assert (2, 1) == (len(gone.letters), len(hook.arrivals))


def test_an_operator_sees_that_it_is_disabled(gone: World) -> None:
    """With the reason."""
    operator = caller(gone.service, issue(gone.service, "acme", "operator"))
    body = operator.get("/endpoints/billing").body
    assert ("disabled", False, BECAUSE) == (
        body["status"],
        body["enabled"],
        body["disabled_because"],
    )


def subscribe(world: World, hook: Subscriber) -> None:
    registrar = world.service.registrar
    put_endpoint(registrar, asked_for(registrar, "acme", "billing", {"url": hook.url}))
