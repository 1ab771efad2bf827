"""The worker dies in the middle of a step; only that attempt is lost."""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

from infra.local.drills.finding import claims
from infra.local.drills.stage import moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from infra.local.drills.finding import Finding, Watched
    from infra.local.drills.stage import Stage

NAME: Final = "kill-worker"

REPETITIONS: Final = 20
MEDIAN_SECONDS: Final = 0.5
"""From a worker's death to the next attempt, on the local stack."""

_STEP: Final = "number"


def rehearse(stage: Stage) -> Iterator[Finding]:
    """Die in a read, then in the write that is step 5: before it is sent, and after."""
    yield _read(stage)
    for kind, case in (("die_before", "write, not sent"), ("die_after_send", "write, carried out")):
        watched = stage.finish(stage.submit({_STEP: {"kind": kind}}))
        broken = claims(
            [
                (watched.attempts(_STEP) == 2, f"{_STEP} took {watched.attempts(_STEP)} attempts"),
                (_others_once(watched, _STEP), "a step that was finished ran again"),
            ]
        )
        yield stage.judge(NAME, case, watched, broken, [f"next attempt after {resumed(watched)}"])


def _read(stage: Stage) -> Finding:
    times = []
    for _ in range(3 if stage.quick else REPETITIONS):
        watched = stage.finish(stage.submit({"decide": {"kind": "die_before"}}))
        times += gaps(watched, "decide")
        if watched.run["status"] != "succeeded" or not _others_once(watched, "decide"):
            break
    broken = claims(
        [
            (watched.attempts("decide") == 2, f"decide took {watched.attempts('decide')} attempts"),
            (_others_once(watched, "decide"), "a step that was finished ran again"),
            (bool(times), "no attempt came after the one that died"),
            (
                stage.quick or not times or median(times) <= MEDIAN_SECONDS,
                f"resumed after {in_words(times)}",
            ),
        ]
    )
    note = f"next attempt after {in_words(times)}"
    return stage.judge(NAME, "read", watched, broken, [note])


def gaps(watched: Watched, step_id: str) -> list[float]:
    """Return seconds between the attempts of a step that rehearses: each says when it begins."""
    starts = [moment(event) for event in watched.of("step.progress", step_id)]
    return [later - earlier for earlier, later in pairwise(starts)]


def in_words(times: Sequence[float]) -> str:
    """Return median, count and maximum of times in seconds."""
    if not times:
        return "an unknown time"
    return f"{median(times):.2f} s ({len(times)}; {max(times):.2f} at most)"


def resumed(watched: Watched) -> str:
    """Return how long the refund's only rehearsed step was interrupted, in words."""
    found = gaps(watched, _STEP)
    return f"{found[0]:.2f} s" if found else "an unknown time"


def _others_once(watched: Watched, step_id: str) -> bool:
    return all(step["attempts"] == 1 for step in watched.run["steps"] if step["id"] != step_id)
