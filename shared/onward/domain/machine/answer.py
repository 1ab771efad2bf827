"""Operators answer: for a write in doubt, and for a run that failed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onward.domain.errors import NotResumable, NotWaiting
from onward.domain.incidents import Interruption
from onward.domain.limits import DEFAULT_RUN_RETRIES
from onward.domain.machine import ledger
from onward.domain.machine.attempt import tell_reconciled
from onward.domain.machine.drive import next_generation
from onward.domain.machine.finish import close, fail_step, rest, skip_step, succeed_step
from onward.domain.machine.move import queue_again, stop
from onward.domain.machine.waiting import wait_again
from onward.domain.model import Failure, Payload, RunStatus, StepStatus, Usage, Wait
from onward.domain.protocol import Decision, Verdict

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import PlannedStep, Step
    from onward.domain.protocol import Resolve, Resume

_IN_DOUBT = frozenset({StepStatus.NEEDS_RECONCILIATION, StepStatus.UNKNOWN})
_STOPPED = frozenset({StepStatus.FAILED, StepStatus.CANCELLED, StepStatus.NEEDS_RECONCILIATION})


def resolve(turn: Turn, command: Resolve) -> Decision:
    """Take an operator's word for what a write did; the driver goes on from there.

    Of a run that has failed nothing goes on: the ledger and the step learn what was found out, and
    a resume goes on from that. A receipt that was put down is the result, whatever was given.
    Raises NotWaiting unless the step's outcome is unknown: the first answer counts. So it is for
    an answer that cannot be right: `not_applied` where that cannot be known yet, anything but
    `applied` where the receipt came, `applied` for a step that adds steps.
    """
    row = turn.step(command.step_id)
    if row is None or row.status not in _IN_DOUBT or command.step_id not in turn.run.waiting:
        raise NotWaiting(f"step {command.step_id} does not wait for a resolution")
    planned = turn.planned(row.plan_key)
    receipt = ledger.receipt(turn, planned, row)
    _refuse_wrong(turn, planned, row, command.verdict, receipt)
    if ledger.refused(turn, planned, row):
        _refuse_without_output(row, command)
    tell_reconciled(turn, row, command.verdict, command.by)
    if command.verdict is Verdict.APPLIED:
        result = receipt or command.result or Payload("null")
        succeed_step(turn, turn.resumed(row, None), result, Usage())
    elif command.verdict is Verdict.NOT_APPLIED:
        ledger.disproved(turn, planned, row)
        if turn.run.status.ended:
            close(turn, turn.resumed(row, None), StepStatus.CANCELLED, error=None)
        else:
            _try_anew(turn, row, Wait(StepStatus.BACKING_OFF, turn.now))
    else:
        _abandon(turn, planned, row, command.by)
    queue_again(turn)
    return stop(turn)


def resume(turn: Turn, command: Resume) -> Decision:
    """Let a failed run go on from its checkpoints, with a fresh budget of retries.

    A token budget that was spent is lifted and a deadline that has passed begins anew: the
    operator resumes knowing both. What ended well stays as it is, whatever the command names.
    A run that stalled has not failed yet: it is only driven again, to whatever end.
    Raises NotResumable when the run has not failed, or when a step failed because its input
    cannot be made: checkpoints do not change.
    """
    run = turn.run
    if run.status is not RunStatus.FAILED and not run.stalled:
        raise NotResumable(f"run {run.run_id} is {run.status.value}, not failed")
    rows = [] if run.stalled else _stopped(turn, command)
    hopeless = [row.step_id for row in rows if row.fence == 0 and row.input is None]
    if hopeless:
        raise NotResumable(f"the input of {', '.join(hopeless)} cannot be made; submit a new run")
    for row in rows:
        _put_back(turn, row)
    failure = run.failing.failure.code if run.failing else "stalled"
    late = run.deadline is not None and run.deadline <= turn.now
    turn.set(
        failing=run.failing if run.stalled else None,
        status=RunStatus.QUEUED,
        lost=run.lost or Interruption(failure, run.ended_at or turn.now, run.usage.total),
        ended_at=None,
        expired_at=None,
        stalls=0,
        retries_left=DEFAULT_RUN_RETRIES,
        tokens_left=None if (run.tokens_left or 0) < 0 else run.tokens_left,
        deadline=turn.now + (run.deadline or 0.0) - run.created_at if late else run.deadline,
    )
    next_generation(turn, "resumed_by_operator", by=command.by)
    return stop(turn)


def _refuse_wrong(
    turn: Turn, planned: PlannedStep, row: Step, verdict: Verdict, receipt: Payload | None
) -> None:
    """Refuse an answer that is wrong, or that nobody can give yet.

        attempt #1   send ─────────────── the request is still on its way ──► lands
        operator           looks: nothing there ─► not_applied ─► attempt #2 sends: two effects

    A receipt that was put down meanwhile knows better. And a result by hand would end a step
    that adds steps without one of them.
    """
    step_id = row.step_id
    if verdict is Verdict.APPLIED:
        if planned.expands:
            raise NotWaiting(
                f"step {step_id} adds steps: answer not_applied once its version is back, "
                "or abandon"
            )
        return
    if receipt is not None:
        raise NotWaiting(f"the receiver of step {step_id} has answered: it was applied")
    seconds = ledger.unsettled(turn, planned, row)
    if verdict is Verdict.NOT_APPLIED and seconds > 0:
        raise NotWaiting(
            f"a request of step {step_id} may still arrive for {seconds:.0f} seconds; "
            "until then nobody can know that it was not applied"
        )


def _refuse_without_output(row: Step, command: Resolve) -> None:
    """Refuse an answer that gives no output to a step whose own could not be kept."""
    if command.verdict is Verdict.NOT_APPLIED:
        raise NotWaiting(f"step {row.step_id} was applied: its tool returned")
    if command.verdict is Verdict.APPLIED and command.result is None:
        raise NotWaiting(f"what step {row.step_id} returned could not be kept: give its result")


def _stopped(turn: Turn, command: Resume) -> list[Step]:
    """Return those of the rows named that stopped with the run."""
    rows = [row for row in turn.steps(dict.fromkeys(command.steps)) if row is not None]
    turn.planned_all(row.plan_key for row in rows)
    return [row for row in rows if row.status in _STOPPED]


def _put_back(turn: Turn, row: Step) -> None:
    """Give a step that stopped with its run its place in the run again.

    A write in doubt goes on as if it had just been lost: it is sent again, probed when that can
    be believed, or a person is asked; so he is where a write returned what could not be kept, for
    it must not be sent again. What interrupted it ended the run, which tells of it.
    """
    row = replace(row, lost=row.lost and replace(row.lost, tokens=0, part=True))
    if row.children is not None or row.added:
        turn.put(replace(row, status=StepStatus.EXECUTING, ended_at=None))
        return
    if wait_again(turn, row):
        return
    planned = turn.planned(row.plan_key)
    quiet = ledger.quiet_at(turn, planned, row)
    at = max(turn.now, quiet or turn.now)
    if ledger.refused(turn, planned, row) or not ledger.resendable(turn, planned, row, at):
        _try_anew(turn, row, Wait(StepStatus.NEEDS_RECONCILIATION))
    elif quiet is not None:
        _try_anew(turn, row, Wait(StepStatus.UNKNOWN, at))
    else:
        _try_anew(turn, row, Wait(StepStatus.BACKING_OFF, at))


def _try_anew(turn: Turn, row: Step, wait: Wait) -> None:
    """Let a step be claimed again when its wait is over, with all its attempts before it."""
    error = row.error if wait.until is None else None
    turn.put(replace(row, status=wait.kind, tries=0, error=error))
    rest(turn, row.step_id, wait)


def _abandon(turn: Turn, planned: PlannedStep, row: Step, by: str) -> None:
    """Give a step up although its write may have happened; the ledger goes on saying so."""
    failure = Failure("abandoned", f"given up by {by}; its outcome stays unknown")
    if planned.optional:
        skip_step(turn, row, failure)
    else:
        fail_step(turn, row, failure, "abandoned")
