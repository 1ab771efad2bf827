"""Bring sockets up to date: the only function that sends them events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from onward.app.carry_out import COMMIT_MARGIN
from onward.app.push_events import push_events
from onward.compose import live_queue, until
from onward.compose_live import live
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

AGAIN_SECONDS = 2


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Serve each run of a batch once; report the wake-ups of runs that are not up to date."""
    woken: dict[str, list[dict[str, Any]]] = {}
    for record in event["Records"]:
        woken.setdefault(json.loads(record["body"])["run_id"], []).append(record)
    end = until(context) - COMMIT_MARGIN
    failures: list[dict[str, Any]] = []
    for run_id, records in woken.items():
        with log(context, run_id=run_id, wake_ups=len(records)) as line:
            try:
                line.append_keys(subscribers=push_events(live(), run_id, end))
            except Exception:  # noqa: BLE001 - redelivered, and kept in the DLQ in the end
                line.exception("push failed")
                failures += records
    for record in failures:
        # Its group waits for it, by default as long as six times the time-out.
        live_queue("push_events").show_again(record["receiptHandle"], AGAIN_SECONDS)
    return {"batchItemFailures": [{"itemIdentifier": r["messageId"]} for r in failures]}
