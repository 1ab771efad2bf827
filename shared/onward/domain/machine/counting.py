"""How many of the steps that a step added have ended: held in the run row, for a few of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onward.domain.limits import MAX_COUNTED
from onward.domain.model import Fan, step_of

if TYPE_CHECKING:
    from onward.domain.machine.turn import Turn
    from onward.domain.model import Run


def count_one(turn: Turn, step_id: str) -> None:
    """Count one more of the steps that a step added as ended.

    Where the run row let go of the number, the step's own row has it; or it has none, and this
    was the last one missing. A row that is older than the run row beside it would miscount: it is
    written in the same commit, on condition that it is the newest (`at_seq = seen`).
    """
    held = turn.run.extended
    key = next((key for key in held if step_of(key) == step_id), None)
    if key is not None:
        hold(turn, key, replace(held[key], done=held[key].done + 1))
        return
    row = turn.claimed(step_id)
    turn.put(replace(row, counted=None))
    total = len(row.added)
    done = total if row.counted is None else row.counted + 1
    hold(turn, row.plan_key, Fan(total, next=total, done=done))


def hold(turn: Turn, key: str, added: Fan) -> None:
    """Hold a number in the run row; above MAX_COUNTED let the smallest go, so that it stays small.

    Steps that add one step each, however many, so cost nothing: with one missing there is nothing
    to note down.
    """
    held = turn.run.extended | {key: added}
    counting = [key for key, fan in held.items() if fan.done < fan.total]
    if len(counting) > MAX_COUNTED:
        least = min(
            counting, key=lambda key: (held[key].total - held[key].done > 1, held[key].total)
        )
        gone = held.pop(least)
        if gone.total - gone.done > 1:
            turn.put(replace(turn.claimed(step_of(least)), counted=gone.done))
    turn.set(extended=held)


def complete_one(run: Run) -> str | None:
    """Return the plan key of a step that has not ended although all its parts have.

    Those are the steps that it added, or the children of a fan-out.
    """
    counted = run.extended | run.fans
    return next((key for key, parts in counted.items() if parts.done == parts.total), None)
