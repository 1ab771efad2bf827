"""A run ends, and every wake-up that would have told of it is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from infra.local.drills.finding import claims
from infra.local.drills.hooks import ENDS, heard, listening, nobody_delivers, strange, synced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infra.local.drills.finding import Finding
    from infra.local.drills.stage import Stage

NAME: Final = "silent-loss"


def rehearse(stage: Stage) -> Iterator[Finding]:
    """Lose the stream's wake-ups and the second trigger's; the snapshot knows, the patrol mends."""
    with listening(stage) as subscriber:
        with nobody_delivers(stage):
            refund = stage.submit()
            stage.finish(refund)
        before = stage.onward.get(refund.run_id)
        silent = not subscriber.arrivals
        stage.onward.patrol()
        stage.wait(lambda: synced(stage, refund), "the end is heard")
        watched = stage.watched(refund)
        told = heard(subscriber, refund)
        broken = claims(
            [
                (silent, "nothing was lost: the drill shows nothing"),
                (before["sync_status"] == "pending", f"the snapshot said {before['sync_status']}"),
                (watched.run["sync_status"] == "synced", "the snapshot does not say synced"),
                (tuple(told) == ENDS, f"the receiver heard {told}"),
            ]
        )
        notes = [f"pending, then patrol; the receiver heard {', '.join(told)}"]
        yield stage.judge(NAME, "", watched, [*broken, *strange(subscriber)], notes)
