"""Addresses that have to agree before the first event is sent to them."""

from __future__ import annotations

import dataclasses
import socket
from typing import Any

import pytest
from onward.app.delivering.deliver import Sender
from onward.app.delivering.endpoints import asked_for, put_endpoint
from onward.app.delivering.prove_endpoint import GIVE_UP, prove_endpoint
from onward.app.service import Service
from onward.aws.endpoints import ASK_AGAIN
from onward.domain.delivery import SyncStatus
from onward.outside.request import NoAnswer, Reply

from infra.local.subscriber import Subscriber
from tests import faults
from tests.store.conftest import Time, new_downstream
from tests.store.delivering import World
from tests.store.looking import look, woken
from tests.store.runs import RUN_ID

WELCOME = {"webhook-allowed-origin": "onward", "webhook-allowed-rate": "*"}


def asking(here: World, **headers: str) -> Sender:
    """A sender whose question is answered so."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return dataclasses.replace(here.sender(), greet=lambda _url, _headers: Reply(200, given, b""))


def prove(here: World, sender: Sender) -> bool | None:
    return prove_endpoint(sender, "acme", "billing")


@pytest.fixture
def pending(here: World, hook: Subscriber) -> World:
    """A run that ended while its endpoint had not agreed."""
    here.subscribe(hook, pending_since=here.time.now)
    here.finish()
    return here


@pytest.fixture
def public(service: Service, dynamodb: Any, time: Time, monkeypatch: pytest.MonkeyPatch) -> Service:
    """A stack in the cloud, and a name that resolves to a public address."""
    known = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_how: known)
    monkeypatch.setattr("onward.app.delivering.endpoints.request", _silent)
    return dataclasses.replace(service, downstream=new_downstream(dynamodb, time, local=False))


def _silent(*_args: object, **_how: object) -> Reply:
    raise NoAnswer("nobody is there")


def put(service: Service, url: str) -> dict[str, Any]:
    found, _ = put_endpoint(
        service.registrar, asked_for(service.registrar, "acme", "billing", {"url": url})
    )
    return found


def test_a_new_address_is_pending_and_is_asked(public: Service, here: World) -> None:
    """PUT does not wait for it; another one is asked again, the same one is not."""
    made = put(public, "https://public.example/hook")
    assert ("pending", False) == (made["status"], made["enabled"])
    (asked,) = woken(here)
    assert {"tenant": "acme", "endpoint_id": "billing", "prove": True} == asked
    assert prove(here, asking(here, **WELCOME)) is True

    again = put(public, "https://public.example/hook")
    assert ("enabled", []) == (again["status"], woken(here))
    moved = put(public, "https://public.example/other")
    assert ("pending", 1) == (moved["status"], len(woken(here)))


def test_an_address_of_this_machine_need_not_agree(here: World, hook: Subscriber) -> None:
    """Where the stack allows it, nobody else is behind it."""
    assert "enabled" == put(here.service, hook.url)["status"]
    assert [] == woken(here)


def test_one_of_before_counts_as_agreed(here: World, hook: Subscriber) -> None:
    """Its row says nothing about it."""
    here.subscribe(hook)
    here.finish()
    here.deliver()
    assert SyncStatus.SYNCED == here.sync()


def test_nothing_is_sent_before_it_agrees(pending: World, hook: Subscriber) -> None:
    """Nor is its `status_url` asked; the wake-up is done with, and the delivery waits."""
    assert pending.deliver() is None
    pending.downstream.verified(pending.run)
    assert ([], 0, []) == (hook.arrivals, hook.asked, pending.again)
    assert SyncStatus.PENDING == pending.sync()
    (waiting,) = pending.downstream.deliveries.waiting("acme", "billing")
    assert RUN_ID == waiting.run_id


def test_events_since_the_put_follow_once_it_agrees(pending: World, hook: Subscriber) -> None:
    """What waits is woken, each delivery once; then nothing waits any more."""
    pending.deliver(), pending.deliver()

    assert prove(pending, asking(pending, **WELCOME)) is True

    (wake,) = pending.again
    assert pending.deliver(hops=wake.hops) is None
    assert 3 == len(hook.heard(RUN_ID))
    assert SyncStatus.SYNCED == pending.sync()
    assert [] == list(pending.downstream.deliveries.waiting("acme", "billing"))


def test_one_that_agrees_while_a_wake_up_is_parked_is_sent_to(
    pending: World, hook: Subscriber
) -> None:
    """Whoever wakes what waits may have looked just before."""
    client = pending.downstream.deliveries._client

    def agree() -> None:
        assert pending.downstream.endpoints.agreed(pending.endpoint())

    with faults.meanwhile(client, "UpdateItem", agree):
        assert pending.deliver() is None
    assert 3 == len(hook.heard(RUN_ID))


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {}),
        (200, {"webhook-allowed-origin": "somebody.else"}),
        (204, {"webhook-allowed-origin": ""}),
        (405, {"webhook-allowed-origin": "*"}),
        (302, {"webhook-allowed-origin": "onward"}),
    ],
)
def test_another_answer_is_no_agreement(
    pending: World, status: int, headers: dict[str, str]
) -> None:
    """Whatever its status; it is asked again by the patrol, at growing distances, for a day."""
    answer = Reply(status, headers, b"")
    sender = dataclasses.replace(pending.sender(), greet=lambda _url, _headers: answer)
    since = pending.time.now
    distances = []
    for _ in range(40):
        assert prove(pending, sender) is False
        pending.time.now += 1
        while not list(pending.downstream.endpoints.unasked(pending.time.now)):
            pending.time.now += 60
            if pending.time.now > since + GIVE_UP + 7200:
                break
        else:
            distances.append(pending.time.now)
            continue
        break
    assert "WebHook-Allowed-Origin" in str(pending.endpoint().pending_because)
    assert pending.endpoint().pending
    assert 20 < len(distances) < 40
    assert distances[-1] - since >= GIVE_UP - 3600


@pytest.mark.parametrize("allowed", ["onward", "*", "ONWARD"])
def test_the_question_is_that_of_cloudevents(pending: World, allowed: str) -> None:
    """OPTIONS with the origin that each event bears from then on."""
    asked: dict[str, str] = {}

    def greet(_url: str, headers: dict[str, str]) -> Reply:
        asked.update(headers)
        return Reply(200, {"webhook-allowed-origin": allowed}, b"")

    assert prove(pending, dataclasses.replace(pending.sender(), greet=greet)) is True
    assert "onward" == asked["WebHook-Request-Origin"]


def test_an_answer_about_another_address_counts_for_nothing(
    pending: World, hook: Subscriber
) -> None:
    """It was put elsewhere while the old one agreed."""

    def greet(_url: str, _headers: dict[str, str]) -> Reply:
        moved = dataclasses.replace(pending.endpoint(), url=f"{hook.url}/other")
        assert pending.downstream.endpoints.describe(moved)
        return Reply(200, WELCOME, b"")

    assert prove(pending, dataclasses.replace(pending.sender(), greet=greet)) is None
    assert pending.endpoint().pending


def test_the_patrol_wakes_nobody_for_one_that_has_not_agreed(pending: World) -> None:
    """It looks again; a wake-up would only be parked once more."""
    look(pending)
    assert [] == woken(pending)
    assert pending.run.due_at is not None


def test_a_death_between_agreeing_and_waking_is_made_good(pending: World) -> None:
    """The message comes again, and wakes what waits though nobody is asked any more."""
    pending.deliver()
    assert pending.downstream.endpoints.agreed(pending.endpoint())

    assert prove(pending, asking(pending)) is True

    assert 1 == len(pending.again)


def test_a_round_of_the_patrol_has_it_asked_again(pending: World) -> None:
    """Whoever was to ask it died, or it did not agree at first; not before it is due."""
    for later, asked in ((-1.0, 0), (0.0, 1)):
        pending.time.now = (pending.endpoint().pending_since or 0.0) + ASK_AGAIN + later
        pending.downstream.bell.prove_pending(pending.time.now)
        assert asked == len(woken(pending))
