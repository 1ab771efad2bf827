"""The effect ledger: what is known of an action, and whether sending it again is safe (G3, G4)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onward.domain.model import Effect, EffectState

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import Payload, PlannedStep, Step


def intend(turn: Turn, planned: PlannedStep, step: Step, digest: str) -> None:
    """Write an action down before anything is sent; its key stays the same for ever."""
    turn.put_effect(
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


def refence(turn: Turn, planned: PlannedStep, step: Step) -> None:
    """Refuse the send mark to every attempt but the one that `step` now says."""
    if not planned.policy.writes:
        return
    effect = _effect(turn, step)
    again = effect.state is EffectState.NOT_APPLIED
    state = EffectState.INTENDED if again else effect.state
    turn.put_effect(replace(effect, fence=step.fence, state=state))


def close_off(turn: Turn, planned: PlannedStep, step: Step) -> None:
    """Refuse the send mark to everybody: no attempt will have this fence."""
    if planned.policy.writes:
        turn.put_effect(replace(_effect(turn, step), fence=step.fence + 1))


def applied(turn: Turn, planned: PlannedStep, step: Step, receipt: Payload) -> None:
    """Note that an action surely happened; a resend under its key was the same action."""
    if planned.policy.writes:
        effect = replace(_effect(turn, step), unknown_since=None)
        turn.put_effect(replace(effect, state=EffectState.APPLIED, receipt=receipt))


def failed(turn: Turn, planned: PlannedStep, step: Step, *, unclear: bool) -> None:
    """Note how an attempt failed: surely without an effect, or nobody knows.

    A sure failure clears this attempt only; an earlier one whose outcome nobody knows stays
    unknown, because its write may have happened.
    """
    if not planned.policy.writes:
        return
    effect = _effect(turn, step)
    if unclear or effect.unknown_since is not None:
        since = next(
            at for at in (effect.unknown_since, effect.sent_at, turn.now) if at is not None
        )
        turn.put_effect(replace(effect, state=EffectState.UNKNOWN, unknown_since=since))
    else:
        turn.put_effect(replace(effect, state=EffectState.NOT_APPLIED))


def lost_unclear(turn: Turn, planned: PlannedStep, step: Step) -> bool:
    """Whether a lost attempt may have touched the world. An unmarked one never sent."""
    return planned.policy.writes and _effect(turn, step).sent_fence == step.fence


def in_doubt(turn: Turn, planned: PlannedStep, step: Step) -> bool:
    """Whether some attempt's write may have happened without anybody knowing."""
    return planned.policy.writes and _effect(turn, step).unknown_since is not None


def receipt(turn: Turn, planned: PlannedStep, step: Step) -> Payload | None:
    """Return what an action's receiver answered, if its worker kept that but could not commit."""
    return _effect(turn, step).receipt if planned.policy.writes else None


def resendable(turn: Turn, planned: PlannedStep, step: Step, at: float) -> bool:
    """Whether an attempt that starts at a time (epoch seconds) may send an unknown action again.

    Only a receiver that honours the key makes that no second write, and only while it remembers
    the key: `key_ttl` from the first send, which the attempt's last moment must not pass.
    """
    policy = planned.policy
    since = _effect(turn, step).unknown_since
    if policy.idempotency != "native" or since is None:
        return False
    return policy.key_ttl is None or at + policy.timeout < since + policy.key_ttl


def _effect(turn: Turn, step: Step) -> Effect:
    effect = turn.effect(step.step_id)
    if effect is None:
        raise LookupError(f"write step {step.step_id} was claimed without a ledger row")
    return effect
