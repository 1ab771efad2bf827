"""The model call hangs past the step's time-out, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from infra.local.drills.finding import claims
from infra.local.drills.kill_worker import gaps, in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infra.local.drills.finding import Finding
    from infra.local.drills.stage import Stage

NAME: Final = "gateway-timeout"


def rehearse(stage: Stage) -> Iterator[Finding]:
    """The hung attempt ends itself soon after its deadline; the next one answers."""
    watched = stage.finish(stage.submit({"decide": {"kind": "hang"}}))
    found = gaps(watched, "decide")
    broken = claims(
        [
            (watched.attempts("decide") == 2, f"{watched.attempts('decide')} attempts"),
            (watched.kinds["step.taken_over"] == 1, "nobody took the hung attempt over"),
            (len(found) == 1, f"{len(found)} attempts came after the one that hung"),
        ]
    )
    yield stage.judge(
        NAME, "", watched, broken, [f"anew after {in_words(found)}, of which it was allowed 8"]
    )
