"""Wake the queues for what the log says; the log is the outbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onward.aws.queues import Queue

RUN_PREFIX = "RUN#"


def publish_outbox(records: Iterable[dict[str, Any]], start: Queue) -> str | None:
    """Send what stream records ask for, in their order; return where it stopped, if it did.

    The first record that cannot be sent is reported and nothing after it is tried: a later
    record must not overtake it (powertools-lambda-python#2850 goes on and sends twice).
    """
    for record in records:
        try:
            body = start_message(record["dynamodb"]["NewImage"])
            if body is not None:
                start.send([body])
        except Exception:  # noqa: BLE001 - reported to the stream, which tries again
            return str(record["dynamodb"]["SequenceNumber"])
    return None


def start_message(image: dict[str, Any]) -> dict[str, Any] | None:
    """Return the message that starts an execution; None for events that do not ask for one."""
    if "start" not in image:
        return None
    return {
        "run_id": image["pk"]["S"].removeprefix(RUN_PREFIX),
        "generation": int(image["start"]["N"]),
    }
