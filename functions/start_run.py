"""Start executions of the driver from the start queue."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from onward.app.carry_out import COMMIT_MARGIN
from onward.app.start_run import start_run
from onward.compose import drive, engine, until
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Start each message's generation; report those that could not be started."""
    failures = []
    for record in event["Records"]:
        body = json.loads(record["body"])
        with log(context, run_id=body["run_id"], generation=body["generation"]) as line:
            try:
                end = until(context) - COMMIT_MARGIN
                start_run(
                    drive("start_run"), engine("start_run"), body["run_id"], body["generation"], end
                )
            except Exception:  # noqa: BLE001 - redelivered, and kept in the DLQ in the end
                line.exception("start failed")
                failures.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failures}
