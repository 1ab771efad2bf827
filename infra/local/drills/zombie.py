"""A frozen worker wakes after its attempt was taken over, and goes on as if nothing had been."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from infra.local import workers
from infra.local.drills.finding import claims

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infra.local.drills.finding import Finding
    from infra.local.drills.stage import Stage

NAME: Final = "zombie"

_CASES: Final = (
    ("commits a result", "decide", ""),
    ("sends under an old fence", "release", "rejected"),
    ("sends under the same key", "number", "repeat"),
)
"""What the zombie tries in which step, and what the receiver makes of it."""


def rehearse(stage: Stage) -> Iterator[Finding]:
    """Its driver is aborted, so that the takeover comes while its own time is not yet up."""
    for case, step, answer in _CASES:
        yield _wake(stage, case, step, answer)
    if not stage.quick:
        yield _overdue(stage)


def _wake(stage: Stage, case: str, step: str, answer: str) -> Finding:
    refund = stage.submit_freezing(step)
    zombie = stage.frozen_worker()
    stage.abort(refund.run_id)
    stage.onward.patrol()
    before = stage.finish(refund)
    woke = workers.wake(zombie)
    if answer:
        stage.wait(
            lambda: stage.outside.counts(refund.order_id).get(step, {}).get(answer),
            "the zombie's request arrives",
        )
    # It answers the aborted invocation, or ends itself at its deadline: then it has tried.
    stage.wait(lambda: _idle(stage, zombie), "the zombie ends its attempt")
    after = stage.watched(refund)
    broken = claims(
        [
            (woke, "the frozen worker was gone before it could wake"),
            (before.run["as_of_seq"] == after.run["as_of_seq"], "the zombie moved the run"),
            (before.run["result"] == after.run["result"], "the zombie changed the result"),
            (after.attempts(step) == 2, f"{step} took {after.attempts(step)} attempts"),
            (after.run["generation"] == 2, f"generation {after.run['generation']}"),
        ]
    )
    note = "the receiver and the run refused it" if answer == "rejected" else "the run refused it"
    return stage.judge(NAME, case, after, broken, [note])


def _overdue(stage: Stage) -> Finding:
    """Nobody helps: the task's time-out takes over what is frozen, 10 s past its deadline."""
    refund = stage.submit_freezing("decide")
    zombie = stage.frozen_worker()
    before = stage.finish(refund)
    workers.wake(zombie)
    # Its own watch ends it, unless it gets to the end of its attempt first, and is refused.
    stage.wait(lambda: _idle(stage, zombie), "the zombie ends its attempt")
    after = stage.watched(refund)
    same = before.run["as_of_seq"] == after.run["as_of_seq"]
    broken = claims(
        [
            (same, "the zombie moved the run"),
            (after.attempts("decide") == 2, f"{after.attempts('decide')} attempts"),
            (after.kinds["step.taken_over"] == 1, "not taken over"),
        ]
    )
    return stage.judge(
        NAME, "outlives its time-out", after, broken, ["what it did on waking changed nothing"]
    )


def _idle(stage: Stage, process: int) -> bool:
    """Whether a worker is gone, or sleeps with nothing to do: it waits for its next invocation."""
    return process not in stage.workers() or workers.idle(process)
