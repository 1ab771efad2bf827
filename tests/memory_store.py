"""A reference store: the commit rule of the real one over plain dicts, and one run in it.

It follows design section 6 as the DynamoDB store does: a commit goes through only if `seq`,
`generation`, the fences and the send marks are those that were read; changes are written field
by field. Inputs are resolved from committed rows and the output that is being committed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from onward.aws.rows import BY_RECORD, STEP
from onward.domain.condition import holds
from onward.domain.effects import Effect, EffectState
from onward.domain.errors import Conflict
from onward.domain.machine import decide, submit
from onward.domain.machine.ledger import proven
from onward.domain.model import Payload, child_id
from onward.domain.needs import outputs_needed
from onward.domain.protocol import Complete, Resolved, RowsMissing, View
from onward.domain.template import Unresolved, resolve
from onward.domain.wait_inputs import resolved_wait
from onward.domain.waits import ApprovalRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.domain.incidents import Incident
    from onward.domain.model import Event, Json, PlannedStep, Run, Step
    from onward.domain.plan import CompiledPlan
    from onward.domain.protocol import Claim, Command, Outcome, RecordT


Row = TypeVar("Row")


@dataclass(slots=True)
class MemoryStore:
    """The rows of one run. `watch` sees what is written, before it is, `judge` what is decided."""

    run: Run
    plan: dict[str, PlannedStep]
    run_input: Json = None
    steps: dict[str, Step] = field(default_factory=dict)
    records: dict[type, dict[str, Any]] = field(default_factory=dict)
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

    def of(self, kind: type[RecordT]) -> dict[str, RecordT]:
        """The rows of one kind, by step."""
        return self.records.setdefault(kind, {})

    @property
    def effects(self) -> dict[str, Effect]:
        """The ledger."""
        return self.of(Effect)

    @property
    def approvals(self) -> dict[str, ApprovalRequest]:
        """What people were asked."""
        return self.of(ApprovalRequest)

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
        changed = (*outcome.steps, *(pair for pair in outcome.records if pair[0] != pair[1]))
        for old, new in changed:
            self._check(old, new)
        self.watch(self, outcome)
        self.run = _changed(self.run, outcome.before, outcome.run)
        self.steps |= {new.step_id: new for _, new in outcome.steps}
        for before, after in outcome.records:
            rows = self.records.setdefault(type(after), {})
            held = rows.get(after.step_id)
            rows[after.step_id] = _changed(held or after, before or after, after)
        self.events += outcome.events
        self.incidents += outcome.incidents

    def _check(self, old: Any, new: Any) -> None:
        """Refuse a row that is not what its kind says it must be, as the real store does."""
        kind = BY_RECORD[type(new)]
        rows = self.steps if kind is STEP else self.records.get(kind.record, {})
        held: Any = rows.get(kind.key(new))
        if old is None or held is None:
            if held is not old:
                raise Conflict(f"{kind.prefix}{kind.key(new)} was born meanwhile")
        elif kind.unchanged(held) != kind.unchanged(old):
            raise Conflict(f"{kind.prefix}{kind.key(new)} moved")

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

    def keep_token(self, seq: int, generation: int, token: str, *, lane: bool = False) -> bool:
        """Store a parked driver's token if the run has not moved since it was read."""
        if (self.run.seq, self.run.generation) != (seq, generation):
            return False
        parked = self.run.parked if lane else None
        self.run = replace(self.run, park_token=token, parked=parked)
        return True

    def keep_receipt(self, step_id: str, fence: int, receipt: Payload) -> None:
        """Put a finished write's receipt beside the run, as the attempt that sent it last."""
        effect = self.effects[step_id]
        if effect.sent_fence == fence:
            self.effects[step_id] = replace(effect, receipt=receipt)

    def _read(self, view: View, missing: RowsMissing, command: Command) -> None:
        view.plan |= {key: self.plan[key] for key in missing.plan}
        view.steps |= {step_id: self.steps.get(step_id) for step_id in missing.steps}
        for kind, step_id in missing.records:
            view.records.setdefault(kind, {})[step_id] = self.records.get(kind, {}).get(step_id)
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
            if planned.when is not None and claim.index is None and not holds(planned.when, scope):
                return Resolved(unmet=True)
            if planned.for_each is not None:
                items = resolve(planned.for_each, scope)
                if not isinstance(items, list):
                    return Resolved(fault="for_each is no list")
                if claim.index is None:
                    return Resolved(items=len(items))
                scope["item"] = items[claim.index]
            value = resolve(planned.input, scope)
        except Unresolved as error:
            return Resolved(fault=str(error))
        text = json.dumps(value)
        made = Resolved(Payload(text), f"{planned.tool}:{text}", size=len(text))
        return made if planned.wait is None else resolved_wait(made, value)

    def _output(self, step_id: str, fresh: dict[str, Payload]) -> Json:
        row = self.steps.get(step_id)
        if row is not None and row.children is not None:
            return [self._output(child_id(step_id, i), fresh) for i in range(row.children)]
        output = fresh.get(step_id, row and row.output)
        value: Json = json.loads((output and output.text) or "null")
        return value


def _changed(held: Row, before: Row, after: Row) -> Row:
    """Apply what an outcome changed, and leave what was written beside it."""
    pairs = {f.name: (getattr(before, f.name), getattr(after, f.name)) for f in fields(after)}
    return replace(held, **{name: new for name, (old, new) in pairs.items() if old != new})
