"""One decision in the making: the rows as they will be, and the events that say so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onward.domain.effects import Effect
from onward.domain.incidents import Incident, Interruption
from onward.domain.manifest import Gathering
from onward.domain.model import Event, Payload, PlannedStep, Run, Step
from onward.domain.protocol import Claim, Decision, Outcome, Resolved, RowsMissing, View

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onward.domain.event_data import EventData
    from onward.domain.protocol import Record, RecordT


class Turn:
    """Collects what one command changes. Reading a row the view lacks raises RowsMissing."""

    def __init__(self, view: View, now: float) -> None:
        """Start from the rows as read; `now` in epoch seconds."""
        self.now = now
        self.run: Run = view.run
        self._view = view
        self._steps: dict[str, Step] = {}
        self._records: dict[tuple[type, str], Record] = {}
        self._events: list[Event] = []
        self._incidents: list[Incident] = []
        self._whole: Interruption | None = None
        self.hurried = view.hurried
        self.unread = view.hurried
        """Whether nothing can be claimed: a step ended here whose output only the committed row can
        tell, or there is no time."""

    def set(self, **changes: Any) -> None:
        """Change fields of the run row."""
        self.run = replace(self.run, **changes)

    @property
    def closes_at(self) -> float:
        """When a step that ends in this turn has ended: of a run that is over, with its run.

        Else a question that somebody answers days later would make its step take days.
        """
        ended = self.run.ended_at if self.run.status.ended else None
        return self.now if ended is None else ended

    @property
    def rows(self) -> int:
        """How many rows this turn's commit writes, at most."""
        told = len(self._events) + len(self._incidents)
        return 1 + len(self._steps) + len(self._records) + told

    def emit(self, data: EventData, *, start: int | None = None) -> None:
        """Append to the log; `seq` is dense because only this line raises it."""
        self.set(seq=self.run.seq + 1)
        self._events.append(Event(self.run.seq, data.type, self.now, data.members, start))

    def planned(self, key: str) -> PlannedStep:
        """Return one planned step."""
        return self.planned_all([key])[0]

    def planned_all(self, keys: Iterable[str]) -> list[PlannedStep]:
        """Return planned steps, asking for all that are missing at once."""
        wanted = list(keys)
        missing = frozenset(wanted) - self._view.plan.keys()
        if missing:
            raise RowsMissing(plan=missing)
        return [self._view.plan[key] for key in wanted]

    def step(self, step_id: str) -> Step | None:
        """Return a step's row as it stands in this turn; None before its first claim."""
        return self.steps([step_id])[0]

    def steps(self, step_ids: Iterable[str]) -> list[Step | None]:
        """Return step rows, asking for all that are missing at once."""
        wanted = list(step_ids)
        missing = frozenset(wanted) - self._view.steps.keys() - self._steps.keys()
        if missing:
            raise RowsMissing(steps=missing)
        return [self._steps.get(step_id, self._view.steps.get(step_id)) for step_id in wanted]

    def claimed(self, step_id: str) -> Step:
        """Return the row of a step that the run row says was claimed."""
        row = self.step(step_id)
        if row is None:
            raise LookupError(f"step {step_id} has no row although the run counts it as claimed")
        return row

    def find(self, kind: type[RecordT], step_id: str) -> RecordT | None:
        """Return a step's record of a kind; None when it has none."""
        if (kind, step_id) in self._records:
            found: Any = self._records[kind, step_id]
            return found  # type: ignore[no-any-return]
        read = self._view.of(kind)
        if step_id not in read:
            raise RowsMissing(records=frozenset({(kind, step_id)}))
        return read[step_id]

    def record(self, kind: type[RecordT], step_id: str) -> RecordT:
        """Return the record that a step's own row says it has."""
        found = self.find(kind, step_id)
        if found is None:
            raise LookupError(f"step {step_id} has no {kind.__name__} although its row says so")
        return found

    def effect(self, step_id: str) -> Effect | None:
        """Return a write step's row in the ledger."""
        return self.find(Effect, step_id)

    def resolved(self, claims: Iterable[Claim]) -> list[Resolved]:
        """Return the inputs of claims, asking for all that are missing at once."""
        wanted = list(claims)
        missing = frozenset(c for c in wanted if c.step_id not in self._view.inputs)
        if missing:
            raise RowsMissing(inputs=missing)
        return [self._view.inputs[claim.step_id] for claim in wanted]

    def manifest(self, parent: Step, children: int) -> Payload:
        """Return the manifest of a fan-out that this turn ends."""
        mine = (step for step in self._steps.values() if step.plan_key == parent.plan_key)
        ended = {step.index: step.output for step in mine if step.index is not None}
        wanted = Gathering(parent.step_id, children, tuple((i, ended[i]) for i in sorted(ended)))
        if wanted not in self._view.manifests:
            raise RowsMissing(manifests=frozenset({wanted}))
        return self._view.manifests[wanted]

    def put(self, step: Step) -> None:
        """Write a step row in this turn's commit."""
        self._steps[step.step_id] = step

    def put_record(self, record: Record) -> None:
        """Write a record of a step in this turn's commit."""
        self._records[type(record), record.step_id] = record

    def interrupt(self, step: Step, cause: str, *, doubtful: bool = False) -> Step:
        """Return the step with its interruption noted; the first of several is the one told.

        What one command finds lost is one interruption, whatever it cut: of its steps the first
        tells of it, or the run. The others are part of it, and saved nothing more.
        """
        lost = step.lost
        if lost is None and self._whole is not None:
            lost = Interruption(self._whole.cause, self.now, part=True)
        elif lost is None:
            lost = self._whole = Interruption(cause, self.now, self.run.usage.total)
        return replace(step, lost=replace(lost, doubtful=lost.doubtful or doubtful))

    def resumed(self, step: Step, at: float | None) -> Step:
        """Close a step's interruption: its next attempt began at this time (epoch seconds).

        None: now. Never before it was noticed, whatever the clock of the machine that ran it.
        A part of another interruption is told only for the second write that it prevented.
        """
        if step.lost is not None and (step.lost.doubtful or not step.lost.part):
            resumed_at = max(step.lost.at, self.closes_at if at is None else at)
            self._incidents.append(Incident(step.lost, resumed_at, step.step_id))
        return replace(step, lost=None)

    def run_resumed(self) -> None:
        """Close the run's interruption: another execution drives it."""
        if self.run.lost is not None:
            self._whole = self.run.lost
            resumed_at = max(self.run.lost.at, self.now)  # clocks differ
            self._incidents.append(Incident(self.run.lost, resumed_at))
            self.set(lost=None)

    def outcome(self, decision: Decision) -> Outcome:
        """Close the turn: stamp the rows with the commit's last seq.

        Without an event there is no commit: a limit that a lane noticed while it changed
        nothing else is noticed again by whoever commits next.
        """
        seq = self.run.seq
        return Outcome(
            before=self._view.run,
            run=self.run if self._events else self._view.run,
            decision=replace(decision, seq=seq),
            steps=tuple(
                (self._view.steps.get(step.step_id), replace(step, at_seq=seq))
                for step in self._steps.values()
            ),
            records=tuple(
                (self._view.records.get(kind, {}).get(step_id), record)
                for (kind, step_id), record in self._records.items()
            ),
            events=tuple(self._events),
            incidents=tuple(self._incidents),
        )
