"""Recover a lost attempt: invoked by the driver's Catch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.app.driving.carry_out import COMMIT_MARGIN
from onward.app.driving.recover_step import recover_step
from onward.compose import drive, until
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer the driver with its next move."""
    with log(context, run_id=event["run_id"], step_id=event["step_id"], fence=event["fence"]):
        return recover_step(drive("recover"), event, until(context) - COMMIT_MARGIN).to_json()
