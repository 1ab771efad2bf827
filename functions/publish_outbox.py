"""Wake the queues from the table's stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.app.delivering.publish_outbox import publish_outbox
from onward.compose_notify import outlets
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Publish a batch; the stream tries again from the record that is reported."""
    with log(context, records=len(event["Records"])) as line:
        stopped_at = publish_outbox(event["Records"], outlets())
        if stopped_at is None:
            return {"batchItemFailures": []}
        line.warning("stopped", sequence_number=stopped_at)
        return {"batchItemFailures": [{"itemIdentifier": stopped_at}]}
