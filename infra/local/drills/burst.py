"""Fifty runs, as many at once as two processors carry, while workers die at random."""

from __future__ import annotations

import random
import secrets
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from infra.local.drills.finding import Finding, faults_of
from infra.local.drills.havoc import Havoc
from infra.local.drills.outside import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infra.local.drills.finding import Watched
    from infra.local.drills.stage import Stage

NAME: Final = "burst"

RUNS: Final = 50
QUICK_RUNS: Final = 12
AT_ONCE: Final = 8
SECONDS: Final = 300.0


def rehearse(stage: Stage) -> Iterator[Finding]:
    """Submit one after the other and kill a worker about as often as a run ends."""
    seed = secrets.randbelow(10**6)
    ended: list[Watched] = []
    havoc = Havoc(
        state=stage.state,
        dice=random.Random(seed),  # noqa: S311 - to be repeatable
        ended=lambda: len(ended),
        target=stage.stack.outputs["ExecuteStepFunction"],
        kills=1.0,
    )
    with havoc, ThreadPoolExecutor(AT_ONCE) as pool:
        count = QUICK_RUNS if stage.quick else RUNS
        list(pool.map(lambda _: ended.append(stage.finish(stage.submit(), SECONDS)), range(count)))
    yield _judge(stage, ended, havoc.done["kills"], seed)


def _judge(stage: Stage, ended: list[Watched], deaths: int, seed: int) -> Finding:
    statuses = Counter(watched.run["status"] for watched in ended)
    total, broken = 0, []
    for watched in ended:
        effects = stage.outside.effects(watched.order_id)
        total += sum(effects.values())
        broken += [f"{watched.run['run_id']}: {text}" for text in faults_of(watched, effects)]
    taken = sum(watched.kinds["step.taken_over"] for watched in ended)
    return Finding(
        drill=NAME,
        case=f"{len(ended)} runs",
        status=", ".join(f"{status} ×{count}" for status, count in statuses.items()),
        effects=total,
        seen=f"{sum(len(watched.events) for watched in ended)} events, step.taken_over ×{taken}",
        broken=(*broken, *((f"seed {seed}",) if broken else ())),
        notes=(
            f"{deaths} workers killed, {total} of {len(ended) * len(ACTIONS)} effects, seed {seed}",
        ),
    )
