"""The tables and the bucket, in moto."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from secrets import token_bytes
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config
from moto import mock_aws
from onward.app.access.admission import Quota
from onward.app.access.keys import Doorkeeper, issue_key
from onward.app.delivering.ask_status import ask_status, reply_of
from onward.app.delivering.downstream import Downstream
from onward.app.delivering.wake_notify import Bell
from onward.app.driving.carry_out import Drive
from onward.app.service import Service
from onward.app.submitting.submit_run import KEY_SECONDS
from onward.aws.active_runs import ActiveRuns
from onward.aws.api_keys import ApiKeys
from onward.aws.audit import AuditLog
from onward.aws.blobs import Blobs
from onward.aws.deliveries import Deliveries
from onward.aws.endpoint_secrets import EndpointSecrets
from onward.aws.endpoints import Endpoints
from onward.aws.idempotency import Once
from onward.aws.incidents import Incidents
from onward.aws.open_approvals import OpenApprovals
from onward.aws.queues import Queue
from onward.aws.run_index import RunIndex
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.aws.socket_tickets import SocketTickets
from onward.aws.tenants import Tenants
from onward.aws.waiting_slots import WaitingSlots
from onward.domain.delivery import Endpoint
from onward.domain.limits import RunLimits, TenantLimits
from onward.domain.protocol import Begin
from onward.http.api import Api
from onward.observability import log
from onward.outside.request import Reply, request

from infra.local.subscriber import Subscriber, subscribed
from tests.store import scripted_tools
from tests.store.caller import Caller, Context, catalogue
from tests.store.runs import Journey, chain, journey
from tests.store.tables import new_tables

if TYPE_CHECKING:
    from tests.store.delivering import World
    from tests.store.listening import Sockets

RUNS, IDEMPOTENCY, CURSORS, BUCKET = "runs", "idempotency", "cursors", "artifacts"
ACCESS = "access"
NOTIFY, NOTIFY_DEAD, LIVE = "notify.fifo", "notify-dead.fifo", "live.fifo"
AUDIT_SECONDS = 400 * 86_400
NOW = 1_764_450_000.0


@dataclass
class Time:
    """A clock that moves only when somebody sleeps."""

    now: float = NOW
    naps: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty account with the stack's tables and bucket."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        make_tables(new_client("dynamodb"))
        new_client("s3").create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
        )
        yield


@pytest.fixture
def dynamodb(aws: None) -> Any:
    return new_client("dynamodb")


@pytest.fixture
def store(dynamodb: Any) -> RunStore:
    return RunStore(dynamodb, RUNS)


@pytest.fixture
def reader(dynamodb: Any) -> RunReader:
    return RunReader(dynamodb, RUNS)


@pytest.fixture
def blobs(aws: None) -> Blobs:
    return Blobs(new_client("s3"), BUCKET, "acme")


@pytest.fixture
def service(dynamodb: Any, time: Time) -> Service:
    return new_service(dynamodb, time)


@pytest.fixture
def here(service: Service, time: Time) -> World:
    """A run that has not begun, and what delivers its events."""
    from tests.store.delivering import world  # which uses this module

    return world(service, time)


@pytest.fixture
def script() -> Iterator[None]:
    """Tools of which nothing was told before, nor is afterwards."""
    scripted_tools.forget()
    yield
    scripted_tools.forget()


@pytest.fixture
def made(service: Service, time: Time) -> Journey:
    """A chain of two that runs its first step; three events."""
    begun = journey(service.store, service.reader, service.blobs("acme"), time, chain(2))
    begun.move(Begin())
    return begun


@pytest.fixture
def hook() -> Iterator[Subscriber]:
    """A receiver of webhooks."""
    with subscribed() as subscriber:
        yield subscriber


@pytest.fixture
def sockets(dynamodb: Any, time: Time) -> Sockets:
    """Sockets, and the functions behind them."""
    from tests.store.listening import Sockets  # which uses this module

    return Sockets(dynamodb, time)


@pytest.fixture
def acme(service: Service) -> Caller:
    """A submitter of the tenant acme, in front of the whole API."""
    return caller(service, issue(service, "acme", "submitter"))


def new_service(dynamodb: Any, time: Time) -> Service:
    """What one process of http_api holds."""
    s3 = new_client("s3")
    once = Once(dynamodb, IDEMPOTENCY, "submit_run", KEY_SECONDS)
    once.begin(Context())
    return Service(
        drive=Drive(
            reader=RunReader(dynamodb, RUNS),
            store=RunStore(dynamodb, RUNS),
            blobs=lambda tenant: Blobs(s3, BUCKET, tenant),
            clock=time.clock,
            new_id=lambda: token_bytes(8).hex(),
            chance=lambda: 0.5,
            sleep=time.sleep,
        ),
        incidents=Incidents(dynamodb, RUNS),
        door=Doorkeeper(ApiKeys(dynamodb, ACCESS), time.clock, lambda _note: None),
        tenants=Tenants(dynamodb, RUNS),
        tickets=SocketTickets(dynamodb, CURSORS),
        blobs=lambda tenant: Blobs(s3, BUCKET, tenant),
        approvals=OpenApprovals(dynamodb, RUNS),
        index=RunIndex(dynamodb, RUNS),
        once=once,
        catalogue=catalogue,
        worker="arn:aws:lambda:eu-central-1:123456789012:function:execute_step:1",
        socket_url="wss://sockets.example/live",
        clock=time.clock,
        sleep=time.sleep,
        chance=lambda: 0.5,
        entropy=token_bytes,
        wake=lambda _token: False,
        patrol=lambda _tenant: {"looked": 0, "repairs": {}},
        downstream=new_downstream(dynamodb, time),
        audit=AuditLog(dynamodb, RUNS, AUDIT_SECONDS),
        live=lambda: fifo(new_client("sqs"), LIVE),
        limits=RunLimits(),
        quota=Quota(ActiveRuns(dynamodb, RUNS), TenantLimits(), time.clock),
        slots=WaitingSlots(dynamodb, CURSORS, 3),
    )


def new_downstream(dynamodb: Any, time: Time, *, local: bool = True) -> Downstream:
    """Endpoints and deliveries, with queues of their own that are made when they are used."""
    sqs = new_client("sqs")
    endpoints = Endpoints(dynamodb, RUNS, EndpointSecrets(dynamodb, ACCESS))

    def get(url: str, headers: dict[str, str], seconds: float) -> Reply:
        return request("GET", url, headers, seconds=seconds, local=local)

    def ask(endpoint: Endpoint, run_id: str, seconds: float) -> Reply:
        about = {"tenant": endpoint.tenant, "endpoint_id": endpoint.endpoint_id}
        asked = about | {"run_id": run_id, "seconds": seconds}
        return reply_of(ask_status(endpoints, get, time.clock(), asked))

    return Downstream(
        endpoints=endpoints,
        deliveries=Deliveries(dynamodb, RUNS),
        bell=Bell(endpoints, lambda: fifo(sqs, NOTIFY), lambda: token_bytes(8).hex()),
        dead=lambda: fifo(sqs, NOTIFY_DEAD),
        ask=ask,
        clock=time.clock,
        local=local,
    )


def fifo(sqs: Any, name: str) -> Queue:
    """A FIFO queue, made unless it is there."""
    return Queue(
        sqs, sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "true"})["QueueUrl"]
    )


def issue(service: Service, tenant: str, *roles: str, expires_at: float | None = None) -> str:
    text, _ = issued(service, tenant, *roles, expires_at=expires_at)
    return text


def issued(
    service: Service, tenant: str, *roles: str, expires_at: float | None = None
) -> tuple[str, str]:
    """A key and its id."""
    keys, now = service.door.keys, service.clock()
    text, key = issue_key(keys, tenant, "ada", roles, token_bytes, now, expires_at)
    return text, key.key_id


def caller(service: Service, key: str | None) -> Caller:
    api = Api(service)

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        with log(context) as line:
            return api.answer(event, context, line)

    return Caller(handler, key)


def new_client(service: str, attempts: int = 1) -> Any:
    """A client that does not retry by itself: every injected fault reaches our code."""
    config = Config(retries={"mode": "standard", "total_max_attempts": attempts})
    return session().client(service, config=config)


@cache
def session() -> boto3.Session:
    """One for all tests: it keeps the service models, which take longest to load."""
    return boto3.Session("testing", "testing", region_name="eu-central-1")


def make_tables(dynamodb: Any) -> None:
    new_tables(dynamodb, RUNS, IDEMPOTENCY, CURSORS, ACCESS)
