"""Bring sockets up to date: the only function that sends them events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from onward.app.driving.carry_out import COMMIT_MARGIN
from onward.app.live.close_sockets import close_sockets
from onward.app.live.push_events import push_events
from onward.compose import live_queue, until
from onward.compose_live import clock, key_sockets, live, sockets
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

NAME = "push_events"
AGAIN_SECONDS = 2
HELD_SECONDS = 5
"""How long the sockets of a run wait at most when the process that pushes to them dies."""


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Serve one run, or close a key's sockets; what fails comes again.

    Other runs and keys have invocations of their own.
    """
    (record,) = event["Records"]
    body = json.loads(record["body"])
    receives = int(record["attributes"]["ApproximateReceiveCount"])
    end, queue, handle = until(context) - COMMIT_MARGIN, live_queue(NAME), record["receiptHandle"]
    about = {name: body[name] for name in ("run_id", "key_id") if name in body}
    with log(context, **about, receives=receives) as line:
        try:
            if "key_id" in body:
                line.append_keys(closed=_close(body["tenant"], body["key_id"]))
            else:
                run_id, after, hops = body["run_id"], body.get("after"), body.get("hops", 0)
                with queue.held(handle, HELD_SECONDS):
                    count = push_events(live(), run_id, end, after=after, hops=hops)
                line.append_keys(subscribers=count)
        except Exception:  # noqa: BLE001 - tried again, and kept in the DLQ in the end
            line.exception("push failed")
            queue.show_again(handle, AGAIN_SECONDS)
            return {"batchItemFailures": [{"itemIdentifier": record["messageId"]}]}
        return {"batchItemFailures": []}


def _close(tenant: str, key_id: str) -> int:
    """Close the sockets of a key that was revoked."""
    return close_sockets(key_sockets(NAME), sockets(NAME).hang_up, tenant, key_id, clock())
