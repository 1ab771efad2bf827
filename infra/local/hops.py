"""How often a chain of messages went round a function, and where Lambda cuts it.

Lambda counts in the trace header's `Lineage` how often a function was invoked in one chain of
requests. The SDK hands the header on, SQS keeps it with the message. What would be a function's
17th invocation or so does not begin: the message goes to the queue's dead letters, or is gone,
unless the function allows it (`RecursiveLoop`).
https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html

As released the emulator counts direct invocations only, so a function that puts messages back into
its own queue goes on here for ever and stops after 16 on AWS; and CloudFormation ignores the
property. Here the hops of a whole chain are counted: never later than AWS, which counts those of
each function.
"""

# ruff: noqa: SLF001 - patching private parts is what this module is for

from __future__ import annotations

import json
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_HOPS: Final = "Hops"
"""Kept with a message among its system attributes, which move along to the dead letters."""

_sender: ContextVar[int] = ContextVar("sender", default=0)
"""Hops of the invocation whose request is being handled; 0 for everybody else's."""


def apply(lambda_service: Any, sqs: Any, provisioners: Any) -> None:
    """Patch the emulator's services."""
    sqs.handle_request = _noticing_sender(lambda_service, sqs.handle_request)
    sqs._build_send_sys_attrs = _keeping_hops(sqs._build_send_sys_attrs)
    lambda_service._run_sqs_batch = _counting(lambda_service, sqs, lambda_service._run_sqs_batch)
    handler = provisioners._RESOURCE_HANDLERS["AWS::Lambda::Function"]
    handler["create"] = _allowing(lambda_service, handler["create"], properties=1)
    handler["update"] = _allowing(lambda_service, handler["update"], properties=2)


def _noticing_sender(lambda_service: Any, handle: Callable[..., Any]) -> Callable[..., Any]:
    async def handle_noticing(
        method: str, path: str, headers: Mapping[str, str], body: bytes, query: Any
    ) -> Any:
        reset = _sender.set(lambda_service._inbound_invoke_depth(headers))
        try:
            return await handle(method, path, headers, body, query)
        finally:
            _sender.reset(reset)

    return handle_noticing


def _keeping_hops(build: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def build_with_hops(now: float, given: Any) -> dict[str, Any]:
        return build(now, given) | {_HOPS: _sender.get()}

    return build_with_hops


def _counting(lambda_service: Any, sqs: Any, run_batch: Callable[..., None]) -> Callable[..., None]:
    def run_counting(
        mapping: Any, function: Any, event: Any, batch: Sequence[Any], url: str, queue: str
    ) -> None:
        """Run a batch as one hop more than its messages have behind them, or cut the chain."""
        hops = max(message.get("sys", {}).get(_HOPS, 0) for message in batch) + 1
        name = mapping["FunctionName"]
        known = lambda_service._functions.get(name) or function
        if lambda_service._recursive_loop_drop(name, known, hops) is not None:
            _bury(sqs, url, batch)
            return
        reset = lambda_service._invoke_depth.set(hops)
        try:
            run_batch(mapping, function, event, batch, url, queue)
        finally:
            lambda_service._invoke_depth.reset(reset)

    return run_counting


def _bury(sqs: Any, url: str, batch: Sequence[Any]) -> None:
    """Move messages to the dead letters of their queue, if it has any."""
    now = time.time()
    with sqs._queues_lock:
        queue = sqs._get_q(url)
        policy = json.loads(queue["attributes"].get("RedrivePolicy") or "{}")
        dead = sqs._queue_by_arn(policy.get("deadLetterTargetArn", ""))
        for message in batch:
            if dead is not None:
                letter = {**message, "receipt_handle": None, "visible_at": now}
                dead["messages"].append(letter | {"enqueued_at": now})
            queue["messages"].remove(message)


def _allowing(
    lambda_service: Any, provision: Callable[..., Any], *, properties: int
) -> Callable[..., Any]:
    """Let a template's `RecursiveLoop` count, or its absence."""

    def provision_allowing(*args: Any, **named: Any) -> Any:
        made = provision(*args, **named)
        name = made[0] if isinstance(made, tuple) else args[0]
        known = lambda_service._functions.get(name)
        if known is not None:
            known["recursive_loop"] = args[properties].get("RecursiveLoop", "Terminate")
        return made

    return provision_allowing
