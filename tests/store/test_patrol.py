"""A round of the patrol: what it finds, what it does, and what cannot stop it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from onward.app.access.admission import Share
from onward.app.live.wake_live import Siren
from onward.app.patrol.follow_up import Ends
from onward.app.patrol.look_after import Patrol, patrol
from onward.app.reading.recovery_stats import recovery_stats
from onward.app.service import Service
from onward.aws.active_runs import ActiveRuns
from onward.aws.cursors import Cursors
from onward.aws.due import DueIndex
from onward.aws.engine import Engine, Execution
from onward.aws.incidents import Incidents
from onward.aws.retention import Retention
from onward.domain.protocol import Begin

from tests import faults
from tests.store.conftest import CURSORS, RUNS, Time, new_client
from tests.store.listening import Sockets
from tests.store.runs import RUN_ID, Journey, born, chain, journey

DRIVER = "arn:aws:states:eu-central-1:123456789012:stateMachine:driver"
OTHER = "run_019ad0f0a0007000800000000000beef"


class Alive(Engine):
    """Executions that run; moto's end at once."""

    def __init__(self) -> None:
        super().__init__(new_client("stepfunctions"), DRIVER)

    def state(self, run_id: str, generation: int) -> Execution:  # noqa: ARG002 - any
        return Execution.ALIVE


@dataclass
class Round:
    """The patrol over the real tables; what it starts and fails at is kept."""

    service: Service
    time: Time
    sockets: Sockets
    started: list[dict[str, Any]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    share: int = 100
    invoked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def go(
        self, seconds: float = 60, *, everything: bool = False, tenant: str | None = None
    ) -> dict[str, int]:
        until = self.time.now + seconds
        how: Any = {"everything": everything, "tenant": tenant}
        return dict(patrol(self.watch(), until, self.note, **how))

    def watch(self, *, alive: bool = False) -> Patrol:
        """What the patrol looks with; `alive`: it finds every execution running."""
        dynamodb = new_client("dynamodb")
        downstream = self.service.downstream
        return Patrol(
            drive=self.service.drive,
            engine=Alive() if alive else Engine(new_client("stepfunctions"), DRIVER),
            due=DueIndex(dynamodb, RUNS),
            start=self.started.append,
            wake=lambda _token: True,
            ends=Ends(
                endpoints=downstream.endpoints,
                deliveries=downstream.deliveries,
                bell=downstream.bell,
                siren=Siren(Cursors(dynamodb, CURSORS), lambda: self.sockets.queue, self.new_id),
                retention=Retention(dynamodb, RUNS, self.service.blobs, self.time.clock),
                keep_seconds=0,
            ),
            incidents=Incidents(dynamodb, RUNS),
            share=Share(ActiveRuns(dynamodb, RUNS), self.share),
            invoke=lambda version, event: self.invoked.append((version, event)),
        )

    def note(self, run_id: str, _error: Exception) -> None:
        self.failed.append(run_id)

    def new_id(self) -> str:
        return f"patrol-{self.time.now}"


@pytest.fixture
def here(service: Service, time: Time, dynamodb: Any) -> Round:
    return Round(service, time, Sockets(dynamodb, time))


def queued(here: Round, run_id: str = RUN_ID) -> Journey:
    blobs = here.service.blobs("acme")
    return journey(here.service.store, here.service.reader, blobs, here.time, chain(2), run_id)


def test_a_run_whose_start_was_lost_is_started_and_told_of(here: Round) -> None:
    """A minute after it was accepted; the incident says since when it stood still."""
    queued(here)
    assert {} == here.go()
    here.time.now += 61

    assert {"looked": 1, "started": 1} == here.go()

    assert [{"run_id": RUN_ID, "generation": 1}] == here.started
    told = recovery_stats(Incidents(new_client("dynamodb"), RUNS), "acme", 1, here.time.now)
    (cause,) = told["causes"]
    assert ("start_lost", 1, 61.0) == (
        cause["cause"],
        cause["count"],
        cause["resume_max_seconds"],
    )


def test_a_run_that_its_tenants_share_holds_back_is_no_repair(here: Round) -> None:
    """It waits, looked at each minute; when there is room and nobody said so it is started."""
    here.share = 1
    first, _ = queued(here), queued(here, OTHER)
    first.move(Begin())
    for _ in range(2):
        here.time.now += 61
        here.go()
        assert [] == [each for each in here.started if each["run_id"] == OTHER]
    here.share = 2
    here.time.now += 61
    here.go()
    assert [OTHER] == [each["run_id"] for each in here.started if each["run_id"] == OTHER]


def test_a_run_that_cannot_be_looked_at_stops_no_look_at_another(
    here: Round, dynamodb: Any
) -> None:
    """Its row is older or newer than this code, say; the others are set going all the same."""
    queued(here)
    queued(here, OTHER)
    dynamodb.update_item(
        TableName=RUNS,
        Key={"pk": {"S": f"RUN#{RUN_ID}"}, "sk": {"S": "RUN"}},
        UpdateExpression="SET #status = :odd",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":odd": {"S": "odd"}},
    )
    here.time.now += 61

    found = here.go()

    assert ([RUN_ID], [OTHER]) == (here.failed, [each["run_id"] for each in here.started])
    assert (2, 1) == (found["looked"], found["started"])


def test_a_round_ends_in_time_and_says_that_there_are_more(here: Round) -> None:
    """What is left is due the next time."""
    queued(here)
    here.time.now += 61
    assert {"more": 1} == here.go(seconds=0)
    assert {"looked": 1, "started": 1} == here.go()


def test_a_round_by_hand_looks_at_what_is_not_due_yet(here: Round) -> None:
    """Somebody wants to know now; but a start that is on its way is no incident."""
    queued(here)
    assert {"looked": 1, "started": 1} == here.go(everything=True)
    told = recovery_stats(Incidents(new_client("dynamodb"), RUNS), "acme", 1, here.time.now)
    assert [] == told["causes"]


def test_a_socket_that_missed_an_event_of_a_running_run_is_woken(here: Round) -> None:
    """Its step may take a quarter of an hour, and no other wake-up comes before its end."""
    made = queued(here)
    here.sockets.say("a", "subscribe")
    here.sockets.work()
    made.move(Begin())
    here.time.now += 61

    assert 1 == here.go()["pushed_again"]

    assert 1 == here.sockets.work()
    assert [1, 2, 3] == here.sockets.seqs("a")


def test_an_operators_round_is_of_their_tenant_alone(here: Round) -> None:
    """Nobody else's run is looked at, nor counted, however many are due before."""
    for number in range(230):
        run_id = f"run_019ad0f0a0007000800000000000{number:04x}"
        first = born(chain(1), here.time.clock(), run_id, tenant="umbra")
        here.service.store.create(first.run, first.submission, first.plan, first.event, "birth")
    queued(here)
    here.time.now += 61

    found = here.go(tenant="acme")

    assert {"looked": 1, "started": 1} == found
    assert [RUN_ID] == [body["run_id"] for body in here.started]


def test_a_round_of_a_tenant_goes_on_where_the_table_is_busy(here: Round) -> None:
    """What a batch leaves out is asked for again; what stays out is due the next time."""
    queued(here)
    queued(here, OTHER)
    client = new_client("dynamodb")
    index = DueIndex(client, RUNS)
    with faults.half_done(client, "BatchGetItem"):
        assert {RUN_ID, OTHER} == set(index.of_tenant([RUN_ID, OTHER], "acme"))
    others = [RUN_ID, *(f"{OTHER}{number}" for number in range(9))]
    with faults.half_done(client, "BatchGetItem", times=100):
        assert [RUN_ID] == list(index.of_tenant(others, "acme"))
