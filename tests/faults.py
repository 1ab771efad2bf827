"""Faults between a boto3 client and AWS, at botocore's own event hooks.

    our code ─► client ─┬─ before-call: refused, cancelled, meanwhile      nothing is carried out
                        ├─ (moto, or the network)                          carried out
                        └─ after it: lost_reply, half_done                 and then it goes wrong

Each is a context manager over one operation of one client; leaving it without the fault having
fired fails the test, because such a test shows nothing.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ConnectionClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MANY = 1_000_000


@dataclass
class Fault:
    """How often a fault may still strike and how often it did."""

    times: int
    fired: int = 0

    def strikes(self) -> bool:
        if self.fired >= self.times:
            return False
        self.fired += 1
        return True


@dataclass
class Refusal:
    """What botocore takes for an HTTP answer of the service."""

    status_code: int = 400


@contextmanager
def lost_reply(client: Any, operation: str, times: int = 1) -> Iterator[Fault]:
    """The call is carried out and the connection closes before its answer arrives.

    botocore's own retries see the error, as they would in the field: a client with retries
    needs `times` to cover them if the caller is to see it.
    """
    fault = Fault(times)

    def close(request: Any, event_name: str, **_: object) -> None:
        if event_name == sent and fault.strikes():
            raise ConnectionClosedError(endpoint_url=request.url)

    sent = _event(client, "before-send", operation)
    # On the event's root, where moto answers: handlers of a longer name would run before it.
    client.meta.events.register_last("before-send", close)
    try:
        yield fault
    finally:
        client.meta.events.unregister("before-send", close)
    _fired(fault, operation)


@contextmanager
def refused(
    client: Any, operation: str, code: str, times: int = 1, **members: object
) -> Iterator[Fault]:
    """The service refuses the call with an error code; nothing is carried out."""
    fault = Fault(times)

    def refuse(**_: object) -> tuple[Refusal, dict[str, Any]] | None:
        if not fault.strikes():
            return None
        return Refusal(), {"Error": {"Code": code, "Message": "injected"}, **members}

    with _hooked(client, "before-call", operation, refuse):
        yield fault
    _fired(fault, operation)


@contextmanager
def throttled(client: Any, operation: str, times: int = 1) -> Iterator[Fault]:
    """The service has no capacity for the call, and the SDK has given up trying."""
    with refused(client, operation, "ThrottlingException", times) as fault:
        yield fault


@contextmanager
def cancelled(client: Any, reasons: Sequence[str], times: int = 1) -> Iterator[Fault]:
    """A transaction is cancelled; one reason an item, `None` for those that were fine."""
    listed = [{"Code": reason} for reason in reasons]
    code = "TransactionCanceledException"
    with refused(client, "TransactWriteItems", code, times, CancellationReasons=listed) as fault:
        yield fault


@contextmanager
def meanwhile(
    client: Any, operation: str, action: Callable[[], object], times: int = 1
) -> Iterator[Fault]:
    """Something else happens just before the call is sent; it may use the same client."""
    fault = Fault(times)

    def happen(**_: object) -> None:
        if fault.strikes():
            action()

    with _hooked(client, "before-call", operation, happen):
        yield fault
    _fired(fault, operation)


@contextmanager
def half_done(client: Any, operation: str, times: int = 1) -> Iterator[Fault]:
    """BatchGetItem or BatchWriteItem does its first entry and hands the others back."""
    fault = Fault(times)
    member = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}[operation]
    held: dict[str, Any] = {}

    def hold_back(params: dict[str, Any], **_: object) -> dict[str, Any]:
        held.clear()
        if not fault.strikes():
            return params
        ((table, wanted),) = params["RequestItems"].items()
        entries = wanted if isinstance(wanted, list) else wanted["Keys"]
        held[table] = _like(wanted, entries[1:])
        return params | {"RequestItems": {table: _like(wanted, entries[:1])}}

    def hand_back(parsed: dict[str, Any], **_: object) -> None:
        if held:
            parsed[member] = dict(held)

    with (
        _hooked(client, "provide-client-params", operation, hold_back),
        _hooked(client, "after-call", operation, hand_back),
    ):
        yield fault
    _fired(fault, operation)


@contextmanager
def one_at_a_time(*clients: Any) -> Iterator[None]:
    """Calls of several threads reach moto one by one: its transactions are not atomic."""
    turn = threading.Lock()

    def take(**_: object) -> None:
        turn.acquire()

    def give(**_: object) -> None:
        turn.release()

    for client in clients:
        client.meta.events.register_first("before-send", take)
        client.meta.events.register_last("before-send", give)
    try:
        yield
    finally:
        for client in clients:
            client.meta.events.unregister("before-send", take)
            client.meta.events.unregister("before-send", give)


def calls(client: Any, operation: str) -> list[dict[str, Any]]:
    """Return a list that grows by the parameters of every call of an operation."""
    made: list[dict[str, Any]] = []

    def note(params: dict[str, Any], **_: object) -> None:
        made.append(params)

    client.meta.events.register(_event(client, "provide-client-params", operation), note)
    return made


@contextmanager
def _hooked(client: Any, hook: str, operation: str, handler: Callable[..., Any]) -> Iterator[None]:
    events, name = client.meta.events, _event(client, hook, operation)
    events.register(name, handler)
    try:
        yield
    finally:
        events.unregister(name, handler)


def _event(client: Any, *parts: str) -> str:
    hook, *operation = parts
    return ".".join([hook, client.meta.service_model.service_id.hyphenize(), *operation])


def _like(wanted: Any, entries: list[Any]) -> Any:
    return entries if isinstance(wanted, list) else wanted | {"Keys": entries}


def _fired(fault: Fault, operation: str) -> None:
    assert fault.fired, f"{operation} was never called: the fault did not strike"
