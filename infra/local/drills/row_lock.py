"""Step 9 fails twice with a lock time-out, then succeeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from infra.local.drills.finding import claims

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infra.local.drills.finding import Finding
    from infra.local.drills.stage import Stage

NAME: Final = "row-lock"


def rehearse(stage: Stage) -> Iterator[Finding]:
    """Refusals are retried after a pause; what the same input cannot mend is tried once."""
    for kind in ("row_lock", "rate_limit"):
        watched = stage.finish(stage.submit({"account": {"kind": kind, "times": 2}}))
        refused = stage.outside.counts(watched.order_id).get("account", {}).get("refused", 0)
        broken = claims(
            [
                (refused == 2, f"the receiver refused {refused} times, not twice"),
                (watched.attempts("account") == 3, f"{watched.attempts('account')} attempts"),
                (watched.kinds["step.retrying"] == 2, "the log does not show two retries"),
            ]
        )
        yield stage.judge(NAME, kind, watched, broken, ["refused twice, carried out once"])
    for kind in ("invalid", "permission"):
        yield _once(stage, kind)


def _once(stage: Stage, kind: str) -> Finding:
    """An error that a retry cannot help fails the run at once, before anything is written."""
    from infra.local.drills.finding import Finding

    watched = stage.finish(stage.submit({"number": {"kind": kind}}))
    effects = sum(stage.outside.effects(watched.order_id).values())
    broken = claims(
        [
            (watched.run["status"] == "failed", f"the run is {watched.run['status']}"),
            (watched.attempts("number") == 1, f"{watched.attempts('number')} attempts"),
            (effects == 0, f"{effects} effects"),
        ]
    )
    status = watched.run["status"]
    return Finding(NAME, kind, status, effects, watched.seen, tuple(broken), ("tried once",))
