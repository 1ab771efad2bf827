"""Bring sockets up to date: the only function that sends them events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from onward.app.carry_out import COMMIT_MARGIN
from onward.app.push_events import MAX_RECEIVES, push_events
from onward.compose import live_queue, until
from onward.compose_live import live
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

AGAIN_SECONDS = 2


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Serve one run, or let its wake-up come again; other runs have invocations of their own."""
    (record,) = event["Records"]
    body = json.loads(record["body"])
    run_id, after = body["run_id"], body.get("after")
    receives = int(record["attributes"]["ApproximateReceiveCount"])
    end, last = until(context) - COMMIT_MARGIN, receives >= MAX_RECEIVES
    with log(context, run_id=run_id, receives=receives) as line:
        try:
            count = push_events(live(), run_id, end, last=last, after=after)
        except Exception:  # noqa: BLE001 - tried again, and kept in the DLQ in the end
            line.exception("push failed")
            # Its group waits for it, by default as long as six times the time-out.
            live_queue("push_events").show_again(record["receiptHandle"], AGAIN_SECONDS)
            return {"batchItemFailures": [{"itemIdentifier": record["messageId"]}]}
        line.append_keys(subscribers=count)
        return {"batchItemFailures": []}
