"""Look after runs that stand still: by the clock, when an execution died, or when asked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from onward.app.driving.carry_out import COMMIT_MARGIN
from onward.app.patrol.look_after import look_after, patrol, run_of
from onward.compose import patrol_seconds, until, watch
from onward.metrics import Metric, count
from onward.observability import log

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_lambda_powertools import Logger
    from aws_lambda_powertools.utilities.typing import LambdaContext

SCHEDULED = "aws.events"
EXECUTIONS = "aws.states"


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer with how many runs were looked at, what was repaired, and whether there are more.

    `seconds`: for so long somebody waits for the answer. `tenant`: whose runs they asked about.
    """
    with log(context, source=event.get("source", "asked")) as line:
        runs, source = watch(), event.get("source")
        now, end = runs.drive.clock(), until(context) - COMMIT_MARGIN
        if source == EXECUTIONS:
            run_id = run_of(event["detail"]["executionArn"])
            repairs = look_after(runs, run_id, end)
            return {"looked": 1, "repairs": {repair.value: 1 for repair in repairs}}
        if source == SCHEDULED and not runs.due.claim_round(now, patrol_seconds()):
            count(Metric.PATROL_BEATS)
            return {"looked": 0, "repairs": {}}
        end = min(end, now + event.get("seconds", math.inf))
        everything, tenant = bool(event.get("everything")), event.get("tenant")
        found = patrol(runs, end, _teller(line), everything=everything, tenant=tenant)
        line.append_keys(**found)
        count(Metric.PATROL_BEATS)
        looked, more = found.pop("looked", 0), bool(found.pop("more", 0))
        return {"looked": looked, "repairs": dict(found), "more": more}


def _teller(line: Logger) -> Callable[[str, Exception], object]:
    """Return what logs a run that could not be looked at, on a line of its own."""
    return lambda run_id, error: line.error("look failed", exc_info=error, run_id=run_id)
