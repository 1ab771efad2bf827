"""What answering a request takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from onward.app.delivering.endpoints import Registrar

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.app.access.admission import Quota
    from onward.app.access.keys import Doorkeeper
    from onward.app.delivering.downstream import Downstream
    from onward.app.driving.carry_out import Drive
    from onward.aws.audit import AuditLog
    from onward.aws.blobs import Blobs
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
    from onward.domain.limits import RunLimits
    from onward.sdk.catalogue import Catalogue


class Looking(Protocol):
    """What looking at runs takes."""

    @property
    def reader(self) -> RunReader:
        """Where runs are read."""


class Reading(Looking, Protocol):
    """What reading their large payloads takes as well."""

    @property
    def clock(self) -> Callable[[], float]:
        """The time, in epoch seconds."""

    @property
    def blobs(self) -> Callable[[str], Blobs]:
        """A tenant's blobs."""


@dataclass(frozen=True, slots=True)
class Service:
    """The stores and the catalogue, and the world's clock, sleep, chance and entropy.

    `worker` is the version of execute_step that new runs are pinned to, `socket_url` where
    clients open sockets, `live` the queue of what is to be done with them. `patrol` looks after
    a tenant's runs. `catalogue` is called when a run is submitted and not before: it imports
    every workflow.
    """

    drive: Drive
    incidents: Incidents
    door: Doorkeeper
    tenants: Tenants
    tickets: SocketTickets
    blobs: Callable[[str], Blobs]
    index: RunIndex
    approvals: OpenApprovals
    once: Once
    catalogue: Callable[[], Catalogue]
    worker: str
    socket_url: str
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    chance: Callable[[], float]
    entropy: Callable[[int], bytes]
    wake: Callable[[str], object]
    patrol: Callable[[str], dict[str, Any]]
    downstream: Downstream
    audit: AuditLog
    live: Callable[[], Queue]
    limits: RunLimits
    quota: Quota
    slots: WaitingSlots

    @property
    def reader(self) -> RunReader:
        """Where runs are read."""
        return self.drive.reader

    @property
    def registrar(self) -> Registrar:
        """What keeping subscriptions takes."""
        return Registrar(self.downstream.endpoints, self.downstream, self.clock, self.entropy)

    @property
    def store(self) -> RunStore:
        """Where runs are written."""
        return self.drive.store
