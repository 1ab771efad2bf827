"""A write that was sent again, for its probe had not found it, is looked at once more.

    write        sent ────────────────────────────────── lands late ──────────►
    probe                settles_after ─► not applied
    resend                                    sent ─► applied       settles_after ─► look: two

A `settles_after` that is too short for a receiver writes twice in silence; nothing can take that
back, but somebody is told. The run waits for none of it: the patrol has the look made, by the
version that the run is pinned to, whether or not the run has ended.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onward.domain.events import EffectDuplicateSuspected
from onward.domain.machine.move import queue_again, stop

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.protocol import Decision, Suspect


def suspect(turn: Turn, command: Suspect) -> Decision:
    """Write down that an action seems to have happened twice, once."""
    effect = turn.effect(command.step_id)
    if effect is None or command.step_id not in turn.run.looks:
        return stop(turn)
    turn.put_record(replace(effect, suspected_at=turn.now))
    looks = {step_id: at for step_id, at in turn.run.looks.items() if step_id != command.step_id}
    turn.set(looks=looks)
    turn.emit(
        EffectDuplicateSuspected(step_id=command.step_id, key=effect.key, other_key=command.key)
    )
    if turn.run.status.ended:
        queue_again(turn)
    return stop(turn)
