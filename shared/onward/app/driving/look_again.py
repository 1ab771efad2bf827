"""Ask the receiver of a write that was sent again whether it holds it twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from onward.app.driving.carry_out import COMMIT_MARGIN, carry_out
from onward.app.driving.execute_step import Attempt, end_at_deadline, new_context
from onward.app.payloads.store import load
from onward.domain.effects import Effect
from onward.domain.machine.ledger import proven
from onward.domain.protocol import Suspect, View

if TYPE_CHECKING:
    from onward.app.driving.execute_step import Worker
    from onward.domain.model import Json, Run, Step
    from onward.sdk.tools import Tool

_MOST_KEYS: Final = 5
"""Earlier keys of an action that are asked for, the latest ones."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the patrol asks for: ids only."""

    run_id: str
    step_id: str

    @classmethod
    def of(cls, document: dict[str, Any]) -> Look:
        """Read what was invoked with."""
        return cls(str(document["run_id"]), str(document["step_id"]))


def look_again(worker: Worker, look: Look) -> str:
    """Probe a resent write by its earlier keys, and say `once`, `twice`, `unsure` or `over`.

    Nothing is sent, and nothing waits for it: a look that died, or came before its time by this
    worker's clock, or whose receiver cannot tell, is asked for again. Raises what the probe does.
    """
    drive, run_id, step_id = worker.drive, look.run_id, look.step_id
    rows = drive.reader.rows(run_id, run=True, steps=[step_id], records=[(Effect, step_id)])
    run, step, effect = rows.run, rows.steps[step_id], rows.of(Effect)[step_id]
    if run is None or step is None or effect is None or step_id not in run.looks:
        return "over"
    if drive.clock() < run.looks[step_id]:
        return "unsure"
    other = _other(worker, run, step, effect)
    if other:
        until = drive.clock() + COMMIT_MARGIN
        carry_out(drive, run_id, None, Suspect(step_id, other), until)
        return "twice"
    if other is None:
        return "unsure"
    drive.store.end_look(run, step_id)
    return "once"


def _other(worker: Worker, run: Run, step: Step, effect: Effect) -> str | None:
    """Return the key of a second effect; empty when there is none, None when nobody can tell."""
    from onward.sdk.catalogue import load_tool  # Pydantic stays off the cold path
    from onward.sdk.probe import Applied, NotApplied

    drive = worker.drive
    planned = drive.reader.rows(run.run_id, plan=[step.plan_key]).plan[step.plan_key]
    tool = load_tool(planned.entry)
    if tool.probe is None:
        return None
    attempt = Attempt(run.run_id, run.generation, step.step_id, step.fence, step.plan_key)
    view = View(run, plan={step.plan_key: planned})
    context = new_context(worker, attempt, view, step)
    watch = end_at_deadline(worker, drive.clock() + planned.policy.timeout)
    sure = True
    try:
        request = tool.input_model.model_validate(load(drive.blobs(run.tenant), step.input))
        for key in earlier_keys(effect):
            context.idempotency_key = key
            found = tool.probe(context, request)
            if isinstance(found, Applied) and _is_second(worker, run, effect, tool, found):
                return key
            sure = sure and isinstance(found, Applied | NotApplied)
    finally:
        watch.cancel()
    return "" if sure else None


def earlier_keys(effect: Effect) -> list[str]:
    """Return the keys under which an action was sent before it was proven not applied."""
    first = effect.key.split("~", 1)[0]
    keys = [first, *(proven(first, n) for n in range(1, effect.proofs))]
    return keys[-_MOST_KEYS:]


def _is_second(worker: Worker, run: Run, effect: Effect, tool: Tool, found: Any) -> bool:
    """Whether what was found is another effect than the one that the ledger holds.

    By its keys where the receiver tells them; else it is another one if its receipt is.
    """
    if found.keys:
        return bool(set(found.keys) - {effect.key})
    known: Json = load(worker.drive.blobs(run.tenant), effect.receipt)
    return tool.round_trip(found.receipt) != known
