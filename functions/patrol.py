"""Look after runs that stand still: by the clock, when an execution died, or when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.app.carry_out import COMMIT_MARGIN
from onward.app.patrol import look_after, patrol, run_of
from onward.compose import patrol_seconds, until, watch
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

SCHEDULED = "aws.events"
EXECUTIONS = "aws.states"


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer with how many runs were looked at and what was repaired."""
    with log(context, source=event.get("source", "asked")) as line:
        runs, source = watch(), event.get("source")
        end = until(context) - COMMIT_MARGIN
        if source == EXECUTIONS:
            run_id = run_of(event["detail"]["executionArn"])
            repairs = look_after(runs, run_id, end)
            return {"looked": 1, "repairs": {repair.value: 1 for repair in repairs}}
        now = runs.drive.clock()
        if source == SCHEDULED and not runs.due.claim_round(now, patrol_seconds()):
            return {"looked": 0, "repairs": {}}
        found = patrol(runs, end, everything=bool(event.get("everything")))
        line.append_keys(**found)
        return {"looked": found.pop("looked", 0), "repairs": dict(found)}
