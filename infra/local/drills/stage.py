"""Where a drill plays: a stack, its client, the outside, and hands to break things with."""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from onward.client import OnwardProblem, ServiceUnreachable

from infra.local import workers
from infra.local.deploy import client
from infra.local.drills.finding import Finding, Watched, faults_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from onward.client import CloudEvent, EventPage, Onward

    from infra.local.drills.outside import Outside
    from infra.local.stack import Stack

PATIENCE: Final = 120.0
"""Seconds after which a run that still moves, or still stands, counts as stuck."""

_LONGEST_WAIT: Final = 5.0
_TICK: Final = 0.05
_PAUSE: Final = 0.3
_THEIRS: Final = 500

T = TypeVar("T")


class Overdue(AssertionError):
    """What a drill waited for did not happen; the text says what."""


@dataclass(frozen=True, slots=True)
class Refund:
    """A run that was submitted."""

    run_id: str
    order_id: str


@dataclass
class Stage:
    """One stack for one drill after the other; `quick` leaves repetitions out.

    With a `pause` (seconds) clients ask now and then instead of holding a question open each: on
    a busy machine a worker for each of them would be what everything else waits for.
    """

    stack: Stack
    onward: Onward
    outside: Outside
    quick: bool = False
    pause: float = 0.0
    _events: dict[str, list[CloudEvent]] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        """The stack's state directory."""
        return Path(self.stack.state_dir)

    @cached_property
    def machines(self) -> Any:
        """A Step Functions client, for what somebody with a console could do."""
        return client("stepfunctions", self.stack)

    def submit(
        self, faults: Mapping[str, Mapping[str, Any]] | None = None, workflow: str = "refund"
    ) -> Refund:
        """Submit the refund of a new order, with faults by step."""
        order_id = f"o-{secrets.token_hex(5)}"
        told = {"order_id": order_id, "receiver_url": self.outside.url, "faults": faults or {}}
        run = self.patiently(lambda: self.onward.submit(workflow, told, key=order_id))
        return Refund(run["run_id"], order_id)

    def follow(
        self,
        refund: Refund,
        until: Callable[[CloudEvent], bool] | None = None,
        seconds: float = PATIENCE,
    ) -> CloudEvent | None:
        """Read on in a run's log to the first event that is looked for, or to the run's end.

        Raises:
            Overdue: neither came in time.
        """
        seen = self._events.setdefault(refund.run_id, [])
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            after = int(seen[-1]["sequence"]) if seen else 0
            page = self._page(refund.run_id, after, 0 if self.pause else min(left, _LONGEST_WAIT))
            for event in page["events"]:
                seen.append(event)
                if until is not None and until(event):
                    return event
            if page["ended"] and len(seen) >= page["as_of_seq"]:
                return None
            time.sleep(self.pause)
        raise Overdue(f"{refund.run_id} did not move on for {seconds:g} s")

    def _page(self, run_id: str, after: int, wait: float) -> EventPage:
        """Ask for what comes after an event, as a client does that comes back again and again."""
        return self.patiently(lambda: self.onward.events(run_id, after, wait=wait))

    def patiently(self, call: Callable[[], T], seconds: float = PATIENCE) -> T:
        """Return what a call does, made again while the service is away or in trouble.

        Raises:
            ClientError: the service refused for good, or was away for too long.
        """
        deadline = time.monotonic() + seconds
        while True:
            try:
                return call()
            except OnwardProblem as problem:
                passing = problem.retryable or problem.status >= _THEIRS
                if not passing or time.monotonic() > deadline:
                    raise
            except ServiceUnreachable:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE)

    def watched(self, refund: Refund) -> Watched:
        """Return what the client has seen, and the run as it stands."""
        seen = self._events.get(refund.run_id, [])
        run = self.patiently(lambda: self.onward.get(refund.run_id))
        return Watched(refund.order_id, run, list(seen))

    def finish(self, refund: Refund, seconds: float = PATIENCE) -> Watched:
        """Follow a run to its end; one that does not end in time is returned as it stands.

        One that ends just then is followed on: its last events are there, and not yet read.
        """
        with suppress(Overdue):
            self.follow(refund, seconds=seconds)
        watched = self.watched(refund)
        if watched.run["ended_at"] is None or len(watched.events) >= watched.run["as_of_seq"]:
            return watched
        with suppress(Overdue):
            self.follow(refund)
        return self.watched(refund)

    def judge(
        self,
        drill: str,
        case: str,
        watched: Watched,
        broken: Iterable[str] = (),
        notes: Iterable[str] = (),
    ) -> Finding:
        """Count the effects outside, hold the run to what every refund owes, and report."""
        effects = self.outside.effects(watched.order_id)
        return Finding(
            drill=drill,
            case=case,
            status=watched.run["status"],
            effects=sum(effects.values()),
            seen=watched.seen,
            broken=(*faults_of(watched, effects), *broken),
            notes=tuple(notes),
        )

    def submit_freezing(self, step: str) -> Refund:
        """Submit the refund of a new order whose worker freezes in a step, as the only one.

        Raises:
            Overdue: a frozen worker was left behind, and would be taken for this one.
        """
        left = self._frozen()
        if left:
            raise Overdue(f"frozen before the drill began: {left}; bring the stack up anew")
        return self.submit({step: {"kind": "freeze"}})

    def frozen_worker(self) -> int:
        """Wait for the one worker that has frozen itself, and return it; raises Overdue."""
        found = self.wait(self._frozen, "a worker freezes")
        if len(found) > 1:
            raise Overdue(f"several workers are frozen: {found}")
        return int(found[0])

    def _frozen(self) -> list[int]:
        return workers.frozen(self.state, self.stack.outputs["ExecuteStepFunction"])

    def workers(self) -> list[int]:
        """Return the processes that run tools at this moment."""
        return workers.workers(self.state, self.stack.outputs["ExecuteStepFunction"])

    def execution(self, run_id: str, generation: int) -> str:
        """Return the ARN of a generation's execution."""
        machine = self.stack.outputs["DriverArn"].replace(":stateMachine:", ":execution:")
        return f"{machine}:{run_id}-{generation}"

    def abort(self, run_id: str, generation: int = 1) -> None:
        """Stop an execution from outside, as somebody with a console could."""
        self.machines.stop_execution(executionArn=self.execution(run_id, generation))

    def wait(self, look: Callable[[], Any], what: str, seconds: float = 30.0) -> Any:
        """Return the first true thing that a look finds; raises Overdue naming what it was for."""
        deadline = time.monotonic() + seconds
        while not (found := look()):
            if time.monotonic() > deadline:
                raise Overdue(f"waited {seconds:g} s in vain: {what}")
            time.sleep(_TICK)
        return found


def moment(event: CloudEvent) -> float:
    """Return when an event happened, in epoch seconds."""
    return datetime.fromisoformat(event["time"]).timestamp()
