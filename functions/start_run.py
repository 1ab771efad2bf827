"""Start executions of the driver from the start queue."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from onward.app.driving.carry_out import COMMIT_MARGIN
from onward.app.submitting.start_run import take_message
from onward.compose import starter, until
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Start what each message asks for; report those that could not be started."""
    failures = []
    for record in event["Records"]:
        body = json.loads(record["body"])
        with log(context, **body) as line:
            try:
                take_message(starter(), body, until(context) - COMMIT_MARGIN)
            except Exception:  # noqa: BLE001 - redelivered, and kept in the DLQ in the end
                line.exception("start failed")
                failures.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failures}
