"""Run one attempt at a step: invoked by the driver at a pinned version."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from onward.app.execute_step import Attempt, Worker, execute_step
from onward.aws.clients import client
from onward.compose import drive, end_process, until
from onward.observability import log
from onward.settings import settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig
    from aws_lambda_powertools.utilities.typing import LambdaContext
    from onward.sdk.context import Log

NAME = "execute_step"
DAY = 86_400


@cache
def once() -> tuple[IdempotencyConfig, Callable[..., dict[str, Any]]]:
    """Return the use case, idempotent per attempt: a repeated invocation replays its answer.

    Powertools brings boto3 along, two thirds of the cold import, so it stands here.
    """
    from aws_lambda_powertools.utilities.idempotency import (
        DynamoDBPersistenceLayer,
        IdempotencyConfig,
        idempotent_function,
    )

    config = IdempotencyConfig(
        event_key_jmespath="key", raise_on_no_idempotency_key=True, expires_after_seconds=DAY
    )
    layer = DynamoDBPersistenceLayer(
        table_name=settings(NAME).idempotency_table, boto3_client=client("dynamodb")
    )
    wrapped = idempotent_function(
        run_once,
        data_keyword_argument="attempt",
        config=config,
        persistence_store=layer,
        key_prefix=NAME,
    )
    return config, wrapped


def run_once(*, attempt: dict[str, Any], worker: Worker) -> dict[str, Any]:
    """Run the attempt; the decision is never empty, so a replay is never mistaken for none."""
    return execute_step(worker, Attempt.of(attempt["decision"])).to_json()


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer the driver with its next move."""
    config, run_idempotently = once()
    config.register_lambda_context(context)
    run_id, step_id, fence = event["run_id"], event["step_id"], event["fence"]
    with log(context, run_id=run_id, step_id=step_id, fence=fence) as line:
        worker = Worker(
            drive(NAME), cast("Log", line), context.aws_request_id, until(context), end_process
        )
        attempt = {"key": f"{run_id}/{step_id}/{fence}", "decision": event}
        return run_idempotently(attempt=attempt, worker=worker)
