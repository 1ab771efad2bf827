"""Which ready steps are claimed next, and what the driver is told about them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from onward.domain.events import FanOutStarted, StepStarted
from onward.domain.limits import MAX_CHILDREN, MAX_FANS, MAX_WAITING, SHORT_DELAY, TASK_GRACE
from onward.domain.machine import ledger
from onward.domain.machine.finish import accept, ask, bounded, close_fan, fail_step, skip_step
from onward.domain.machine.waiting import begin_wait, end_wait, skip_unmet, waits
from onward.domain.model import (
    Failure,
    Fan,
    PlannedStep,
    Step,
    StepStatus,
    attempt_id,
    child_id,
    step_of,
)
from onward.domain.protocol import Claim, Decision, Do, Resolved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onward.domain.machine.turn import Turn
    from onward.domain.model import Run


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something ready: a step, a fan-out's child (`index`), or a back-off that is over."""

    claim: Claim
    cursor_of: str | None = None
    again: bool = False


def ready_count(run: Run, now: float) -> int:
    """Return how many steps are ready; a fan-out that has to wait for another counts."""
    due = sum(1 for _ in _due(run, now))
    if len(run.waiting) - due >= MAX_WAITING:
        return due
    return (
        due
        + sum(cursor.end - cursor.at for cursor in run.ready)
        + sum(1 for missing in run.frontier.values() if missing == 0)
        + sum(fan.total - fan.next for fan in run.fans.values())
    )


def candidates(turn: Turn, limit: int) -> list[Candidate]:
    """Return what is ready, at most `limit`; nearest dependents first keeps cursors few."""
    if limit < 1:
        return []
    found = list(islice(_all_ready(turn), limit))
    turn.planned_all(candidate.claim.plan_key for candidate in found)
    return found


def _all_ready(turn: Turn) -> Iterator[Candidate]:
    run = turn.run
    for step_id in _due(run, turn.now):
        yield Candidate(Claim(step_id, turn.claimed(step_id).plan_key), again=True)
    if len(run.waiting) - sum(1 for _ in _due(run, turn.now)) >= MAX_WAITING:
        return
    for cursor in reversed(run.ready):
        for key in turn.planned(cursor.of).singles[cursor.at : cursor.end]:
            if _must_wait(turn, key):
                break  # a cursor is consumed in order
            yield Candidate(Claim(step_of(key), key), cursor_of=cursor.of)
    for key, missing in run.frontier.items():
        if missing == 0 and not _must_wait(turn, key):
            yield Candidate(Claim(step_of(key), key))
    for key, fan in run.fans.items():
        for index in range(fan.next, fan.total):
            yield Candidate(Claim(child_id(step_of(key), index), key, index))


def _must_wait(turn: Turn, key: str) -> bool:
    """Whether a step would open one fan-out too many."""
    return len(turn.run.fans) >= MAX_FANS and turn.planned(key).for_each is not None


def _due(run: Run, now: float) -> Iterator[str]:
    for step_id, wait in run.waiting.items():
        if wait.until is not None and wait.until <= now:
            yield step_id


def opens_fan(turn: Turn, candidate: Candidate) -> bool:
    """Whether claiming this means fanning out, which only the main lane does."""
    if candidate.again or candidate.claim.index is not None:
        return False
    return turn.planned(candidate.claim.plan_key).for_each is not None


def open_fan(turn: Turn, candidate: Candidate) -> None:
    """Start a `for_each`: its parent row is born, its children are claimed by lanes."""
    claim = candidate.claim
    planned = turn.planned(claim.plan_key)
    (resolved,) = turn.resolved([claim])
    _take(turn, candidate)
    if resolved.unmet:
        skip_unmet(turn, claim)
        return
    fault = resolved.fault
    if fault is None and resolved.items > MAX_CHILDREN:
        fault = f"for_each has {resolved.items} items, at most {MAX_CHILDREN} are allowed"
    elif fault is None and resolved.items > turn.run.children_left:
        left = turn.run.children_left
        fault = f"for_each has {resolved.items} items, the run may have {left} more (max_children)"
    if fault is not None:
        _refuse(turn, claim, fault)
        return
    turn.set(children=turn.run.children + resolved.items)
    parent = Step(
        step_id=claim.step_id,
        plan_key=claim.plan_key,
        status=StepStatus.EXECUTING,
        children=resolved.items,
        started_at=turn.now,
    )
    turn.put(parent)
    turn.emit(FanOutStarted(step_id=claim.step_id, children=resolved.items))
    turn.set(fans=turn.run.fans | {claim.plan_key: Fan(resolved.items)})
    if resolved.items == 0:
        close_fan(turn, planned)


def claim_all(turn: Turn, chosen: list[Candidate], lane: int) -> None:
    """Claim steps for a lane; an input that cannot be resolved fails its step at once."""
    fresh = [candidate.claim for candidate in chosen if not candidate.again]
    inputs = dict(zip(fresh, turn.resolved(fresh), strict=True))
    for candidate in chosen:
        claim = candidate.claim
        if candidate.again:
            _try_again(turn, turn.claimed(claim.step_id), lane)
            continue
        _take(turn, candidate)
        resolved = inputs[claim]
        if resolved.unmet:
            skip_unmet(turn, claim)
        elif fault := resolved.fault or _too_much(turn, resolved):
            _refuse(turn, claim, fault)
        elif waits(turn.planned(claim.plan_key)):
            begin_wait(turn, claim, resolved)
        else:
            _bear(turn, claim, resolved, lane)


def _take(turn: Turn, candidate: Candidate) -> None:
    """Remove a candidate from what is ready, so that nobody claims it twice."""
    run, key = turn.run, candidate.claim.plan_key
    if candidate.cursor_of is not None:
        cursors = [replace(c, at=c.at + 1) if c.of == candidate.cursor_of else c for c in run.ready]
        turn.set(ready=tuple(c for c in cursors if c.at < c.end))
    elif candidate.claim.index is not None:
        fan = run.fans[key]
        turn.set(fans=run.fans | {key: replace(fan, next=fan.next + 1)})
    else:
        turn.set(frontier={k: missing for k, missing in run.frontier.items() if k != key})


def _too_much(turn: Turn, resolved: Resolved) -> str | None:
    """Say that an input is more than what the run may still write, else take it off."""
    left = turn.run.bytes_left
    if resolved.size > left:
        return (
            f"its input has {resolved.size} bytes, the run may have {left} more (max_input_bytes)"
        )
    turn.set(bytes_left=left - resolved.size)
    return None


def _bear(turn: Turn, claim: Claim, resolved: Resolved, lane: int) -> None:
    planned = turn.planned(claim.plan_key)
    step = Step(
        step_id=claim.step_id,
        plan_key=claim.plan_key,
        status=StepStatus.EXECUTING,
        attempt=1,
        index=claim.index,
        input=resolved.payload,
        started_at=turn.now,
        deadline=attempt_deadline(turn.run, planned, turn.now),
    )
    turn.put(step)
    if planned.policy.writes:
        ledger.intend(turn, planned, step, resolved.digest)
    _open(turn, step, lane, attempts=1)
    _tell_started(turn, planned, step)


def _refuse(turn: Turn, claim: Claim, fault: str) -> None:
    """End a step whose input cannot be made; it never had an attempt."""
    planned = turn.planned(claim.plan_key)
    step = Step(
        step_id=claim.step_id,
        plan_key=claim.plan_key,
        status=StepStatus.PENDING,
        fence=0,
        index=claim.index,
        started_at=turn.now,
    )
    failure = bounded(Failure("invalid_input", fault))
    if planned.optional:
        skip_step(turn, step, failure)
    else:
        fail_step(turn, step, failure, "not_retryable")


def _try_again(turn: Turn, step: Step, lane: int) -> None:
    """Reopen a step whose wait is over, unless its receiver has forgotten the key by now.

    A worker that was given up may have put its receipt down meanwhile; then nothing is repeated.
    """
    if end_wait(turn, step):
        return
    planned = turn.planned(step.plan_key)
    receipt = ledger.receipt(turn, planned, step)
    if receipt is not None:
        accept(turn, step, receipt)
        return
    if not ledger.resendable(turn, planned, step, turn.now):
        lapsed = Failure("outcome_unknown", "the receiver's memory of the key may have lapsed")
        ask(turn, planned, step, lapsed)
        return
    reopen(turn, step, lane)
    _tell_started(turn, planned, turn.claimed(step.step_id))


def reopen(turn: Turn, step: Step, lane: int, *, delay: float = 0.0) -> None:
    """Open the next attempt of a step under a raised fence: what is older may change nothing.

    `delay` in seconds is waited first; the attempt's deadline counts from its end.
    """
    planned = turn.planned(step.plan_key)
    start = turn.now + delay
    opened = replace(
        step,
        status=StepStatus.BACKING_OFF if delay else StepStatus.EXECUTING,
        fence=step.fence + 1,
        attempt=step.next_attempt,
        unbegun=False,
        not_before=start if delay else None,
        deadline=attempt_deadline(turn.run, planned, start),
    )
    turn.put(opened)
    ledger.refence(turn, planned, opened)
    _open(turn, opened, lane, attempts=opened.attempt - step.attempt)


def attempt_deadline(run: Run, planned: PlannedStep, start: float) -> float:
    """Return when an attempt must have ended, in epoch seconds."""
    deadline = start + planned.policy.timeout
    return deadline if run.deadline is None else min(deadline, run.deadline)


def _open(turn: Turn, step: Step, lane: int, attempts: int) -> None:
    run = turn.run
    turn.set(
        open=run.open | {step.step_id: lane},
        waiting={s: wait for s, wait in run.waiting.items() if s != step.step_id},
        attempts=run.attempts + attempts,
    )


def _tell_started(turn: Turn, planned: PlannedStep, step: Step) -> None:
    turn.emit(
        StepStarted(
            step_id=step.step_id,
            attempt=step.attempt,
            attempt_id=attempt_id(step.step_id, step.fence),
            tool=planned.tool,
        )
    )


def run_attempt(turn: Turn, step: Step, lane: int) -> Decision:
    """Tell the driver to run an open attempt, after its delay if it has one."""
    planned = turn.planned(step.plan_key)
    # Bounded: not before may have been said by another clock than this one.
    delay = min(SHORT_DELAY, max(0.0, (step.not_before or 0.0) - turn.now))
    return Decision(
        run_id=turn.run.run_id,
        generation=turn.run.generation,
        do=Do.DELAY if delay > 0 else Do.STEP,
        step_id=step.step_id,
        fence=step.fence,
        lane=lane,
        plan_key=step.plan_key,
        function=turn.run.worker,
        timeout=planned.policy.timeout + TASK_GRACE,
        seconds=math.ceil(delay),
    )
