"""The driver's execution is aborted from outside; and an old generation starts beside the new."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from infra.local.drills.finding import claims

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infra.local.drills.finding import Finding
    from infra.local.drills.stage import Refund, Stage

NAME: Final = "dead-execution"

_SLOW: Final = {"kind": "slow", "seconds": 2.0}


def rehearse(stage: Stage) -> Iterator[Finding]:
    """Abort between a write and its commit, patrol, and let two generations meet."""
    yield _aborted(stage)
    yield _old_beside_new(stage)


def _aborted(stage: Stage) -> Finding:
    refund = stage.submit({"number": _SLOW})
    stage.follow(refund, _begun("number"))
    stage.wait(lambda: "number" in stage.outside.counts_now(refund.order_id), "the write arrives")
    stage.abort(refund.run_id)
    stage.onward.patrol()
    stage.onward.patrol()
    watched = stage.finish(refund)
    told = [event["data"].get("cause") for event in watched.of("run.resumed")]
    causes = ", ".join(cause for cause in told if cause)
    broken = claims([(watched.run["generation"] == 2, f"generation {watched.run['generation']}")])
    return stage.judge(NAME, "aborted", watched, broken, [f"resumed: {causes}"])


def _old_beside_new(stage: Stage) -> Finding:
    refund = stage.submit({"number": _SLOW, "account": _SLOW})
    stage.follow(refund, _begun("number"))
    stage.abort(refund.run_id)
    stage.onward.patrol()
    stage.follow(refund, _begun("account"))
    old = _start_again(stage, refund)
    ended = stage.wait(lambda: _ended(stage, old), "the old generation ends")
    watched = stage.finish(refund)
    broken = claims(
        [
            (ended == "SUCCEEDED", f"the old generation ended as {ended}"),
            (watched.run["generation"] == 2, f"generation {watched.run['generation']}"),
            (watched.attempts("account") == 1, "the old generation claimed a step"),
            (watched.kinds["run.started"] <= 2, f"run.started ×{watched.kinds['run.started']}"),
        ]
    )
    return stage.judge(NAME, "old beside new", watched, broken, ["the old one stopped at once"])


def _start_again(stage: Stage, refund: Refund) -> str:
    """Start generation 1 anew, under a name that is free, as a redrive by hand would."""
    answer = stage.machines.start_execution(
        stateMachineArn=stage.stack.outputs["DriverArn"],
        name=f"{refund.run_id}-1-again",
        input=json.dumps({"run_id": refund.run_id, "generation": 1}),
    )
    return str(answer["executionArn"])


def _ended(stage: Stage, execution: str) -> str | None:
    status = str(stage.machines.describe_execution(executionArn=execution)["status"])
    return None if status == "RUNNING" else status


def _begun(step: str) -> Any:
    return lambda event: (
        event["type"] == "onward.step.started" and event["data"].get("step_id") == step
    )
