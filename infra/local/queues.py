"""What the emulator's queues do unlike AWS where deliveries depend on it.

As released a FIFO queue has one invocation in flight, whatever its groups, so that one receiver
that hangs holds up all others. And a message that is sent while the emulator deletes another one,
or looks for dead letters, is lost: it works on a copy of the list and puts that back.
"""

# ruff: noqa: SLF001 - patching private parts is what this module is for

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def apply(lambda_service: Any, sqs: Any) -> None:
    """Patch the emulator's services."""
    lambda_service._sqs_esm_concurrency = _by_group(lambda_service._sqs_esm_concurrency)
    sqs._delete_messages_for_esm = _deleting(sqs)
    sqs._dlq_sweep = _sweeping(sqs)


def _by_group(concurrency: Callable[..., int]) -> Callable[..., int]:
    """Let messages of a FIFO queue be handled at once where each is a batch of its own.

    The queue itself keeps back a group of which one is in flight.
    """

    def of_mapping(esm: Any, function: Any, config: Any, queue: Any = None) -> int:
        alone = queue and queue.get("is_fifo") and esm.get("BatchSize") == 1
        return concurrency(esm, function, config, None if alone else queue)

    return of_mapping


def _deleting(sqs: Any) -> Callable[[str, set[str]], None]:
    def delete(url: str, handles: set[str]) -> None:
        with sqs._queues_lock:
            messages = sqs._get_q(url)["messages"]
            for message in [m for m in list(messages) if m.get("receipt_handle") in handles]:
                messages.remove(message)

    return delete


def _sweeping(sqs: Any) -> Callable[[dict[str, Any]], None]:
    def sweep(queue: dict[str, Any]) -> None:
        """Move what was received as often as it may be and is visible again."""
        policy = json.loads(queue["attributes"].get("RedrivePolicy") or "{}")
        dead = sqs._queue_by_arn(policy.get("deadLetterTargetArn", ""))
        if dead is None:
            return
        most, now = int(policy["maxReceiveCount"]), time.time()
        for message in list(queue["messages"]):
            if message["receive_count"] < most or message["visible_at"] > now:
                continue
            source = {"DeadLetterQueueSourceArn": queue["attributes"].get("QueueArn", "")}
            letter = {**message, "receipt_handle": None, "visible_at": now}
            letter["sys"] = source | message.get("sys", {})
            if dead.get("is_fifo"):
                letter["enqueued_at"] = now
            dead["messages"].append(letter)
            queue["messages"].remove(message)

    return sweep
