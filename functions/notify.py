"""Deliver from the queues of wake-ups, the quick and the slow lane, one message an invocation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from onward.app.delivering.deliver import deliver, read_wake_up
from onward.app.delivering.prove_endpoint import prove_endpoint
from onward.compose import until
from onward.compose_notify import is_slow, lane, sender, status_of
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

AGAIN_SECONDS = 2.0
"""After which a message comes again that failed for a reason of our own."""


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Bring one endpoint up to date with one run, or let the message come again when it is time.

    Its group is held back meanwhile, so nothing overtakes it. Or ask an endpoint whether it wants
    webhooks at all. Invoked with `ask`, it asks an endpoint how far it is.
    """
    if "ask" in event:
        with log(context, endpoint_id=event["ask"]["endpoint_id"]):
            return status_of(event["ask"])
    (record,) = event["Records"]
    body, slow = json.loads(record["body"]), is_slow(record["eventSourceARN"])
    receives = int(record["attributes"]["ApproximateReceiveCount"])
    ids = {"run_id": body.get("run_id"), "endpoint_id": body["endpoint_id"], "slow": slow}
    with log(context, **ids, receives=receives) as line:
        wait: float | None
        try:
            if body.get("prove"):
                line.append_keys(
                    agreed=prove_endpoint(sender(), body["tenant"], body["endpoint_id"])
                )
                wait = None
            else:
                wake = read_wake_up(body, receives, record["messageId"], slow=slow)
                wait = deliver(sender(), wake, until(context))
        except Exception:  # noqa: BLE001 - tried again, and kept in the DLQ in the end
            line.exception("delivery failed")
            wait = AGAIN_SECONDS
        if wait is None:
            return {"batchItemFailures": []}
        line.append_keys(again_after=wait)
        lane(slow=slow).show_again(record["receiptHandle"], wait)
        return {"batchItemFailures": [{"itemIdentifier": record["messageId"]}]}
