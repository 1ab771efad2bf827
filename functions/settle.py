"""Decide for the driver's main lane, or for a Map's parked one, what is next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.app.driving.carry_out import COMMIT_MARGIN
from onward.app.driving.settle_run import settle_run
from onward.compose import drive, until
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer the driver with its next move."""
    run_id, generation = str(event["run_id"]), int(event["generation"])
    with log(context, run_id=run_id, generation=generation):
        return settle_run(
            drive("settle"),
            run_id,
            generation,
            until(context) - COMMIT_MARGIN,
            begin=bool(event.get("begin")),
            lane=event.get("lane"),
        ).to_json()
