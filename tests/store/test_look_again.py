"""The receiver of a resent write is asked once more; a look that dies is made again.

Here `settles_after` is too short for it: the first request lands after the resend.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from botocore.exceptions import ClientError
from onward.app.driving.execute_step import Worker
from onward.app.driving.look_again import Look, look_again
from onward.app.reading.list_effects import list_effects
from onward.app.reading.read_run import read_run
from onward.app.service import Service
from onward.domain.limits import LOOK_SECONDS
from onward.domain.model import RunStatus
from onward.metrics import Metric, embedded, forget
from onward.sdk import Applied, NotApplied, StepContext, Unsure
from onward.sdk.testing import MemoryLog

from tests import faults
from tests.store import scripted_tools as tools
from tests.store.conftest import Time
from tests.store.driver import REQUEST, Driver
from tests.store.listening import Sockets
from tests.store.runs import RUN_ID, Journey, journey, steps
from tests.store.test_patrol import Round

pytestmark = pytest.mark.usefixtures("script")

SETTLES = 30.0


class Receiver:
    """Holds what landed, by key; a probe says what is held under its key, or under any."""

    def __init__(self) -> None:
        self.held: Counter[str] = Counter()
        self.knows_keys = True
        self.unsure = False

    def find(self, ctx: StepContext, request: tools.Value) -> Applied | NotApplied | Unsure:
        if self.unsure:
            return Unsure()
        key = ctx.idempotency_key
        if self.knows_keys:
            return Applied(request, keys=(key,)) if self.held[key] else NotApplied()
        first = next(iter(self.held), None)
        return NotApplied() if first is None else Applied(tools.Value(value=first))


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Receiver:
    made = Receiver()
    monkeypatch.setattr(tools.probed, "probe", made.find)
    return made


@pytest.fixture
def resent(service: Service, time: Time, receiver: Receiver) -> Journey:
    """A run that has ended after its write was sent again; the first request is on its way."""
    plan = steps({"id": "pay", "tool": "probed", "input": {"value": 1}})
    made = journey(service.store, service.reader, service.blobs("acme"), time, plan)
    tools.SCRIPT["pay"] = [tools.dies]
    Driver(made.drive, made.run_id).execute()
    assert (RunStatus.SUCCEEDED, 2) == (made.run.status, sum(tools.CALLS.values()))
    receiver.held[list(tools.CALLS)[1]] += 1
    return made


@pytest.fixture
def rounds(service: Service, time: Time, dynamodb: Any) -> Round:
    return Round(service, time, Sockets(dynamodb, time))


def first_lands(receiver: Receiver) -> None:
    receiver.held[next(iter(tools.CALLS))] += 1


def look(made: Journey) -> str:
    worker = Worker(
        drive=made.drive,
        log=MemoryLog(),
        request_id=REQUEST,
        until=made.drive.clock() + 900,
        end_process=lambda: None,
        tools=dict,
    )
    return look_again(worker, Look(RUN_ID, "pay"))


def suspicions(made: Journey) -> int:
    events = made.drive.reader.events(RUN_ID, 0, 99)
    return sum(event.type == "effect.duplicate_suspected" for event in events)


def test_what_is_there_twice_is_told(
    resent: Journey, receiver: Receiver, service: Service, time: Time
) -> None:
    """In the log, as a metric, in the ledger's row and the snapshot; the run stays as it is."""
    first_lands(receiver)
    time.now += SETTLES
    forget()

    assert "twice" == look(resent)

    document = read_run(service, "acme", RUN_ID).document
    (row,) = list_effects(service, "acme", RUN_ID)["effects"]
    assert document is not None
    assert ("succeeded", 1) == (document["status"], document["effects"]["duplicates_suspected"])
    assert row["duplicate_suspected_at"] is not None
    assert 1 == embedded()[Metric.DUPLICATES_SUSPECTED]
    assert (1, "over") == (suspicions(resent), look(resent))


@pytest.mark.parametrize("lands", [True, False])
def test_a_receiver_that_knows_no_keys_is_judged_by_its_receipt(
    resent: Journey, receiver: Receiver, time: Time, lands: bool
) -> None:
    """Another one than the resend's is another effect."""
    receiver.knows_keys = False
    receiver.held.clear()
    receiver.held["another" if lands else 1] += 1  # type: ignore[index]
    time.now += SETTLES
    assert ("twice" if lands else "once") == look(resent)
    assert {} == resent.run.looks


def test_what_is_there_once_is_let_go(resent: Journey, time: Time) -> None:
    """Without a word in the log."""
    time.now += SETTLES
    before = resent.run.seq
    assert "once" == look(resent)
    assert ({}, before) == (resent.run.looks, resent.run.seq)


def test_nobody_looks_before_it_can_be_known(resent: Journey, receiver: Receiver) -> None:
    """By the clock of the worker that is to ask; nor does an unsure receiver end it."""
    assert "unsure" == look(resent)
    receiver.unsure = True
    resent.drive.clock = lambda: resent.run.created_at + 1_000
    assert "unsure" == look(resent)
    assert {"pay"} == resent.run.looks.keys()


@pytest.mark.parametrize(
    ("lands", "call"),
    [
        (True, "BatchGetItem"),
        (True, "TransactWriteItems"),
        (False, "BatchGetItem"),
        (False, "UpdateItem"),
    ],
)
def test_a_look_that_fails_is_made_again(
    resent: Journey, receiver: Receiver, rounds: Round, dynamodb: Any, lands: bool, call: str
) -> None:
    """The patrol asks for it until it has been made; what is found is told once."""
    if lands:
        first_lands(receiver)
    rounds.time.now += 90
    rounds.go()
    asked = (resent.run.worker, {"run_id": RUN_ID, "step_id": "pay", "look": True})
    assert [asked] == rounds.invoked

    with (
        faults.refused(dynamodb, call, "AccessDeniedException"),
        pytest.raises(ClientError, match="AccessDenied"),
    ):
        look(resent)
    rounds.time.now += 90
    rounds.go()
    look(resent)

    assert (lands, {}) == (suspicions(resent), resent.run.looks)
    rounds.time.now += 90
    rounds.go()
    assert resent.run.due_at is None


def test_a_receiver_that_cannot_tell_for_an_hour_is_asked_no_more(
    resent: Journey, rounds: Round
) -> None:
    """Which is counted."""
    rounds.time.now += LOOK_SECONDS + 90
    forget()
    rounds.go()
    assert ([], {}) == (rounds.invoked, resent.run.looks)
    assert 1 == embedded()[Metric.LOOKS_GIVEN_UP]
