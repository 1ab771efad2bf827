"""Find runs that stand still, and set them going again.

What a look finds                                what is done about it
    its tenant has its share of running runs     nothing: it stays queued
    nobody drives it (start was lost)            its start is queued again
    its execution is dead                        the next generation is queued, the dead one fenced
    its driver is parked, and need not be        the token is answered
    an attempt outlived its deadline by far      its execution is stopped, then as for a dead one
    it has ended                                 what has not heard so is woken (`follow_up`)
    it has ended, and a receipt came since       its step ends with it
    a write that was sent again has settled      its receiver is asked once more, by the pinned
                                                 version; nobody waits for the answer
    a socket was not sent all of it              its run's sockets are woken
    all is well                                  it is looked at later, at most 15 minutes

A look is safe at any time and twice at once: every repair is a conditional commit, a start by
name, or a token that can be answered only once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from onward.app.driving.carry_out import carry_out, decided, look
from onward.app.driving.resting import rests
from onward.app.driving.wake_driver import signal
from onward.app.patrol.follow_up import LONGEST, FollowUp, follow_up
from onward.aws.engine import Execution
from onward.domain.effects import Effect
from onward.domain.incidents import Incident, Interruption
from onward.domain.limits import DUE_AFTER, LOOK_SECONDS, TASK_GRACE
from onward.domain.protocol import Do, Restart, Settle, TakeReceipt, WakeLane
from onward.metrics import Metric, count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onward.app.access.admission import Share
    from onward.app.driving.carry_out import Drive
    from onward.app.patrol.follow_up import Ends
    from onward.aws.due import DueIndex
    from onward.aws.engine import Engine
    from onward.aws.incidents import Incidents
    from onward.domain.model import Run

SOON: Final = 60
LATEST: Final = 15 * 60
OVERDUE: Final = TASK_GRACE + 3600
"""Seconds past an attempt's deadline after which its execution is believed stuck: the worker
ends itself after 1, the task's time-out follows after 10, recover is asked for again for some 40
minutes where it fails, and what Lambda refuses to start waits for an hour before it is told."""

_COMMIT_SECONDS: Final = 10.0


class Repair(StrEnum):
    """What the patrol did about a run."""

    STARTED = "started"
    RESTARTED = "restarted"
    SIGNALLED = "signalled"
    STOPPED = "stopped"


_LOST: Final = {Repair.STARTED: "start_lost", Repair.SIGNALLED: "signal_lost"}


@dataclass(frozen=True, slots=True)
class Patrol:
    """What looking after runs takes.

    `start` queues an execution's start; `invoke` has a function's version work on its own.
    """

    drive: Drive
    engine: Engine
    due: DueIndex
    start: Callable[[dict[str, Any]], None]
    wake: Callable[[str], object]
    ends: Ends
    incidents: Incidents
    share: Share
    invoke: Callable[[str, dict[str, Any]], object] = lambda _function, _event: None


def patrol(
    watch: Patrol,
    until: float,
    failed: Callable[[str, Exception], object],
    *,
    everything: bool = False,
    tenant: str | None = None,
) -> Counter[str]:
    """Look at each due run, or at all but those whose log waits to expire; count the repairs.

    With a tenant, at its runs only: what an operator is told is of nobody else's.
    Ends at `until` (epoch seconds), with a count of `more`: what is left is still due the next
    time. A run that cannot be looked at is told to `failed`, and stops no look at another.
    """
    done: Counter[str] = Counter()
    now = watch.drive.clock()
    horizon = now + LONGEST if everything else now
    try:
        watch.ends.bell.prove_pending(horizon, tenant)
    except Exception as error:  # noqa: BLE001 - no run stands still for it
        failed("endpoints", error)
        count(Metric.PATROL_FAILURES)
    due = watch.due.until(horizon)
    for run_id in due if tenant is None else watch.due.of_tenant(due, tenant):
        if watch.drive.clock() >= until:
            done["more"] = 1
            break
        done["looked"] += 1
        try:
            repairs = look_after(watch, run_id, until)
        except Exception as error:  # noqa: BLE001 - others behind it stand still as well
            failed(run_id, error)
            count(Metric.PATROL_FAILURES)
            continue
        done.update(repair.value for repair in repairs)
    return done


def run_of(execution_arn: str) -> str:
    """Return the run that an execution drives: its name is `run_id-generation`."""
    return execution_arn.rsplit(":", 1)[1].rsplit("-", 1)[0]


def look_after(watch: Patrol, run_id: str, until: float) -> Sequence[Repair | FollowUp]:
    """Look at one run and repair what stands still; empty when nothing did."""
    run = watch.drive.reader.run(run_id)
    if run is None:
        return ()
    now = watch.drive.clock()
    _look_again(watch, run, now)
    if run.status.ended:
        _take_receipts(watch, run)
        return follow_up(watch.ends, watch.drive.store, run, now, until)
    # Behind an event at which a run waits no other comes soon, as behind its last one.
    pushed = [FollowUp.PUSHED] if watch.ends.siren.sound(run, now) else []
    repair = _repair(watch, run)
    wait = SOON if repair is not None else _patience(run, watch.drive.clock())
    watch.drive.store.move_due(run, int(watch.drive.clock()) + wait)
    if repair is None:
        return pushed
    _tell(watch, run, repair)
    return [repair, *pushed]


def _tell(watch: Patrol, run: Run, repair: Repair) -> None:
    """Count a repair, and write down what no commit does; the run stood still since it was due.

    Of one that was not due yet nobody knows whether anything was lost, or on its way.
    """
    now = watch.drive.clock()
    if run.due_at is None or run.due_at > now:
        return
    count(Metric.PATROL_REPAIRS)
    cause = _LOST.get(repair)
    if cause is not None:
        watch.incidents.note(run, Incident(Interruption(cause, run.due_at - DUE_AFTER), now))


def _repair(watch: Patrol, run: Run) -> Repair | None:
    if run.stalled:
        return None  # an operator resumes it
    if run.generation == 1 and watch.share.holds_back(run.tenant, run.run_id):
        return None
    state = watch.engine.state(run.run_id, run.generation)
    if state is Execution.ABSENT:
        watch.start({"run_id": run.run_id, "generation": run.generation})
        return Repair.STARTED
    if state.over:
        dead = Restart("execution_dead", by_itself=state is Execution.CLOSED)
        return _restart(watch, run, dead, Repair.RESTARTED)
    if rests(watch.drive.reader, run, watch.drive.clock()):
        count(Metric.RUNS_RESTING)
    if _overdue(watch, run):
        watch.engine.stop(run.run_id, run.generation)
        stopped = Restart("attempt_overdue", by_itself=False)
        return _restart(watch, run, stopped, Repair.STOPPED)
    return _signal(watch, run)


def _restart(watch: Patrol, run: Run, command: Restart, repair: Repair) -> Repair | None:
    """Fence the generation off. It may just have ended its run, which then changes nothing."""
    until = watch.drive.clock() + _COMMIT_SECONDS
    outcome = carry_out(watch.drive, run.run_id, run.generation, command, until)
    return repair if outcome.changes else None


def _signal(watch: Patrol, run: Run) -> Repair | None:
    """Answer a parked driver whose decision would not be to wait any more."""
    if run.park_token is None:
        return None
    command = Settle() if run.parked is None else WakeLane(run.parked)
    outcome = decided(watch.drive, look(watch.drive, run.run_id, command), command, run.generation)
    if outcome.decision.do is Do.WAIT and not outcome.changes:
        return None
    return Repair.SIGNALLED if signal(watch.drive.reader, run.run_id, watch.wake) else None


def _look_again(watch: Patrol, run: Run, now: float) -> None:
    """Have resent writes looked at once more; a look that dies is asked for again the next time."""
    for step_id, at in run.looks.items():
        if at + LOOK_SECONDS < now:
            count(Metric.LOOKS_GIVEN_UP)
            watch.drive.store.end_look(run, step_id)
        elif at <= now:
            watch.invoke(run.worker, {"run_id": run.run_id, "step_id": step_id, "look": True})


def _take_receipts(watch: Patrol, run: Run) -> None:
    """End doubts of an ended run whose receipts came; a worker died before it could say so.

    While a run goes on its driver does that, whenever it looks.
    """
    drive = watch.drive
    rows = drive.reader.rows(run.run_id, records=[(Effect, step_id) for step_id in run.waiting])
    for step_id, effect in rows.of(Effect).items():
        if effect is not None and effect.receipt is not None:
            until = drive.clock() + _COMMIT_SECONDS
            carry_out(drive, run.run_id, None, TakeReceipt(step_id), until)


def _overdue(watch: Patrol, run: Run) -> bool:
    """Whether an attempt has outlived its deadline by far.

    Not of a generation that has not begun: its Begin is refused, or fails, and is asked for
    again; to stop it would help nobody.
    """
    if not run.decisions:
        return False
    rows = watch.drive.reader.rows(run.run_id, steps=list(run.open)).steps.values()
    deadlines = [row.deadline for row in rows if row is not None and row.deadline is not None]
    return bool(deadlines) and max(deadlines) + OVERDUE < watch.drive.clock()


def _patience(run: Run, now: float) -> int:
    """Return seconds until the next look: sooner when a wait is over before.

    One that its tenant's share holds back is looked at often: it may have lost the message that
    there is room.
    """
    if run.started_at is None:
        return SOON
    ends = [wait.until - now for wait in run.waiting.values() if wait.until is not None]
    ends += [at - now for at in run.looks.values()]
    return int(min(LATEST, max(SOON, min(ends, default=LATEST) + SOON)))
