"""A receipt that arrived after its attempt was given up: the outcome is known, nobody is asked.

    driver    task time-out ─► unknown: a probe, or a person, is to be asked
    worker             reply ─► receipt on the ledger row ─► TakeReceipt: the step ends with it

The worker says so itself. Where it died between the two, whoever looks next finds the receipt:
`settle` (which the patrol asks for its opinion) and, of a run that has ended, the patrol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.domain.effects import EffectState
from onward.domain.machine import ledger
from onward.domain.machine.attempt import tell_reconciled
from onward.domain.machine.finish import accept
from onward.domain.machine.move import queue_again, stop
from onward.domain.model import StepStatus
from onward.domain.protocol import Verdict

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import Payload, Step
    from onward.domain.protocol import Decision, TakeReceipt

_IN_DOUBT = frozenset({StepStatus.NEEDS_RECONCILIATION, StepStatus.UNKNOWN})


def take_receipt(turn: Turn, command: TakeReceipt) -> Decision:
    """End a step with the receipt on its ledger row, also after its run has failed.

    A step that was given up meanwhile stays so; only the ledger learns that its write happened.
    One with an open attempt is left to that. Without a receipt nothing changes.
    """
    row, effect = turn.step(command.step_id), turn.effect(command.step_id)
    if row is None or effect is None or effect.receipt is None:
        return stop(turn)
    if effect.state is EffectState.APPLIED or row.step_id in turn.run.open:
        return stop(turn)
    if row.step_id in turn.run.waiting:
        _end_with(turn, row, effect.receipt)
    else:
        tell_reconciled(turn, row, Verdict.APPLIED, "receipt")
        ledger.applied(turn, turn.planned(row.plan_key), row, effect.receipt)
    queue_again(turn)
    return stop(turn)


def accept_waiting(turn: Turn) -> None:
    """End the steps in doubt whose receipts have been put down."""
    doubts = [step_id for step_id, wait in turn.run.waiting.items() if wait.kind in _IN_DOUBT]
    rows = [row for row in turn.steps(doubts) if row is not None]
    plans = turn.planned_all(row.plan_key for row in rows)
    for row, planned in zip(rows, plans, strict=True):
        receipt = ledger.receipt(turn, planned, row)
        if receipt is not None:
            _end_with(turn, row, receipt)


def _end_with(turn: Turn, row: Step, receipt: Payload) -> None:
    tell_reconciled(turn, row, Verdict.APPLIED, "receipt")
    accept(turn, row, receipt)
