"""Somebody who kills, freezes and restarts at random; and refunds that ask for faults."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from botocore.exceptions import BotoCoreError, ClientError

from infra.local import workers
from infra.local.deploy import client
from infra.local.outages import STARTS, TABLES, announce
from infra.local.stack import down, status, up

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

_READS: Final = ("order", "stock", "document", "decide")
_WRITES: Final = ("number", "release", "book", "notify", "account", "close")
_ANYWHERE: Final = ("die_before", "row_lock", "rate_limit")
_SENT: Final = ("die_after_send", "lost_reply", "late_landing", "slow")
ANY_FUNCTION: Final = "_worker.py"
"""What the command line of every worker ends with, whichever function it runs."""

FAULTY: Final = 0.12
"""How probably a step asks for a fault: more than one in a refund."""

LATEST: Final = 1.0
"""Seconds that a write lands late: less than the tools say it takes everything to settle."""

_TICKS: Final = (0.1, 0.3)
_PATIENCE: Final = 5.0
"""Seconds between strikes while no run ends. Starting a worker anew takes a busy machine seconds:
a killer who is faster than that stops everything, and shows nothing."""

_SLEEPS: Final = (0.5, 4.0)
_OUTAGES: Final = (1.0, 6.0)
"""Seconds; while they last nothing else strikes the same table or function."""


def faults(dice: random.Random) -> dict[str, dict[str, Any]]:
    """Return faults for one refund, by step.

    `book` does not freeze: whoever may still wake and send is waited for until its function's
    time-out, a quarter of an hour, before its receiver is asked.
    """
    chosen = {}
    for step in (*_READS, *_WRITES):
        kinds = (
            _ANYWHERE + (() if step in _READS else _SENT) + (() if step == "book" else ("freeze",))
        )
        if dice.random() < FAULTY:
            seconds = round(dice.uniform(0.1, LATEST), 2)
            kind, times = dice.choice(kinds), dice.choice((1, 1, 2))
            chosen[step] = {"kind": kind, "times": times, "seconds": seconds}
    return chosen


@dataclass
class Havoc:
    """Breaks a stack until told to stop, about once a run.

    `restart_at` says after how many ended runs to restart the emulator, `target` which function's
    workers are struck, and `kills` which part of the strikes at workers kill; the others freeze.
    `outages` and `aborts` are the parts that strike at no worker: tables are busy or functions
    refused for some seconds, or an execution of the driver is stopped.
    """

    state: Path
    dice: random.Random
    ended: Callable[[], int]
    restart_at: list[int] = field(default_factory=list)
    target: str = ANY_FUNCTION
    kills: float = 0.75
    outages: float = 0.0
    aborts: float = 0.0
    done: Counter[str] = field(default_factory=Counter)
    _over: threading.Event = field(default_factory=threading.Event)
    _asleep: dict[int, float] = field(default_factory=dict)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Begin."""
        self._thread = threading.Thread(target=self._rage)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and wake whoever is still frozen."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        for process in workers.frozen(self.state, ANY_FUNCTION):
            workers.wake(process)

    def _rage(self) -> None:
        struck, last = 0, time.monotonic()
        while not self._over.wait(self.dice.uniform(*_TICKS)):
            self._wake()
            ended = self.ended()
            if self.restart_at and ended >= self.restart_at[0]:
                self.restart_at.pop(0)
                self._restart()
            elif struck < ended or time.monotonic() > last + _PATIENCE:
                struck, last = struck + 1, time.monotonic()
                self._strike()

    def _restart(self) -> None:
        down(self.state)
        up(None, self.state)
        self._asleep.clear()
        self.done["restarts"] += 1

    def _strike(self) -> None:
        """Strike at tables, starts, an execution, or one worker, whether or not it is busy."""
        chance = self.dice.random()
        if chance < self.outages:
            self._cut_off()
            return
        if chance < self.outages + self.aborts:
            self._abort()
            return
        found = sorted(workers.workers(self.state, self.target))
        if not found:
            return
        victim = self.dice.choice(found)
        if self.dice.random() < self.kills:
            self.done["kills"] += workers.end(victim)
        else:
            self.done["freezes"] += workers.freeze(victim)

    def _cut_off(self) -> None:
        what = self.dice.choice((TABLES, STARTS))
        announce(self.state, **{what: self.dice.uniform(*_OUTAGES)})
        self.done[f"outages of {what}"] += 1

    def _abort(self) -> None:
        """Stop an execution as somebody with a console could; the service may be away itself."""
        here = status(self.state)
        if here is None:
            return
        machines = client("stepfunctions", here)
        with suppress(BotoCoreError, ClientError):
            found = machines.list_executions(
                stateMachineArn=here.outputs["DriverArn"], statusFilter="RUNNING"
            )["executions"]
            if found:
                machines.stop_execution(executionArn=self.dice.choice(found)["executionArn"])
                self.done["aborts"] += 1

    def _wake(self) -> None:
        """Let those go on that have been frozen for long enough, by us or by themselves."""
        now = time.monotonic()
        for process in workers.frozen(self.state, ANY_FUNCTION):
            due = self._asleep.setdefault(process, now + self.dice.uniform(*_SLEEPS))
            if now >= due:
                workers.wake(process)
                del self._asleep[process]
