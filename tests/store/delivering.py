"""A run that ends, an endpoint that hears of it, and what brings the one to the other."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from onward.app.delivering.deliver import QUICK_SECONDS, SECONDS, Sender, WakeUp, deliver
from onward.app.delivering.downstream import Downstream
from onward.app.service import Service
from onward.domain.delivery import Delivery, Endpoint, Secret, SyncStatus
from onward.domain.model import Json, Run
from onward.domain.protocol import Begin
from onward.outside.request import request

from infra.local.subscriber import Subscriber
from tests.store import scripted_tools
from tests.store.conftest import Time
from tests.store.driver import Driver
from tests.store.runs import RUN_ID, Journey, chain, journey

SECRET = "whsec_" + "c2VjcmV0" * 5
PATIENCE = {QUICK_SECONDS: 0.3, SECONDS: 1.5}
"""Seconds that a request takes at most here, for those that it may take."""

FAR = 10_000.0


@dataclass
class World:
    """The service, and a run of it that has not begun."""

    service: Service
    time: Time
    made: Journey
    seconds: float = FAR
    again: list[WakeUp] = field(default_factory=list)
    letters: list[WakeUp] = field(default_factory=list)

    @property
    def downstream(self) -> Downstream:
        return self.service.downstream

    @property
    def run(self) -> Run:
        return self.made.run

    def finish(self) -> Run:
        """Let the run come to its end."""
        scripted_tools.forget()
        self.time.now += 1
        Driver(self.made.drive, self.made.run_id).execute()
        return self.run

    def begin(self) -> Run:
        self.made.move(Begin())
        return self.run

    def subscribe(
        self, subscriber: Subscriber | str, name: str = "billing", **how: Any
    ) -> Endpoint:
        url = subscriber if isinstance(subscriber, str) else subscriber.url
        endpoint = Endpoint(
            **{
                "endpoint_id": name,
                "tenant": "acme",
                "url": url,
                "event_types": ("run.*",),
                "created_at": self.time.now,
                "secrets": (Secret(SECRET),),
            }
            | how
        )
        assert self.downstream.endpoints.create(endpoint)
        if isinstance(subscriber, Subscriber):
            subscriber.secrets.append(SECRET)
            subscriber.clock = self.time.clock
        return endpoint

    def endpoint(self, name: str = "billing") -> Endpoint:
        found = self.downstream.endpoints.get("acme", name)
        assert found is not None
        return found

    def delivery(self, name: str = "billing") -> Delivery:
        return self.downstream.deliveries.get(RUN_ID, name)

    def sync(self) -> SyncStatus:
        return self.downstream.status(self.run)

    def sender(self, *, local: bool = True) -> Sender:
        def post(url: str, headers: dict[str, str], body: bytes, seconds: float) -> Any:
            return request("POST", url, headers, body, seconds=PATIENCE[seconds], local=local)

        return Sender(
            reader=self.service.reader,
            endpoints=self.downstream.endpoints,
            deliveries=self.downstream.deliveries,
            clock=self.time.clock,
            post=post,
            greet=lambda url, headers: request("OPTIONS", url, headers, seconds=2, local=local),
            again=self.again.append,
            letter=self.letters.append,
        )

    def deliver(
        self, receives: int = 1, name: str = "billing", *, local: bool = True, **how: Any
    ) -> float | None:
        """Handle one wake-up."""
        wake = dataclasses.replace(WakeUp(RUN_ID, "acme", name, receives), **how)
        return deliver(self.sender(local=local), wake, self.time.now + self.seconds)


def world(service: Service, time: Time, plan: Json = None) -> World:
    made = journey(service.store, service.reader, service.blobs("acme"), time, plan or chain(2))
    return World(service, time, made)
