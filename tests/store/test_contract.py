"""Every call of the API is as its own description says: schemathesis over the real handler."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from secrets import randbits
from typing import Any
from zlib import crc32

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from onward.app.service import Service
from onward.http.openapi import openapi
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.store.conftest import Time, caller, issue
from tests.store.gateway import Start, gateway
from tests.store.runs import RUN_ID, chain, journey

SEED = int(os.environ.get("ONWARD_SEED", randbits(32)))
EXAMPLES = 40
PLAIN = re.compile(r"[A-Za-z0-9_-]+")
PARTLY_DESCRIBED = {
    "GET /runs",
    "GET /runs/{run_id}/events",
    "POST /runs",
    "GET /approvals",
    "GET /audit",
    "POST /uploads",
    "PUT /endpoints/{endpoint_id}",
}
"""What they take is not all JSON Schema can say: known tools, acyclic plans, tokens, file names,
addresses that are there, positions that a log has."""


@dataclass
class Standing:
    """Where the calls go: tests are drawn from the description before there is a service."""

    application: Callable[[dict[str, Any], Start], Iterable[bytes]] | None = None
    key: str = ""

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        assert self.application is not None
        return self.application(environ, start)


standing = Standing()


def closed(document: dict[str, Any]) -> dict[str, Any]:
    """The description as if it left no room for later members: an answer has no other ones."""
    strict = deepcopy(document)
    for schema in strict["components"]["schemas"].values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return strict


api = schemathesis.openapi.from_dict(
    closed(openapi()), config=schemathesis.Config.from_dict({"seed": SEED})
)
api.app = standing


@api.auth()
class Bearer:
    """The key, unless the call is to be made without one."""

    def get(self, *_: Any) -> str:
        return standing.key

    def set(self, case: Any, data: str, *_: Any) -> None:
        case.headers["Authorization"] = f"Bearer {data}"


@pytest.fixture
def stood(service: Service, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service with one run, which the description's examples name, on a machine without names."""
    monkeypatch.setattr(socket, "getaddrinfo", _nowhere)
    journey(service.store, service.reader, service.blobs("acme"), time, chain(2))
    standing.application = gateway(caller(service, None).handler)
    standing.key = issue(service, "acme", "operator")


def _nowhere(host: str, *_: Any, **__: Any) -> list[Any]:
    raise socket.gaierror(f"{host} is not known")


@api.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_as_described(case: Any, stood: None) -> None:
    """No 5xx, no status, header or member that is not described, and what is wrong is refused."""
    print(f"ONWARD_SEED={SEED}")  # noqa: T201 - with it, a failure can be repeated
    headers = {}
    chance = crc32(repr((case.path_parameters, case.query, case.body)).encode())
    if chance & 1 and PLAIN.fullmatch(str((case.path_parameters or {}).get("run_id", ""))):
        case.path_parameters["run_id"] = RUN_ID
    if chance & 2 and case.operation.path.endswith("/events"):
        headers["Accept"] = "text/event-stream"
    partly = case.operation.label in PARTLY_DESCRIBED
    case.call_and_validate(
        headers=headers, excluded_checks=[positive_data_acceptance] if partly else []
    )
