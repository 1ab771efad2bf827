"""Start a run and read its snapshot."""

from __future__ import annotations

from typing import Any

from onward.app.reading.read_run import read_run
from onward.app.service import Service
from onward.domain.model import Payload

from tests.store.conftest import Time
from tests.store.runs import RUN_ID, Journey, journey

SEEN = Payload('{"n":1}')


def start(service: Service, time: Time, plan: Any) -> Journey:
    return journey(service.store, service.reader, service.blobs("acme"), time, plan)


def read(service: Service, **options: Any) -> dict[str, Any]:
    document = read_run(service, "acme", RUN_ID, **options).document
    assert document is not None
    return document


def by_id(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {step["id"]: step for step in document["steps"]}
