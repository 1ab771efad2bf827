"""What a lane does next, once the command's own change has been made."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from onward.domain.events import RunResumed, RunWaiting
from onward.domain.limits import (
    DUE_AFTER,
    ENDING_ROWS,
    HANDOFF_DECISIONS,
    MAX_FANS,
    MAX_LANES,
    MAX_WAIT,
)
from onward.domain.machine.claim import (
    Candidate,
    candidates,
    claim_all,
    open_fan,
    opens_fan,
    ready_count,
    run_attempt,
)
from onward.domain.machine.ending import end_done, end_failed
from onward.domain.machine.finish import close_added, unclosed
from onward.domain.model import MAIN_LANE, Failing, Failure, Fan, RunStatus, StepStatus, Wait
from onward.domain.protocol import Decision, Do

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import Json, Run

WAITS: Final = {
    StepStatus.NEEDS_RECONCILIATION: RunStatus.NEEDS_RECONCILIATION,
    StepStatus.WAITING_HUMAN: RunStatus.WAITING_HUMAN,
    StepStatus.WAITING_EXTERNAL: RunStatus.WAITING_EXTERNAL,
    StepStatus.UNKNOWN: RunStatus.BACKING_OFF,
    StepStatus.BACKING_OFF: RunStatus.BACKING_OFF,
}
"""What a waiting step makes of the run; the first kind present wins."""


def next_move(turn: Turn, lane: int) -> Decision:
    """Decide what the driver does next in this lane."""
    while True:
        if turn.run.status.ended:
            return stop(turn)
        close_added(turn)
        check_limits(turn)
        failing = turn.run.failing
        if failing is not None:
            return _stop_failing(turn, lane, failing)
        if unclosed(turn):
            return held(turn, lane) or _leave(turn, lane)
        decision = _main_move(turn) if lane == MAIN_LANE else _lane_move(turn, lane)
        if decision is not None:
            return decision


def stop(turn: Turn) -> Decision:
    """End this lane, or this execution."""
    return Decision(turn.run.run_id, turn.run.generation, Do.STOP)


def _leave(turn: Turn, lane: int) -> Decision:
    """Leave what this commit has no room for to the next one, which is settle's."""
    do = Do.HANDOFF if lane == MAIN_LANE else Do.STOP
    return Decision(turn.run.run_id, turn.run.generation, do)


def _stop_failing(turn: Turn, lane: int, failing: Failing) -> Decision:
    """Begin nothing more; with the last open attempt the run ends."""
    if turn.run.open:
        return held(turn, lane) or stop(turn)
    if turn.rows > ENDING_ROWS:
        return _leave(turn, lane)
    end_failed(turn, failing)
    return stop(turn)


def check_limits(turn: Turn) -> None:
    """Let a run fail that is past its deadline or has spent its tokens with steps still to do."""
    run = turn.run
    if run.failing is not None or run.done == run.steps_total:
        return
    if run.deadline is not None and turn.now >= run.deadline:
        failure = Failure("deadline_exceeded", "the run's deadline has passed")
    elif run.tokens_left is not None and run.tokens_left < 0:
        failure = Failure("budget_exceeded", "the run's token budget is spent")
    else:
        return
    turn.set(failing=Failing(failure))


def held(turn: Turn, lane: int) -> Decision | None:
    """Return the move for attempts that are already open: the lane's own, or all for main."""
    own = [s for s, owner in turn.run.open.items() if lane in {MAIN_LANE, owner}]
    if not own:
        return None
    if lane == MAIN_LANE:
        return _run_all(turn, own)
    return run_attempt(turn, turn.claimed(own[0]), lane)


def _main_move(turn: Turn) -> Decision | None:
    """The main lane is alone: it runs one step, fans out, waits or ends the run.

    None: there may be more to claim, or the run may have ended; look again.
    """
    run = turn.run
    leaving = run.decisions >= HANDOFF_DECISIONS
    found = [] if leaving or turn.unread else candidates(turn, MAX_LANES - len(run.open))
    if found:
        return _claim(turn, found)
    if run.open:
        return _run_all(turn, list(run.open))
    if leaving or (turn.unread and run.done < run.steps_total):
        return Decision(run.run_id, run.generation, Do.HANDOFF)
    if run.waiting:
        return _wait(turn)
    end_done(turn)
    return stop(turn)


def _claim(turn: Turn, found: list[Candidate]) -> Decision | None:
    """Claim for the main lane, in order: a cursor is consumed from its head.

    What ends without an attempt (no items, an input that cannot be made) is committed before
    anything is made of it: its dependents' inputs are read from its row, and a transaction has
    room for 100 rows. Then settle looks again, by way of a handoff that hands nothing over.
    """
    wake(turn)
    inputs = turn.resolved(candidate.claim for candidate in found if not candidate.again)
    late = next((resolved for resolved in inputs if resolved.late), None)
    if late is not None:  # what is ready stays so: a resume claims it
        turn.set(failing=Failing(Failure("input_too_slow", late.fault or ""), late.late))
        return None
    before = turn.run
    for candidate in found:
        if not opens_fan(turn, candidate):
            claim_all(turn, [candidate], MAIN_LANE)
        elif len(turn.run.fans) < MAX_FANS:
            open_fan(turn, candidate)
        else:
            break
    if turn.run.failing is not None or not _ended_unopened(before, turn.run):
        return None
    if turn.run.open:
        return _run_all(turn, list(turn.run.open))
    return Decision(turn.run.run_id, turn.run.generation, Do.HANDOFF)


def _ended_unopened(before: Run, after: Run) -> bool:
    """Whether claims ended a step or a fan-out's child at once."""
    return after.done > before.done or any(
        fan.done > before.fans.get(key, Fan(0)).done for key, fan in after.fans.items()
    )


def _lane_move(turn: Turn, lane: int) -> Decision | None:
    """Lanes pull: the lane's own attempt, else any ready step, else the lane ends or is parked.

    A claim that ends at once ends the lane too: settle goes on from what is committed.
    """
    if own := held(turn, lane):
        return own
    run = turn.run
    count = ready_count(run, turn.now)
    if not count and not run.open and not run.waiting:
        end_done(turn)
        return stop(turn)
    if not count or turn.unread or _left_for_settle(run, count):
        return _end_lane(turn, lane)
    nearest = candidates(turn, 1)
    if not nearest or opens_fan(turn, nearest[0]):
        return _end_lane(turn, lane)
    claim_all(turn, nearest, lane)
    waits = not _ended_unopened(run, turn.run) and nearest[0].claim.step_id not in turn.run.open
    if turn.run.failing is not None or waits:
        return None  # of several that begin to wait, or of what is ready beside one that does
    return held(turn, lane) or _end_lane(turn, lane)


def _end_lane(turn: Turn, lane: int) -> Decision:
    """End a lane of a Map that has nothing to do; while others work, one waits with the waits.

        lane 1   tool ───────────────────────────────────────► next
        lane 2   parked ─── approved ─► claims the action ─► …

    So a wait is taken up when it ends, and not when some other tool happens to. Whatever ends the
    last open attempt, or begins a wait, wakes it (`rouses`).
    """
    run = turn.run
    if not run.open or not run.waiting or run.parked not in {None, lane}:
        return stop(turn)
    return _parked(turn, lane)


def _parked(turn: Turn, lane: int) -> Decision:
    turn.set(parked=lane)
    run = turn.run
    seconds = _first_end(run, turn.now)
    return Decision(run.run_id, run.generation, Do.WAIT, lane=lane, seconds=seconds)


def rouses(before: Run, after: Run) -> bool:
    """Whether a commit has to wake the parked lane of a Map: to end, or to wait for less long."""
    if before.parked is None and after.parked is None:
        return False
    begun = [wait for step_id, wait in after.waiting.items() if step_id not in before.waiting]
    return not after.open or any(wait.until is not None for wait in begun)


def _left_for_settle(run: Run, count: int) -> bool:
    """Whether this lane ends although steps are ready, so that settle fans out afresh.

    That is so when it is the last one and several are ready, or when they are many more than
    the lanes that are left; and before a handoff. A lane that was parked leaves them to the others
    where those are as many as may be.
    """
    lanes = len(run.open) + 1
    if run.decisions >= HANDOFF_DECISIONS or lanes > MAX_LANES:
        return True
    return lanes < MAX_LANES and count > (1 if lanes == 1 else 2 * lanes)


def _run_all(turn: Turn, held: list[str]) -> Decision:
    """Run open attempts: one in the main lane, several as lanes of a Map."""
    rows = [turn.claimed(row.step_id) for row in turn.steps(held) if row is not None]
    turn.planned_all(row.plan_key for row in rows)
    parks = bool(turn.run.waiting) and turn.run.failing is None
    if len(rows) == 1 and not parks:
        turn.set(open={rows[0].step_id: MAIN_LANE})
        return run_attempt(turn, rows[0], MAIN_LANE)
    lanes = {row.step_id: lane for lane, row in enumerate(rows, start=1)}
    turn.set(open=lanes)
    moves = [run_attempt(turn, row, lanes[row.step_id]) for row in rows]
    if parks:
        moves.append(_parked(turn, len(rows) + 1))
    decision = Decision(turn.run.run_id, turn.run.generation, Do.FANOUT)
    return replace(decision, lanes=tuple(moves))


def wake(turn: Turn) -> None:
    """Note that a run that waited goes on."""
    if turn.run.status in WAITS.values():
        turn.set(status=RunStatus.RUNNING, park_token=None)
        turn.emit(RunResumed(generation=turn.run.generation, cause="wait_over"))


def queue_again(turn: Turn) -> None:
    """A run that waited is queued until its driver has heard of the answer.

    Its park token stays: whoever answered reads it after this commit. A run that stalled has
    no driver to hear of it; it is resumed. Of a run that has ended the new events are to be
    delivered, so somebody looks, and says anew from when on its log may go.
    """
    if turn.run.stalled:
        return
    if turn.run.status.ended:
        turn.set(expired_at=None)
    turn.set(due_at=int(turn.now) + DUE_AFTER)
    if turn.run.status in WAITS.values():
        turn.set(status=RunStatus.QUEUED)


def _wait(turn: Turn) -> Decision:
    """Park the driver until the first wait is over, at the latest until the run's deadline."""
    run = turn.run
    kinds = {wait.kind for wait in run.waiting.values()}
    status = next(state for kind, state in WAITS.items() if kind in kinds)
    if status is not run.status:
        turn.set(status=status)
        turn.emit(RunWaiting(status=status.value, steps=_waits(run.waiting)))
    return Decision(run.run_id, run.generation, Do.WAIT, seconds=_first_end(run, turn.now))


def _first_end(run: Run, now: float) -> int:
    """Return whole seconds until the first wait is over, or the run's deadline."""
    ends = [wait.until for wait in run.waiting.values() if wait.until is not None]
    if run.deadline is not None:
        ends.append(run.deadline)
    return max(1, min([MAX_WAIT, *(math.ceil(end - now) for end in ends)]))


def _waits(waiting: dict[str, Wait]) -> list[Json]:
    return [
        {"step_id": step_id, "status": wait.kind.value, "until": wait.until}
        for step_id, wait in waiting.items()
    ]
