"""Hundreds of refunds while everything breaks: `python -m infra.local.chaos --runs 500`.

Workers of every function are killed and frozen at random, tables are busy and functions refused
for seconds, executions are stopped, refunds ask for faults of their own, replies get lost, writes
land late, and the whole emulator is restarted. In the end nothing may
be lost, stuck, or carried out twice.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from onward.client import Onward

from infra.local import stack
from infra.local.deploy import client
from infra.local.drills.finding import faults_of
from infra.local.drills.havoc import Havoc, faults
from infra.local.drills.outside import outside
from infra.local.drills.stage import Stage
from infra.local.emulator import free_port

if TYPE_CHECKING:
    from infra.local.drills.finding import Watched
    from infra.local.drills.stage import Refund

AT_ONCE: Final = 8
PAUSE: Final = 0.7
"""Seconds between a client's questions."""

RESTARTS: Final = (0.1, 0.25, 0.4, 0.55)
"""When the emulator is restarted, in parts of all runs."""

IN_PASSING: Final = 60.0
"""Seconds a run is followed before others come first; it is followed to its end later."""

STUCK: Final = 1_200.0
"""Seconds after the last submission: far longer than the time-out of a function that may still be
sending a payment, after which its receiver is asked."""

_ENDED: Final = frozenset({"succeeded", "failed", "cancelled"})


@dataclass
class Round:
    """Everything that was submitted in one round of chaos."""

    stage: Stage
    seed: int
    until: float
    asked: Counter[str] = field(default_factory=Counter)
    later: list[Refund] = field(default_factory=list)
    ended: list[Watched] = field(default_factory=list)

    def one(self, number: int) -> None:
        """Submit a refund with its faults and follow it for a while; not when the time is up."""
        if time.monotonic() > self.until:
            return
        told = faults(random.Random(f"{self.seed}/{number}"))  # noqa: S311 - to be repeatable
        self.asked.update(str(fault["kind"]) for fault in told.values())
        refund = self.stage.submit(told)
        self._keep(refund, self.stage.finish(refund, IN_PASSING))

    def rest(self) -> list[Watched]:
        """Follow to its end what did not end in passing; return what is stuck."""
        deadline = time.monotonic() + STUCK
        if self.later:
            print(f"{len(self.later)} runs wait until a write that may still be sent cannot be")
        for refund in list(self.later):
            watched = self.stage.finish(refund, max(1.0, deadline - time.monotonic()))
            if watched.run["status"] in _ENDED:
                self.later.remove(refund)
                self.ended.append(watched)
        return [self.stage.watched(refund) for refund in self.later]

    def _keep(self, refund: Refund, watched: Watched) -> None:
        if watched.run["status"] in _ENDED:
            self.ended.append(watched)
        else:
            self.later.append(refund)


def main() -> None:
    """Bring a stack of its own up, break it, count, and exit 1 if a guarantee did not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--minutes", type=float, default=60, help="submit for so long at most")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else secrets.randbelow(10**6)
    state = Path(tempfile.mkdtemp(prefix="onward-chaos-"))
    print(f"seed {seed}, {options.runs} runs, state and ledger in {state}", flush=True)
    up = stack.up(free_port(), state, drills=True)
    try:
        with Onward(up.api_url, up.api_key) as onward, outside(state / "ledger.jsonl") as receiver:
            until = time.monotonic() + 60 * options.minutes
            chaos = Round(Stage(up, onward, receiver, pause=PAUSE), seed, until)
            held = _break(chaos, options.runs)
    finally:
        stack.down(state)
    sys.exit(0 if held else 1)


def _break(chaos: Round, runs: int) -> bool:
    began = time.monotonic()
    havoc = Havoc(
        state=chaos.stage.state,
        dice=random.Random(chaos.seed),  # noqa: S311 - to be repeatable
        ended=lambda: len(chaos.ended),
        restart_at=[int(part * runs) for part in RESTARTS],
        outages=0.15,
        aborts=0.05,
    )
    with havoc, ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(chaos.one, range(runs)))
    print(f"all submitted runs followed for {time.monotonic() - began:.0f} s", flush=True)
    stuck = chaos.rest()
    broken = [f"{watched.run['run_id']} is {watched.run['status']}" for watched in stuck]
    for watched in chaos.ended:
        effects = chaos.stage.outside.effects(watched.order_id)
        broken += [f"{watched.run['run_id']}: {text}" for text in faults_of(watched, effects)]
    if len(chaos.ended) + len(stuck) < runs:
        print(f"the time was up before all {runs} runs were submitted")
    _report(chaos, havoc, stuck, time.monotonic() - began)
    print("\n".join(broken))
    print("broken" if broken else "held")
    return not broken


def _report(chaos: Round, havoc: Havoc, stuck: list[Watched], seconds: float) -> None:
    """Print the counts; lost is what did not succeed, double what the outside saw twice."""
    ledger = chaos.stage.outside.everything()
    counts = [lines.get("effect", 0) for order in ledger.values() for lines in order.values()]
    lost = sum(watched.run["status"] != "succeeded" for watched in chaos.ended)
    print(f"runs {len(chaos.ended) + len(stuck)}, lost {lost}, stuck {len(stuck)}")
    print(f"effects {sum(counts)}, double {sum(count > 1 for count in counts)}")
    print(f"{seconds:.0f} s; {_words(havoc.done)}; faults asked for: {_words(chaos.asked)}")
    times = _resumed(chaos.stage)
    if times:
        print(
            f"interruptions {len(times)}: resumed after {median(times):.2f} s (median),"
            f" {max(times):.2f} s at worst"
        )
    for row in chaos.stage.onward.recovery(1)["causes"]:
        print(
            f"  {row['cause']:24} ×{row['count']:<5} median {row['resume_median_seconds']:8.2f} s,"
            f" worst {row['resume_max_seconds']:8.2f} s, tokens saved {row['tokens_saved']}"
        )


def _resumed(stage: Stage) -> list[float]:
    """Return how long each interruption of the round lasted, in seconds."""
    pages = (
        client("dynamodb", stage.stack)
        .get_paginator("scan")
        .paginate(
            TableName=stage.stack.outputs["RunsTable"],
            FilterExpression="begins_with(pk, :incident)",
            ExpressionAttributeValues={":incident": {"S": "INCIDENT#"}},
        )
    )
    return [float(next(iter(row["seconds"].values()))) for page in pages for row in page["Items"]]


def _words(counts: Counter[str]) -> str:
    return ", ".join(f"{what} {count}" for what, count in sorted(counts.items())) or "nothing"


if __name__ == "__main__":
    main()
