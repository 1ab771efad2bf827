"""Put the parts together for one function, once per cold start."""

from __future__ import annotations

import os
import random
import time
from functools import cache
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from onward.app.driving.carry_out import Drive
from onward.app.live.wake_live import live_wake_up
from onward.aws.blobs import Blobs
from onward.aws.clients import client
from onward.aws.engine import Engine, answer_token
from onward.aws.queues import Queue
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.limits import OVERRAN
from onward.settings import settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.app.access.admission import Share
    from onward.app.delivering.wake_notify import Bell
    from onward.app.driving.run_code import RemoteSandbox
    from onward.app.patrol.follow_up import Ends
    from onward.app.patrol.look_after import Patrol
    from onward.app.submitting.start_run import Starter
    from onward.aws.idempotency import Once
    from onward.aws.models import BedrockModel
    from onward.domain.model import Run
    from onward.domain.plan import ToolSpec
    from onward.sandbox.run import Cell
    from onward.settings import Settings

DAY: Final = 86_400

MAX_RUNNING: Final = 200
"""Runs that are driven at a time, where nothing else is set."""


@cache
def drive(function: str) -> Drive:
    """Return what moves runs, over the real clock, chance and ids."""
    held = settings(function)
    dynamodb = client("dynamodb")
    return Drive(
        reader=RunReader(dynamodb, held.runs_table),
        store=RunStore(dynamodb, held.runs_table),
        blobs=lambda tenant: blobs(held, tenant),
        clock=time.time,
        new_id=lambda: uuid4().hex,
        chance=random.random,
        sleep=time.sleep,
        ended=lambda run: _wake_listeners(function, run),
        wake=wake_driver,
    )


def _wake_listeners(function: str, run: Run) -> None:
    """Wake whoever is to hear of an end without waiting for the stream: the second trigger.

    Behind a last event no other comes that would make good a lost wake-up.
    """
    try:
        live_queue(function).send_ordered([live_wake_up(run.run_id, uuid4().hex)])
    finally:
        bell(function).ended(run)


@cache
def live_queue(function: str) -> Queue:
    """Return the queue that push_events reads."""
    return Queue(client("sqs"), settings(function).live_queue_url)


@cache
def bell(function: str) -> Bell:
    """Return what wakes deliveries directly; its queue's client is made when somebody listens."""
    from onward.app.delivering.wake_notify import Bell
    from onward.aws.endpoints import Endpoints

    held = settings(function)
    return Bell(
        endpoints=Endpoints(client("dynamodb"), held.runs_table),
        queue=lambda: Queue(client("sqs"), held.notify_queue_url),
        new_id=lambda: uuid4().hex,
    )


@cache
def attempts() -> Once:
    """Return what makes an invocation of an attempt idempotent.

    Powertools brings boto3 along, most of the cold import, so it comes with the first attempt.
    """
    from onward.aws.idempotency import Once

    table = settings("execute_step").idempotency_table
    return Once(client("dynamodb"), table, "execute_step", DAY)


@cache
def models() -> tuple[BedrockModel, ...]:
    """Return the language models set for this deployment, often none; imported when there are."""
    names = settings("execute_step").model_names
    if not names:
        return ()
    from onward.aws.models import BedrockModel

    return tuple(BedrockModel(name) for name in names)


@cache
def tools() -> Mapping[str, ToolSpec]:
    """Return what plans are validated against; every workflow is imported for it."""
    from onward.sdk.catalogue import load_catalogue

    return load_catalogue(drills=allows_drills()).specs


@cache
def sandbox() -> RemoteSandbox:
    """Return the way to `run_sandbox`; its client is made by the first code that is run."""
    from onward.app.driving.run_code import RemoteSandbox
    from onward.aws.functions import Function

    name = settings("execute_step").sandbox_function
    return RemoteSandbox(Function(lambda: client("lambda"), name).invoke)


@cache
def cell() -> Cell:
    """Return where `run_sandbox` runs code, after its own process was hidden from that code."""
    from onward.sandbox.own_process import hide
    from onward.sandbox.run import Cell

    hide()
    return Cell(filtered_only=settings("run_sandbox").runs_filtered_only)


def allows_drills() -> bool:
    """Return whether tools may rehearse faults on this stack."""
    return settings("execute_step").allows_drills


@cache
def engine(function: str) -> Engine:
    """Return the driver's executions."""
    return Engine(client("stepfunctions"), settings(function).driver_arn)


@cache
def share(function: str) -> Share:
    """Return who is let in: no tenant holds more than half of what may run at a time."""
    from onward.app.access.admission import Share
    from onward.aws.active_runs import ActiveRuns

    held = settings(function)
    active = ActiveRuns(client("dynamodb"), held.runs_table)
    return Share(active, max(1, (held.number("max_running") or MAX_RUNNING) // 2))


@cache
def starter() -> Starter:
    """Return what `start_run` starts executions with."""
    from onward.app.submitting.start_run import Starter

    return Starter(drive("start_run"), engine("start_run"), share("start_run"))


@cache
def start_queue(function: str) -> Queue:
    """Return the queue that start_run reads."""
    return Queue(client("sqs"), settings(function).start_queue_url)


@cache
def watch() -> Patrol:
    """Return what looking after runs takes."""
    from onward.app.patrol.look_after import Patrol
    from onward.aws.due import DueIndex
    from onward.aws.functions import invoke_version
    from onward.aws.incidents import Incidents

    return Patrol(
        drive=drive("patrol"),
        engine=engine("patrol"),
        due=DueIndex(client("dynamodb"), settings("patrol").runs_table),
        start=lambda body: start_queue("patrol").send([body]),
        wake=wake_driver,
        ends=ends(),
        incidents=Incidents(client("dynamodb"), settings("patrol").runs_table),
        share=share("patrol"),
        invoke=lambda version, event: invoke_version(client("lambda"), version, event),
    )


def ends() -> Ends:
    """Return what looking after runs that have ended takes."""
    from onward.app.live.wake_live import Siren
    from onward.app.patrol.follow_up import Ends
    from onward.aws.cursors import Cursors
    from onward.aws.deliveries import Deliveries
    from onward.aws.endpoints import Endpoints
    from onward.aws.retention import Retention

    held, dynamodb = settings("patrol"), client("dynamodb")
    return Ends(
        endpoints=Endpoints(dynamodb, held.runs_table),
        deliveries=Deliveries(dynamodb, held.runs_table),
        bell=bell("patrol"),
        siren=Siren(
            cursors=Cursors(dynamodb, held.cursors_table),
            queue=lambda: live_queue("patrol"),
            new_id=lambda: uuid4().hex,
        ),
        retention=Retention(
            dynamodb, held.runs_table, lambda tenant: blobs(held, tenant), time.time
        ),
        keep_seconds=held.retention_seconds,
    )


def patrol_seconds() -> int:
    """Return the seconds between two rounds of the patrol, as the stack's parameter says now."""
    name = settings("patrol").patrol_parameter
    return int(client("ssm").get_parameter(Name=name)["Parameter"]["Value"])


def wake_driver(token: str) -> bool:
    """Answer a parked driver's task token; False when it was settled already."""
    return answer_token(client("stepfunctions"), token)


def blobs(held: Settings, tenant: str) -> Blobs:
    """Return one tenant's blobs."""
    return Blobs(client("s3"), held.artifacts_bucket, tenant)


def end_process() -> None:
    """End this process at once: a hung tool must not outlive its attempt's deadline."""
    os._exit(OVERRAN)


def until(context: object) -> float:
    """Return when Lambda ends this invocation, in epoch seconds."""
    remaining: int = context.get_remaining_time_in_millis()  # type: ignore[attr-defined]
    return time.time() + remaining / 1000
