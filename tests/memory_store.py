"""A reference store: the commit rule of the real one over plain dicts, and one run in it.

It follows design section 6 as the DynamoDB store does: a commit goes through only if `seq`,
`generation`, the fences and the send marks are those that were read; changes are written field
by field. Inputs are resolved from committed rows and the output that is being committed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from onward.domain.effects import EffectState
from onward.domain.errors import Conflict
from onward.domain.machine import decide, submit
from onward.domain.machine.ledger import proven
from onward.domain.model import Payload, child_id
from onward.domain.needs import outputs_needed
from onward.domain.protocol import Complete, Resolved, RowsMissing, View
from onward.domain.template import Unresolved, resolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.domain.effects import Effect
    from onward.domain.incidents import Incident
    from onward.domain.model import Event, Json, PlannedStep, Run, Step
    from onward.domain.plan import CompiledPlan
    from onward.domain.protocol import Claim, Command, Outcome

    Row = TypeVar("Row", Run, Effect)


@dataclass(slots=True)
class MemoryStore:
    """The rows of one run. `watch` sees what is written, before it is, `judge` what is decided."""

    run: Run
    plan: dict[str, PlannedStep]
    run_input: Json = None
    steps: dict[str, Step] = field(default_factory=dict)
    effects: dict[str, Effect] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)
    watch: Callable[[MemoryStore, Outcome], None] = lambda _store, _outcome: None
    judge: Callable[[Command, Outcome], None] = lambda _command, _outcome: None

    @classmethod
    def submitted(
        cls, plan: CompiledPlan, run_id: str, now: float, run_input: Json, **more: Any
    ) -> MemoryStore:
        """Hold a run that was just accepted."""
        run, event = submit(
            run_id=run_id, tenant="t", workflow="w", worker="fn:1", plan=plan, now=now, **more
        )
        rows = {planned.key: planned for planned in (*plan.steps, plan.roots)}
        return cls(run, rows, run_input, events=[event])

    def carry_out(self, command: Command, generation: int | None, now: float) -> Outcome:
        """Decide on what is stored now, and commit it."""
        outcome = self.decided(command, generation, now)
        self.commit(outcome)
        return outcome

    def decided(self, command: Command, generation: int | None, now: float) -> Outcome:
        """Decide on what is stored now, reading whatever rows turn out to be needed."""
        view = View(self.run)
        while True:
            try:
                outcome = decide(view, command, generation, now)
            except RowsMissing as missing:
                self._read(view, missing, command)
            else:
                self.judge(command, outcome)
                return outcome

    def commit(self, outcome: Outcome) -> None:
        """Write an outcome whole or raise Conflict."""
        if not outcome.changes:
            return
        if (self.run.seq, self.run.generation) != (outcome.before.seq, outcome.before.generation):
            raise Conflict("the run moved")
        for old, new in outcome.steps:
            found = self.steps.get(new.step_id)
            if (found and (found.fence, found.at_seq)) != (old and (old.fence, old.at_seq)):
                raise Conflict(f"step {new.step_id} moved")
        for before, after in outcome.effects:
            held = self.effects.get(after.step_id)
            if _marks(held) != _marks(before):
                raise Conflict(f"effect {after.step_id} moved")
        self.watch(self, outcome)
        self.run = _changed(self.run, outcome.before, outcome.run)
        self.steps |= {new.step_id: new for _, new in outcome.steps}
        for before, after in outcome.effects:
            held = self.effects.get(after.step_id)
            self.effects[after.step_id] = _changed(held or after, before or after, after)
        self.events += outcome.events
        self.incidents += outcome.incidents

    def mark_sent(self, step_id: str, fence: int, now: float, sent_by: str | None = None) -> bool:
        """Mark a write before it is sent; False: it may not be sent."""
        return self._mark(step_id, fence, sent_at=now, sent_by=sent_by)

    def mark_resent(self, step_id: str, fence: int, now: float, sent_by: str | None = None) -> bool:
        """Mark a send after a probe proved that none before it was applied; as `mark_sent`."""
        effect = self.effects[step_id]
        proofs = effect.proofs + 1
        known = {"key": proven(effect.key, proofs), "proofs": proofs, "sent_by": sent_by}
        if effect.receipt is not None:
            return False
        return self._mark(step_id, fence, sent_at=now, unknown_since=None, quiet_at=None, **known)

    def _mark(self, step_id: str, fence: int, **values: Any) -> bool:
        effect = self.effects[step_id]
        if effect.fence != fence or (effect.sent_fence or 0) >= fence:
            return False
        sent = replace(effect, sent_fence=fence, state=EffectState.SENT)
        self.effects[step_id] = replace(sent, **values)
        return True

    def keep_token(self, seq: int, generation: int, token: str) -> bool:
        """Store a parked driver's token if the run has not moved since it was read."""
        if (self.run.seq, self.run.generation) != (seq, generation):
            return False
        self.run = replace(self.run, park_token=token)
        return True

    def keep_receipt(self, step_id: str, fence: int, receipt: Payload) -> None:
        """Put a finished write's receipt beside the run, as the attempt that sent it last."""
        effect = self.effects[step_id]
        if effect.sent_fence == fence:
            self.effects[step_id] = replace(effect, receipt=receipt)

    def _read(self, view: View, missing: RowsMissing, command: Command) -> None:
        view.plan |= {key: self.plan[key] for key in missing.plan}
        view.steps |= {step_id: self.steps.get(step_id) for step_id in missing.steps}
        view.effects |= {step_id: self.effects.get(step_id) for step_id in missing.effects}
        ends = isinstance(command, Complete) and command.output.refused is None
        fresh = {command.step_id: command.output} if ends else {}
        for wanted in missing.manifests:
            view.manifests[wanted] = Payload("{}")  # children's outputs are taken from their rows
        for claim in missing.inputs:
            view.inputs[claim.step_id] = self.resolved(claim, fresh)

    def resolved(self, claim: Claim, fresh: dict[str, Payload]) -> Resolved:
        """Make a claim's input of committed outputs and those that are being committed."""
        planned = self.plan[claim.plan_key]
        outputs: dict[str, Json] = {}
        for step_id in outputs_needed(planned):
            if step_id in fresh or step_id in self.steps:
                outputs[step_id] = self._output(step_id, fresh)
        scope: dict[str, Json] = {"input": self.run_input, "steps": outputs}
        try:
            if planned.for_each is not None:
                items = resolve(planned.for_each, scope)
                if not isinstance(items, list):
                    return Resolved(fault="for_each is no list")
                if claim.index is None:
                    return Resolved(items=len(items))
                scope["item"] = items[claim.index]
            text = json.dumps(resolve(planned.input, scope))
        except Unresolved as error:
            return Resolved(fault=str(error))
        return Resolved(Payload(text), f"{planned.tool}:{text}", size=len(text))

    def _output(self, step_id: str, fresh: dict[str, Payload]) -> Json:
        row = self.steps.get(step_id)
        if row is not None and row.children is not None:
            return [self._output(child_id(step_id, i), fresh) for i in range(row.children)]
        output = fresh.get(step_id, row and row.output)
        value: Json = json.loads((output and output.text) or "null")
        return value


def _marks(effect: Effect | None) -> tuple[int, int | None, bool] | None:
    return None if effect is None else (effect.fence, effect.sent_fence, effect.receipt is None)


def _changed(held: Row, before: Row, after: Row) -> Row:
    """Apply what an outcome changed, and leave what was written beside it."""
    pairs = {f.name: (getattr(before, f.name), getattr(after, f.name)) for f in fields(after)}
    return replace(held, **{name: new for name, (old, new) in pairs.items() if old != new})
