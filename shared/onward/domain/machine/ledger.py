"""The effect ledger: what is known of an action, and whether sending it again is safe (G3, G4)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from onward.domain.effects import Effect, EffectState
from onward.domain.errors import InvalidOutput
from onward.domain.limits import MAX_LOOKS

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import Payload, PlannedStep, Step


def intend(turn: Turn, planned: PlannedStep, step: Step, digest: str) -> None:
    """Write an action down before anything is sent; its key stays the same for ever."""
    turn.put_record(
        Effect(
            step_id=step.step_id,
            state=EffectState.INTENDED,
            key=f"{turn.run.run_id}/{step.step_id}/{digest}",
            tool=planned.tool,
            action_version=digest,
            fence=step.fence,
            intended_at=turn.now,
        )
    )


def edit(turn: Turn, planned: PlannedStep, step: Step, digest: str) -> None:
    """Put another action in the place of one that nobody was allowed to send."""
    if planned.policy.writes:
        key = f"{turn.run.run_id}/{step.step_id}/{digest}"
        turn.put_record(replace(_effect(turn, step), key=key, action_version=digest))


def refence(turn: Turn, planned: PlannedStep, step: Step) -> None:
    """Refuse the send mark to every attempt but the one that `step` now says."""
    if not planned.policy.writes:
        return
    effect = _effect(turn, step)
    again = effect.state is EffectState.NOT_APPLIED
    state = EffectState.INTENDED if again else effect.state
    turn.put_record(replace(effect, fence=step.fence, state=state))


def close_off(turn: Turn, planned: PlannedStep, step: Step) -> None:
    """Refuse the send mark to everybody: no attempt will have this fence."""
    if planned.policy.writes:
        turn.put_record(replace(_effect(turn, step), fence=step.fence + 1))


def applied(turn: Turn, planned: PlannedStep, step: Step, receipt: Payload) -> None:
    """Note that an action surely happened; a resend under its key was the same action."""
    if planned.policy.writes:
        effect = replace(_effect(turn, step), unknown_since=None)
        turn.put_record(replace(effect, state=EffectState.APPLIED, receipt=receipt))
        if effect.proofs and planned.policy.idempotency == "probe":
            _look_again(turn, planned, step)


def _look_again(turn: Turn, planned: PlannedStep, step: Step) -> None:
    """Have the receiver asked once more: what was called not applied may only have been late."""
    run, at = turn.run, turn.now + planned.policy.settles_after
    if len(run.looks) < MAX_LOOKS:
        due_at = math.ceil(at) if run.due_at is None else min(run.due_at, math.ceil(at))
        turn.set(looks=run.looks | {step.step_id: at}, due_at=due_at)


def failed(
    turn: Turn, planned: PlannedStep, step: Step, *, unclear: bool, lives: float = 0.0
) -> None:
    """Note how an attempt failed: surely without an effect, or nobody knows.

    A sure failure clears this attempt only; an earlier one whose outcome nobody knows stays
    unknown, because its write may have happened. `lives` is how many seconds its sender may
    still run; after that its last request may take `settles_after` to arrive: a dead process
    is not a dead request. Nothing was sent before its mark, so a clock that is behind the sender's
    takes nothing off the wait.
    """
    if not planned.policy.writes:
        return
    effect = _effect(turn, step)
    if unclear:
        seen = max(turn.now, effect.sent_at or turn.now)
        quiet = seen + lives + planned.policy.settles_after
        effect = replace(effect, quiet_at=max(quiet, effect.quiet_at or quiet))
    if unclear or effect.unknown_since is not None:
        since = next(
            at for at in (effect.unknown_since, effect.sent_at, turn.now) if at is not None
        )
        turn.put_record(replace(effect, state=EffectState.UNKNOWN, unknown_since=since))
    else:
        turn.put_record(replace(effect, state=EffectState.NOT_APPLIED))


def disproved(turn: Turn, planned: PlannedStep, step: Step) -> None:
    """Note a proof that nothing was applied: the next send is a new action at its receiver."""
    if not planned.policy.writes:
        return
    effect = _effect(turn, step)
    proofs = effect.proofs + 1
    turn.put_record(
        replace(
            effect,
            state=EffectState.NOT_APPLIED,
            key=proven(effect.key, proofs),
            proofs=proofs,
            unknown_since=None,
            quiet_at=None,
        )
    )


def proven(key: str, proofs: int) -> str:
    """Return an action's key after a number of proofs that it was not applied: `~n`."""
    return f"{key.split('~', 1)[0]}~{proofs}"


def is_over(turn: Turn, planned: PlannedStep, step: Step, request: str | None) -> bool:
    """Whether the invocation that died is the one that sent this attempt's write.

    An attempt may be invoked twice, and the death of one says nothing of the other. Whoever did
    not send has no write on its way.
    """
    if not lost_unclear(turn, planned, step):
        return True
    return _effect(turn, step).sent_by == request


def lost_unclear(turn: Turn, planned: PlannedStep, step: Step) -> bool:
    """Whether a lost attempt may have touched the world. An unmarked one never sent."""
    return planned.policy.writes and _effect(turn, step).sent_fence == step.fence


def in_doubt(turn: Turn, planned: PlannedStep, step: Step) -> bool:
    """Whether some attempt's write may have happened without anybody knowing."""
    return planned.policy.writes and _effect(turn, step).unknown_since is not None


def receipt(turn: Turn, planned: PlannedStep, step: Step) -> Payload | None:
    """Return what an action's receiver answered, if its worker kept that but could not commit.

    One that cannot be the step's output is none any more once a person is to give that.
    """
    if not planned.policy.writes or refused(turn, planned, step):
        return None
    return _effect(turn, step).receipt


def refused(turn: Turn, planned: PlannedStep, step: Step) -> bool:
    """Whether a step was applied and has failed, because what it returned could not be kept."""
    if not planned.policy.writes or step.error is None or step.error.code != InvalidOutput.code:
        return False
    effect = _effect(turn, step)
    return effect.state is EffectState.APPLIED and effect.receipt is not None


def resendable(turn: Turn, planned: PlannedStep, step: Step, at: float) -> bool:
    """Whether an attempt that starts at a time (epoch seconds) is safe, for all that is known.

    `native`: the receiver makes a resend no second write, while it remembers the key: `key_ttl`
    from the first send. Until then the attempt's last request must have arrived: it is sent by
    the deadline, or by a process that freezes and wakes as long as a function can live, and
    settles. `fenced`: the receiver keeps one write a key, the one with the highest fence.
    `probe`: the attempt asks before it sends, once everything that was sent has arrived.
    Nothing else may be sent again.
    """
    policy = planned.policy
    if not policy.writes:
        return True
    effect = _effect(turn, step)
    if effect.unknown_since is None or policy.idempotency == "fenced":
        return True
    if policy.idempotency == "probe":
        return effect.quiet_at is not None and at >= effect.quiet_at
    if policy.idempotency != "native":
        return False
    arrived = at + policy.timeout + policy.function_seconds + policy.settles_after
    return policy.key_ttl is None or arrived < effect.unknown_since + policy.key_ttl


def unsettled(turn: Turn, planned: PlannedStep, step: Step) -> float:
    """Return how many seconds a request in doubt may still take to arrive; 0 when none can.

    Until then nobody can know that an action was not applied (an operator neither).
    """
    if not in_doubt(turn, planned, step):
        return 0.0
    return max(0.0, (_effect(turn, step).quiet_at or turn.now) - turn.now)


def quiet_at(turn: Turn, planned: PlannedStep, step: Step) -> float | None:
    """Return when an action in doubt may be probed; None when its tool has no probe."""
    if not in_doubt(turn, planned, step) or planned.policy.idempotency != "probe":
        return None
    return _effect(turn, step).quiet_at


def _effect(turn: Turn, step: Step) -> Effect:
    effect = turn.effect(step.step_id)
    if effect is None:
        raise LookupError(f"write step {step.step_id} was claimed without a ledger row")
    return effect
