"""A fault at the n-th service call of a process, whatever the call is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from botocore.exceptions import ConnectionClosedError

from tests.faults import Refusal
from tests.store.scripted_tools import Died


class Mode(StrEnum):
    """What happens at the call."""

    DIES_BEFORE = "dies-before"
    DIES_AFTER = "dies-after"
    REPLY_LOST = "reply-lost"


@dataclass
class Calls:
    """How many calls were made; `struck` names the one that went wrong."""

    made: int = 0
    struck: str = ""


@contextmanager
def busy(client: Any, at: int, clock: Callable[[], float], seconds: float) -> Iterator[Calls]:
    """From call number `at` (from 0) on every call is throttled for some seconds of a clock."""
    calls, over = Calls(), 0.0

    def throttle(model: Any, **_: object) -> tuple[Refusal, dict[str, Any]] | None:
        nonlocal over
        calls.made += 1
        if calls.made - 1 == at:
            calls.struck, over = str(model.name), clock() + seconds
        if clock() >= over:
            return None
        code = "ProvisionedThroughputExceededException"
        return Refusal(), {"Error": {"Code": code, "Message": "injected"}}

    client.meta.events.register("before-call", throttle)
    try:
        yield calls
    finally:
        client.meta.events.unregister("before-call", throttle)


@contextmanager
def strike(clients: list[Any], at: int | None, mode: Mode) -> Iterator[Calls]:
    """Let call number `at` (from 0) go wrong; None only counts."""
    calls = Calls()

    def before(model: Any, **_: object) -> None:
        calls.made += 1
        if calls.made - 1 == at and mode is Mode.DIES_BEFORE:
            calls.struck = str(model.name)
            raise Died

    def after(model: Any, **_: object) -> None:
        if calls.made - 1 != at or mode is Mode.DIES_BEFORE or calls.struck:
            return
        calls.struck = str(model.name)
        if mode is Mode.DIES_AFTER:
            raise Died
        raise ConnectionClosedError(endpoint_url="the reply was lost")

    for client in clients:
        client.meta.events.register("before-call", before)
        client.meta.events.register("after-call", after)
    try:
        yield calls
    finally:
        for client in clients:
            client.meta.events.unregister("before-call", before)
            client.meta.events.unregister("after-call", after)
