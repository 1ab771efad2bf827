"""Put the HTTP function together; apart from `compose`, whose imports every handler pays for."""

from __future__ import annotations

import os
import random
import time
from functools import cache
from typing import Final

from onward.app.access.admission import Quota
from onward.app.access.keys import Doorkeeper
from onward.app.service import Service
from onward.app.submitting.submit_run import KEY_SECONDS
from onward.aws.active_runs import ActiveRuns
from onward.aws.api_keys import ApiKeys
from onward.aws.audit import AuditLog
from onward.aws.clients import client
from onward.aws.functions import Function
from onward.aws.idempotency import Once
from onward.aws.incidents import Incidents
from onward.aws.open_approvals import OpenApprovals
from onward.aws.run_index import RunIndex
from onward.aws.socket_tickets import SocketTickets
from onward.aws.sockets import reachable
from onward.aws.tenants import Tenants
from onward.aws.waiting_slots import WaitingSlots
from onward.compose import blobs, drive, live_queue, wake_driver
from onward.compose_notify import downstream
from onward.domain.limits import RunLimits, TenantLimits
from onward.http.api import Api
from onward.sdk.catalogue import Catalogue, load_catalogue
from onward.settings import Settings, settings

NAME = "http_api"


@cache
def api() -> Api:
    """Return the API over the real clock, chance and entropy."""
    held = settings(NAME)
    dynamodb = client("dynamodb")
    service = Service(
        drive=drive(NAME),
        incidents=Incidents(dynamodb, held.runs_table),
        door=Doorkeeper(ApiKeys(dynamodb, held.access_table), time.time),
        tenants=Tenants(dynamodb, held.runs_table),
        tickets=SocketTickets(dynamodb, held.cursors_table),
        blobs=lambda tenant: blobs(held, tenant),
        approvals=OpenApprovals(dynamodb, held.runs_table),
        index=RunIndex(dynamodb, held.runs_table),
        once=Once(dynamodb, held.idempotency_table, "submit_run", KEY_SECONDS),
        catalogue=catalogue,
        worker=held.execute_step_version,
        socket_url=reachable(held.socket_url),
        clock=time.time,
        sleep=time.sleep,
        chance=random.random,
        entropy=os.urandom,
        wake=wake_driver,
        patrol=lambda tenant: Function(lambda: client("lambda"), held.patrol_function).invoke(
            {"everything": True, "seconds": PATROL_SECONDS, "tenant": tenant}
        ),
        downstream=downstream(NAME),
        audit=AuditLog(dynamodb, held.runs_table, held.audit_seconds),
        live=lambda: live_queue(NAME),
        limits=run_limits(held),
        quota=Quota(ActiveRuns(dynamodb, held.runs_table), tenant_limits(held), time.time),
        slots=WaitingSlots(dynamodb, held.cursors_table, held.held_requests),
    )
    return Api(service)


def run_limits(held: Settings) -> RunLimits:
    """Return what one run may cost: what is set, and the library's own for the rest."""
    own = RunLimits()
    return RunLimits(
        steps=held.number("max_steps") or own.steps,
        children=held.number("max_children") or own.children,
        bytes=held.number("max_input_bytes") or own.bytes,
    )


def tenant_limits(held: Settings) -> TenantLimits:
    """Return what one tenant may have at a time, likewise."""
    own = TenantLimits()
    return TenantLimits(
        active=held.number("max_active_runs") or own.active,
        steps=held.number("max_active_steps") or own.steps,
    )


PATROL_SECONDS: Final = 20
"""How long a round may take that somebody waits for; the gateway waits for 30."""


@cache
def catalogue() -> Catalogue:
    """Return the tools and workflows of this deployment, imported once."""
    return load_catalogue(drills=settings(NAME).allows_drills)
