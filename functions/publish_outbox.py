"""Wake the queues from the table's stream."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from onward.app.publish_outbox import publish_outbox
from onward.aws.clients import client
from onward.aws.queues import Queue
from onward.observability import log
from onward.settings import settings

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@cache
def start_queue() -> Queue:
    """Return the queue that start_run reads."""
    return Queue(client("sqs"), settings("publish_outbox").start_queue_url)


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Publish a batch; the stream tries again from the record that is reported."""
    with log(context, records=len(event["Records"])) as line:
        stopped_at = publish_outbox(event["Records"], start_queue())
        if stopped_at is None:
            return {"batchItemFailures": []}
        line.warning("stopped", sequence_number=stopped_at)
        return {"batchItemFailures": [{"itemIdentifier": stopped_at}]}
