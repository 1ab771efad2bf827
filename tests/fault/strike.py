"""A fault at the n-th service call of a process, whatever the call is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from botocore.exceptions import ConnectionClosedError

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
