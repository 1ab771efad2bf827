from __future__ import annotations

from time import monotonic
from typing import Any

import pytest
from onward.app.delivering.downstream import ASK_SECONDS
from onward.domain.delivery import SyncStatus

from infra.local.subscriber import Subscriber, Told
from tests.store.caller import Caller
from tests.store.delivering import World
from tests.store.looking import woken
from tests.store.runs import RUN_ID


def told(acme: Caller, **query: Any) -> tuple[bool, str]:
    body = acme.get(f"/runs/{RUN_ID}", **query).body
    return body["downstream_synced"], body["sync_status"]


def synced(here: World, hook: Subscriber, **how: Any) -> None:
    here.subscribe(hook, status_url=f"{hook.url}/status", **how)
    here.finish()
    here.deliver()


def test_every_snapshot_says_whether_the_end_was_heard(
    here: World, hook: Subscriber, acme: Caller
) -> None:
    """Nobody to hear it; not yet; heard."""
    assert (True, "not_applicable") == told(acme)
    here.subscribe(hook)
    assert (False, "pending") == told(acme)
    here.finish()
    assert (False, "pending") == told(acme)
    here.deliver()
    assert (True, "synced") == told(acme)


def test_the_first_answer_says_it_too(here: World, hook: Subscriber, acme: Caller) -> None:
    """A client that keeps what it got at submission is not told that nobody listens."""
    here.subscribe(hook)
    made = acme.post("/runs", {"workflow": "speak", "input": {"text": "hi"}})
    assert (202, "pending") == (made.status, made.body["sync_status"])


def test_a_copy_from_before_the_end_was_heard_is_out_of_date(
    here: World, hook: Subscriber, acme: Caller
) -> None:
    """304 only while neither the run nor its delivery has changed."""
    here.subscribe(hook)
    here.finish()
    tag = acme.get(f"/runs/{RUN_ID}").headers["etag"]
    asked = {"if-none-match": tag}
    assert 304 == acme.get(f"/runs/{RUN_ID}", asked).status
    here.deliver()
    assert 200 == acme.get(f"/runs/{RUN_ID}", asked).status


def test_an_endpoint_made_after_the_end_changes_nothing(here: World, hook: Subscriber) -> None:
    """Runs that ended before are not pending for it."""
    here.finish()
    here.time.now += 1
    here.subscribe(hook)
    assert SyncStatus.NOT_APPLICABLE == here.sync()


def test_two_endpoints_both_have_to_hear(here: World, hook: Subscriber) -> None:
    """One that is behind keeps the run pending."""
    here.subscribe(hook)
    here.subscribe(hook, "audit")
    here.finish()
    here.deliver()
    assert SyncStatus.PENDING == here.sync()
    here.deliver(name="audit")
    assert SyncStatus.SYNCED == here.sync()


def test_asked_and_confirmed_is_synced(here: World, hook: Subscriber, acme: Caller) -> None:
    """The receiver has the run's last event."""
    synced(here, hook)
    assert (True, "synced") == told(acme, verify="true")
    assert [] == woken(here)


@pytest.mark.parametrize(
    "answer", [Told(500), Told(302), Told(200, headers=(("X", "y"),)), Told(cut=True)]
)
def test_no_usable_answer_is_unknown_and_the_end_is_sent_again(
    here: World, hook: Subscriber, acme: Caller, answer: Told
) -> None:
    """Never an error; in the background the receiver gets the last event once more."""
    synced(here, hook)
    hook.status = lambda _run_id: answer
    hook.last = lambda _run_id: "nonsense"  # type: ignore[assignment, method-assign, return-value]

    assert (False, "unknown") == told(acme, verify="true")

    (wake,) = woken(here)
    assert here.run.seq - 1 == wake["after"]
    here.deliver(after=wake["after"])
    assert ["onward.run.succeeded"] * 2 == [a.type for a in hook.arrivals[2:]]
    assert (True, "synced") == told(acme)


def test_a_receiver_that_lost_something_gets_it_again(
    here: World, hook: Subscriber, acme: Caller
) -> None:
    """From where it says that it is; our cursor stays where it is."""
    synced(here, hook)
    hook.last = lambda _run_id: 1  # type: ignore[method-assign]

    assert (False, "pending") == told(acme, verify="true")

    (wake,) = woken(here)
    here.deliver(after=wake["after"])
    assert 5 == len(hook.arrivals)
    assert here.run.seq == here.delivery().acked_seq


def test_asking_takes_two_seconds_at_most(here: World, hook: Subscriber, acme: Caller) -> None:
    """For all endpoints together, however long one of them hangs."""
    for name in ("a", "b", "c"):
        here.subscribe(hook, name, status_url=f"{hook.url}/status")
    here.finish()
    for name in ("a", "b", "c"):
        here.deliver(name=name)
    hook.status = lambda _run_id: Told(seconds=4)
    began = monotonic()

    assert (False, "unknown") == told(acme, verify="true")

    assert monotonic() - began < ASK_SECONDS + 1.5
    assert 3 == len(woken(here))


def test_a_deleted_endpoint_is_a_new_state_of_the_snapshot(
    here: World, acme: Caller, hook: Subscriber
) -> None:
    """Whom a run has to be told changes without the run; no validator survives that."""
    here.subscribe(hook)
    here.finish()
    before = acme.get(f"/runs/{RUN_ID}")
    tag = {"If-None-Match": before.headers["etag"]}
    assert 304 == acme.get(f"/runs/{RUN_ID}", tag).status

    here.downstream.endpoints.delete(here.endpoint(), here.time.now)

    after = acme.get(f"/runs/{RUN_ID}", tag)
    assert (200, "not_applicable") == (after.status, after.body["sync_status"])


def test_an_endpoint_that_hears_of_failures_only_has_missed_no_success(
    here: World, hook: Subscriber, acme: Caller
) -> None:
    """It has nothing to say about an end that it was never told of."""
    synced(here, hook, event_types=("run.failed",))
    assert (True, "synced") == told(acme, verify="true")
    assert 0 == hook.asked
    assert [] == woken(here)


@pytest.mark.parametrize(("sequence", "status"), [("1e999", "unknown"), ("-5", "pending")])
def test_what_makes_no_sense_is_no_answer(
    here: World, hook: Subscriber, acme: Caller, sequence: str, status: str
) -> None:
    """And no error either; what a receiver may have missed is sent again from the beginning."""
    synced(here, hook)
    hook.says = sequence
    assert (False, status) == told(acme, verify="true")
    (wake,) = woken(here)
    assert wake["after"] >= 0
