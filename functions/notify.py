"""Deliver from the queues of wake-ups, the quick and the slow lane, one message an invocation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from onward.app.deliver import bury, deliver, read_wake_up
from onward.compose import until
from onward.compose_notify import is_slow, lane, sender, status_of
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Bring one endpoint up to date with one run, or let the message come again when it is time.

    Its group is held back meanwhile, so nothing overtakes it. After its last try the queue puts
    it among the dead letters, which ring. Invoked with `ask`, it asks an endpoint how far it is.
    """
    if "ask" in event:
        with log(context, endpoint_id=event["ask"]["endpoint_id"]):
            return status_of(event["ask"])
    (record,) = event["Records"]
    body = json.loads(record["body"])
    receives = int(record["attributes"]["ApproximateReceiveCount"])
    wake = read_wake_up(body, receives, slow=is_slow(record["eventSourceARN"]))
    ids = {"run_id": wake.run_id, "endpoint_id": wake.endpoint_id, "slow": wake.slow}
    with log(context, **ids, receives=receives) as line:
        try:
            wait = deliver(sender(), wake, until(context))
        except Exception:  # noqa: BLE001 - tried again, and kept in the DLQ in the end
            line.exception("delivery failed")
            wait = 0.0 if wake.last else 2.0
            if wake.last:
                bury(sender(), wake)
        if wait is None:
            return {"batchItemFailures": []}
        line.append_keys(again_after=wait)
        lane(slow=wake.slow).show_again(record["receiptHandle"], wait)
        return {"batchItemFailures": [{"itemIdentifier": record["messageId"]}]}
