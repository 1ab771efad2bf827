"""Run one attempt at a step: invoked by the driver at a pinned version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from onward.app.driving.execute_once import execute_once
from onward.app.driving.execute_step import Attempt, Worker
from onward.app.driving.look_again import Look, look_again
from onward.compose import (
    allows_drills,
    attempts,
    drive,
    end_process,
    models,
    sandbox,
    tools,
    until,
    wake_driver,
)
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext
    from onward.sdk.context import Log


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer the driver with its next move; a repeated invocation gets the first one's answer.

    The answer is never empty, so that a replay is never mistaken for none. With `look` the patrol
    has a write looked at once more, which is no attempt and may be repeated.
    """
    once = attempts()
    once.begin(context)
    run_id, step_id, fence = event["run_id"], event["step_id"], event.get("fence")
    with log(context, run_id=run_id, step_id=step_id, fence=fence) as line:
        worker = Worker(
            drive=drive("execute_step"),
            log=cast("Log", line),
            request_id=context.aws_request_id,
            until=until(context),
            end_process=end_process,
            tools=tools,
            models=models(),
            drills=allows_drills(),
            sandbox=sandbox(),
            wake=wake_driver,
        )
        if event.get("look"):
            return {"look": look_again(worker, Look.of(event))}
        return execute_once(worker, once, Attempt.of(event))
