from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from onward.app.operating.answer_run import resume_run
from onward.app.patrol.follow_up import GIVE_UP, FollowUp
from onward.app.reading.read_run import read_run
from onward.app.reading.replay_events import replay_events
from onward.domain.delivery import SyncStatus
from onward.domain.errors import CursorExpired, Fatal, NotResumable

from infra.local.subscriber import Subscriber, Told
from tests import faults
from tests.store import scripted_tools
from tests.store.conftest import CURSORS, RUNS
from tests.store.delivering import World
from tests.store.driver import Driver
from tests.store.listening import Sockets
from tests.store.looking import DAY, look, woken
from tests.store.runs import RUN_ID
from tests.store.submitting import ADA


def expiring(dynamodb: Any) -> set[str]:
    rows = dynamodb.scan(TableName=RUNS)["Items"]
    theirs = (row for row in rows if not row["pk"]["S"].startswith("AUDIT#"))
    return {row["sk"]["S"].split("#")[0] for row in theirs if "expires_at" in row}


def test_an_end_nobody_waits_for_is_looked_at_once(here: World) -> None:
    """Without endpoints there is nothing to repair; then nobody looks again."""
    run = here.finish()
    assert int(here.time.now) + 60 == run.due_at
    assert [] == look(here)
    assert here.run.due_at is None


def test_a_socket_that_was_left_behind_is_woken(here: World, sockets: Sockets) -> None:
    """The last wake-up was lost: no other comes behind it. Then it has all, and is left alone."""
    here.begin()
    sockets.say("a", "subscribe")
    sockets.work()
    run = here.finish()

    assert [FollowUp.PUSHED] == look(here, DAY, sockets)
    assert (True, None) == (here.run.due_at is not None, here.run.expired_at)
    assert 1 == sockets.work()

    assert list(range(1, run.seq + 1)) == sockets.seqs("a")
    assert [] == look(here)
    assert here.run.due_at is None


def test_a_socket_that_is_gone_is_woken_once(here: World, sockets: Sockets) -> None:
    """The pusher finds out and forgets it."""
    sockets.say("a", "subscribe")
    sockets.closed.add("a")
    here.finish()

    assert [FollowUp.PUSHED] == look(here, sockets=sockets)
    sockets.work()
    assert [] == look(here)


def test_who_has_not_heard_is_woken_at_growing_distance(here: World, hook: Subscriber) -> None:
    """1, 2, 4, 8 minutes …, at most four hours; then the run has synced or is dead."""
    here.subscribe(hook)
    run = here.finish()
    assert run.ended_at is not None
    distances = []
    for _ in range(16):
        here.time.now = float(here.run.due_at or 0)
        if FollowUp.GIVEN_UP in look(here):
            break
        distances.append((here.run.due_at or 0) - int(here.time.now))

    assert [60, 120, 240, 480, 960] == [round(d, -1) for d in distances[:5]]
    assert max(distances) <= 4 * 3600
    assert len(distances) == len(woken(here)) < 16
    assert here.time.now >= run.ended_at + GIVE_UP
    assert (None, SyncStatus.DEAD) == (here.run.due_at, here.sync())
    assert 1 == here.run.sync_revision


def test_a_run_has_one_letter_whoever_woke(here: World, hook: Subscriber) -> None:
    """A failing receiver is tried again by the patrol, and by what else is on its way."""
    here.subscribe(hook)
    here.finish()
    hook.answer = lambda _number, _event: Told(500)
    assert [2.0, 10.0, None] == [here.deliver(n) for n in (1, 2, 3)]
    assert [FollowUp.WOKEN] == look(here)
    (wake,) = woken(here)
    assert here.deliver(retry=wake["retry"]) is None
    assert (4, 1, 4) == (here.delivery().attempts, len(here.letters), len(hook.arrivals))


def test_a_log_expires_after_the_end_was_heard_and_no_earlier(
    here: World, hook: Subscriber, dynamodb: Any
) -> None:
    """Events and checkpoints, when the time has come; never the run, its ledger or deliveries."""
    here.subscribe(hook)
    run = here.finish()
    look(here, DAY)
    assert here.run.expired_at is None

    here.deliver()
    look(here, DAY)

    assert run.ended_at is not None
    assert int(run.ended_at) + DAY == here.run.expired_at
    assert (set(), here.run.expired_at + 60) == (expiring(dynamodb), here.run.due_at)
    here.time.now = float(here.run.due_at or 0)
    look(here, DAY)
    assert {"EVENT", "STEP", "PLAN", "SUBMISSION"} == expiring(dynamodb)
    assert here.run.due_at is None


def test_without_a_setting_nothing_expires(here: World, dynamodb: Any) -> None:
    """Logs are kept for ever unless the stack says otherwise."""
    here.finish()
    look(here)
    assert set() == expiring(dynamodb)


def test_a_look_that_ran_out_of_time_is_taken_up_by_the_next(here: World, dynamodb: Any) -> None:
    """Row after row until the time is up; then the run is due again."""
    here.finish()
    look(here, DAY)
    here.time.now = float(here.run.due_at or 0)
    look(here, DAY, seconds=0)
    assert (set(), int(here.time.now) + 60) == (expiring(dynamodb), here.run.due_at)

    look(here, DAY)
    assert {"EVENT", "STEP", "PLAN", "SUBMISSION"} == expiring(dynamodb)
    assert here.run.due_at is None


def test_a_position_before_what_is_kept_is_told_so(here: World) -> None:
    """With where to go on; rows that are still there count as gone, and the snapshot stays."""
    run = here.finish()
    look(here, DAY)
    events = replay_events(here.service, "acme", RUN_ID, after=0, limit=100, wait=0)
    assert run.seq == len(events["events"])
    here.time.now += DAY + 1

    with pytest.raises(CursorExpired) as expired:
        replay_events(here.service, "acme", RUN_ID, after=2, limit=100, wait=0)
    assert run.seq == expired.value.as_of_seq
    page = replay_events(here.service, "acme", RUN_ID, after=run.seq, limit=100, wait=0)
    assert page["ended"]
    document = read_run(here.service, "acme", RUN_ID).document or {}
    assert ("succeeded", run.seq, []) == (
        document["status"],
        document["as_of_seq"],
        document["steps"],
    )


@pytest.fixture
def failed(here: World) -> Iterator[World]:
    scripted_tools.forget()
    scripted_tools.SCRIPT["s2"] = [scripted_tools.raises(Fatal("no"))]
    Driver(here.made.drive, RUN_ID).execute()
    look(here, DAY)
    yield here
    scripted_tools.forget()


def test_a_run_that_is_resumed_keeps_its_log(failed: World, dynamodb: Any) -> None:
    """Its checkpoints are what it goes on from; the commit itself takes the expiry back."""
    assert failed.run.expired_at is not None
    resume_run(failed.service, ADA, RUN_ID)
    assert (set(), None) == (expiring(dynamodb), failed.run.expired_at)


def test_an_expiry_decided_before_a_resume_is_refused(failed: World) -> None:
    """The patrol read the run, an operator resumed it, and the patrol writes."""
    stale = failed.run
    resume_run(failed.service, ADA, RUN_ID)
    assert not failed.service.store.move_due(stale, 1, expired_at=1)
    assert failed.run.expired_at is None


def test_an_expiry_that_is_set_while_a_run_is_resumed_is_taken_back(failed: World) -> None:
    """The operator read the run, the patrol let it go, and the operator commits."""
    client = failed.service.store._client
    client.update_item(
        TableName=RUNS,
        Key={"pk": {"S": f"RUN#{RUN_ID}"}, "sk": {"S": "RUN"}},
        UpdateExpression="REMOVE expired_at",
    )
    seen = failed.run

    def expire() -> None:
        assert failed.service.store.move_due(seen, 9_999_999_999, expired_at=9_999_999_999)

    with faults.meanwhile(client, "TransactWriteItems", expire):
        resume_run(failed.service, ADA, RUN_ID)

    assert failed.run.expired_at is None


def test_what_a_siren_fails_at_stops_no_bell(here: World, hook: Subscriber, dynamodb: Any) -> None:
    """Who has not heard of an end is woken, and looked after, whatever becomes of sockets."""
    here.subscribe(hook)
    here.finish()
    dynamodb.delete_table(TableName=CURSORS)
    with pytest.raises(dynamodb.exceptions.ResourceNotFoundException):
        look(here)
    assert 1 == len(woken(here))
    assert here.run.due_at is not None
    assert here.run.due_at > here.time.now


def test_a_second_patrol_finds_nothing_to_do(here: World) -> None:
    """It read the index before the first one was here; the run is due to nobody any more."""
    here.finish()
    look(here)
    assert here.run.due_at is None
    assert [] == look(here)
    assert not here.service.store.move_due(here.run, None)


def test_a_run_whose_checkpoints_are_gone_is_not_resumed(failed: World) -> None:
    """Not even while some rows are still there."""
    failed.time.now += DAY + 1
    with pytest.raises(NotResumable, match="kept no longer"):
        resume_run(failed.service, ADA, RUN_ID)
