"""The driver lost an attempt: it is taken over, or rests where it never began."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onward.domain.errors import NotBegun
from onward.domain.events import StepTakenOver
from onward.domain.limits import MAX_FREEZES, MAX_MESSAGE
from onward.domain.machine import ledger
from onward.domain.machine.attempt import (
    another_try,
    give_up,
    opened,
    rest_unbegun,
    spend,
    wait_to_probe,
)
from onward.domain.machine.claim import reopen
from onward.domain.machine.finish import accept, ask
from onward.domain.machine.gone import question
from onward.domain.machine.move import next_move
from onward.domain.model import MAIN_LANE, Failure, attempt_id
from onward.domain.protocol import TIMED_OUT
from onward.domain.retry import Refusal

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import PlannedStep, Step
    from onward.domain.protocol import Decision, Recover


def recover(turn: Turn, command: Recover) -> Decision:
    """Close a lost attempt if it is open; else the lane's open claims get a raised fence.

    The second case: the worker committed, claimed what is next, and died before it answered. A
    freeze is none of the tool's doing and takes off nothing, unless it is the third in a row.
    """
    cause, dead = command.cause[:MAX_MESSAGE], command.dead
    lost = opened(turn, command.step_id, command.fence)
    if lost is not None and _never_began(turn, command, *lost):
        return next_move(turn, command.lane)
    if lost is not None:
        freezes = lost[0].freezes + 1 if command.frozen else 0
        blamed = command.called and command.costs
        costs = blamed and (not command.frozen or freezes >= MAX_FREEZES)
        step = replace(lost[0], tries=lost[0].tries + costs, freezes=freezes)
        planned = turn.planned(step.plan_key)
        dead = dead and ledger.is_over(turn, planned, step, command.request)
        take_over(turn, step, command.lane, cause, dead=dead, costs=costs)
        return next_move(turn, command.lane)
    claims = [s for s, lane in turn.run.open.items() if command.lane in {MAIN_LANE, lane}]
    for step in map(turn.claimed, claims):
        planned = turn.planned(step.plan_key)
        if ledger.lost_unclear(turn, planned, step):
            # Whoever sent this write is not the process that was lost.
            take_over(turn, step, command.lane, cause, dead=False, costs=False)
        else:
            reopen(turn, turn.interrupt(step, cause), command.lane)
            _tell_taken_over(turn, step.step_id, cause, dead=dead)
    return next_move(turn, command.lane)


def _never_began(turn: Turn, command: Recover, step: Step, lane: int) -> bool:
    """Close an attempt that ran nothing, if that is sure; False: it is taken over like any other.

    It takes nothing off any budget. What had no room rests and is tried again; where the worker's
    version is gone a person has to bring it back, or answer for the step (G10).
    """
    planned = turn.planned(step.plan_key)
    if command.called or ledger.lost_unclear(turn, planned, step):
        return False
    if command.gone and turn.run.failing is None:
        why = question(turn, planned, step)
        step = replace(turn.interrupt(step, command.cause), unbegun=True)
        ask(turn, planned, step, why)
        return True
    told = Failure(NotBegun.code, f"the attempt was never begun: {command.cause}")
    rest_unbegun(turn, planned, step, lane, told, command.jitter)
    return True


def take_over(turn: Turn, step: Step, lane: int, cause: str, *, dead: bool, costs: bool) -> None:
    """Fence a lost attempt off and open the next one, if the budget and the tool allow it.

    A write that may have been sent is done when its worker kept the receipt; else it is sent
    again at once where its receiver honours the key or the fence (G3), probed once nothing of it
    can still arrive, or called unknown, and a person is asked (G4).
    """
    planned = turn.planned(step.plan_key)
    failure = _why_lost(planned, cause)
    unclear = ledger.lost_unclear(turn, planned, step)
    step = turn.interrupt(step, cause, doubtful=unclear)
    receipt = ledger.receipt(turn, planned, step)
    if receipt is not None:
        accept(turn, step, receipt)
        return
    lives = 0.0 if dead else planned.policy.function_seconds
    ledger.failed(turn, planned, step, unclear=unclear, lives=lives)
    answer = another_try(turn, planned, step, failure, 0.0, costs=costs)
    if isinstance(answer, Refusal):
        give_up(turn, planned, step, failure, answer)
    elif ledger.quiet_at(turn, planned, step) is not None and answer.delay > 0:
        wait_to_probe(turn, planned, step, failure, answer)
    else:
        spend(turn, answer)
        reopen(turn, step, lane)
        _tell_taken_over(turn, step.step_id, cause, dead=dead)


def _why_lost(planned: PlannedStep, cause: str) -> Failure:
    if cause == TIMED_OUT:
        return Failure("timeout", f"timed out after {planned.policy.timeout} s", retryable=True)
    return Failure("attempt_lost", f"the attempt was lost: {cause}", retryable=True)


def _tell_taken_over(turn: Turn, step_id: str, cause: str, *, dead: bool) -> None:
    step = turn.claimed(step_id)
    turn.emit(
        StepTakenOver(
            step_id=step.step_id,
            attempt=step.attempt,
            attempt_id=attempt_id(step.step_id, step.fence),
            cause=cause,
            dead_for_sure=dead,
        )
    )
