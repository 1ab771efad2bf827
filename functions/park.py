"""Park the driver: keep its task token, or answer it when there is nothing to wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.app.driving.park_driver import park_driver
from onward.compose import drive, wake_driver
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Settle the token or keep it; Step Functions ignores what this returns."""
    decision = event["decision"]
    run_id, generation = str(decision["run_id"]), int(decision["generation"])
    with log(context, run_id=run_id, generation=generation):
        seconds = int(decision["seconds"])
        sleeps = park_driver(
            drive("park"),
            run_id,
            generation,
            event["token"],
            wake_driver,
            seconds,
            decision.get("lane"),
        )
        return {"sleeps": sleeps}
