"""Run code that nobody has read; the role of this function may write its log and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.app.driving.run_code import run_code
from onward.compose import cell
from onward.metrics import Metric, count
from onward.observability import log

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer with the value or the fault; the log says which lock held, and nothing of the code."""
    with log(context) as line:
        verdict = run_code(cell(), event)
        if not cell().filtered:
            count(Metric.SANDBOX_UNFILTERED)
        line.append_keys(
            fault=verdict.fault.kind if verdict.fault else None,
            seconds=verdict.seconds,
            kernel_filter=cell().filtered,
        )
        return verdict.to_json()
