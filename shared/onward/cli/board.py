"""How a run stands, step by step, built from its events alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from onward.cli.words import VERSION_MISSING, clock, is_recovery, kind, recovery, time_at
from onward.domain.events import ENDS, STEP_ENDS, TYPES

if TYPE_CHECKING:
    from onward.client import CloudEvent, Snapshot

_WAITING: Final = frozenset(
    {"needs_reconciliation", "waiting_human", "waiting_external", "backing_off"}
)
_FOR: Final = {
    "backing_off": "next attempt",
    "unknown": "its receiver is asked",
    "waiting_human": "a person decides",
    "waiting_external": "goes on",
}
_UNTOLD: Final = 5.0
"""Seconds of back-off up to which the next attempt begins without an event of its own."""

OUTCOMES: Final = "applied --result JSON, not_applied or abandon"
_NOT_RUN: Final = "not_applied once the version is back, applied --result JSON or abandon"
_REMEMBERED: Final = 3
_RUN: Final = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """What is waited for: until a time, or until a command answers, with one of the choices."""

    what: str
    until: datetime | None = None
    answer: str = ""
    choice: str = ""

    def over(self, now: datetime) -> bool:
        """Whether its time has passed, so that nobody need be told of it any more."""
        return self.until is not None and self.until <= now


@dataclass
class Row:
    """One step; a fan-out counts its children here instead of listing them."""

    status: str = "pending"
    tries: dict[str, int] = field(default_factory=dict)
    fraction: float | None = None
    note: str = ""
    children: int | None = None
    children_done: int = 0
    began: datetime | None = None
    ended: datetime | None = None
    again: datetime | None = None
    closed: set[str] = field(default_factory=set)

    @property
    def attempts(self) -> int:
        """Attempts so far, those of all children together."""
        return sum(self.tries.values())

    def seconds(self, now: datetime) -> float | None:
        """How long the step has taken so far; None before it began."""
        return None if self.began is None else ((self.ended or now) - self.began).total_seconds()

    def standing(self, now: datetime) -> str:
        """Its status; after a short back-off the next attempt runs, though no event says so."""
        resumed = self.status == "backing_off" and self.again is not None and self.again <= now
        return "executing" if resumed else self.status


@dataclass
class Board:
    """All steps in plan order, the run's own status, what waits, and what was recovered lately.

    What a screen goes through is replaced, not changed: it may be drawn from another thread.
    """

    run_id: str
    workflow: str
    status: str = "queued"
    at: datetime | None = None
    rows: dict[str, Row] = field(default_factory=dict)
    waits: dict[str, Wait] = field(default_factory=dict)
    recoveries: list[str] = field(default_factory=list)
    hopeless: bool = False

    @classmethod
    def of(cls, snapshot: Snapshot) -> Board:
        """Lay out the steps that are planned so far; what became of them, the events will tell."""
        planned = {step["id"]: Row() for step in snapshot["steps"] if "." not in step["id"]}
        return cls(snapshot["run_id"], snapshot["workflow"], rows=planned)

    @property
    def answers(self) -> list[str]:
        """The commands that the run waits for; what there is to choose from is a comment."""
        asked = [wait for wait in self.waits.values() if wait.answer]
        return [wait.answer + (f"   # {wait.choice}" if wait.choice else "") for wait in asked]

    def apply(self, event: CloudEvent) -> None:
        """Take one event into account; events of a kind unknown here change only the clock."""
        self.at = datetime.fromisoformat(event["time"])
        subject, what = kind(event)
        if subject == "run":
            self._run(event["data"], what)
        elif subject == "step":
            self._step(event["data"], what)
        if is_recovery(event):
            told = f"{clock(event)}  {recovery(event)}"
            self.recoveries = [*self.recoveries, told][-_REMEMBERED:]

    def _run(self, data: dict[str, Any], what: str) -> None:
        self.status = data.get("status") or self._run_status(data, what)
        if _is_over(what):
            self._end()
        if what == "resumed":
            self._wait(_RUN, None)
        elif what == "waiting" and data.get("cause") == "stalled":
            text = "the run stalled; once its executions can live, let it go on"
            self._wait(_RUN, Wait(text, answer=f"onward resume {self.run_id}"))
        elif what == "waiting":
            for wait in data.get("steps", []):
                if wait["step_id"] not in self.waits:
                    self._wait(wait["step_id"], self._listed(wait))
        elif what == "failed" and not self.hopeless:
            text = "once the cause is mended, the run can go on from its checkpoints"
            self._wait(_RUN, Wait(text, answer=f"onward resume {self.run_id}"))

    def _run_status(self, data: dict[str, Any], what: str) -> str:
        """Return a run's status after an event that does not name it.

        A driver that takes over a run which waits changes nothing about the wait.
        """
        if what == "resumed" and data.get("cause") == "resumed_by_operator":
            return "queued"
        if what == "resumed" and data.get("cause") != "wait_over":
            waits = self.status in _WAITING and _RUN not in self.waits
            return self.status if waits or data.get("cause") else "running"
        return {"started": "running", "resumed": "running"}.get(what, what)

    def _end(self) -> None:
        """Stop what the run's end has cancelled; a doubtful write stays a question."""
        self.waits = {name: wait for name, wait in self.waits.items() if wait.choice}
        for row in self.rows.values():
            if row.began is None or row.ended is not None:
                continue
            row.ended, row.fraction = self.at, None
            if row.status != "needs_reconciliation":
                row.status = "cancelled"

    def _step(self, data: dict[str, Any], what: str) -> None:
        whole_id = str(data.get("step_id", ""))
        step_id, _, child = whole_id.partition(".")
        row = self.rows.get(step_id) or self._added(step_id)
        self._wait(whole_id, self._asked(whole_id, data, what))
        # An input that cannot be made is the step's for ever: no resume helps.
        unmade = data.get("attempt") == 0 and data.get("code") == "invalid_input"
        self.hopeless = self.hopeless or (what == "failed" and unmade)
        if what == "reconciled" and self.status in _WAITING:
            self.status = "queued"
        # A takeover or short retry opens the next attempt by itself: no second `started` follows.
        opens = what == "retrying" and float(data.get("delay_seconds") or 0) <= _UNTOLD
        attempt = int((opens and data.get("next_attempt")) or data.get("attempt") or 0)
        if attempt:
            row.tries[whole_id] = max(attempt, row.tries.get(whole_id, 0))
        if what == "progress":
            row.fraction, row.note = data.get("fraction"), str(data.get("note", ""))
            row.status = "executing" if row.status == "backing_off" else row.status
        elif child:
            row.note = str(data.get("message", ""))
            (row.closed.add if _closes(what) else row.closed.discard)(whole_id)
            row.children_done = len(row.closed)
        else:
            self._stand(row, data, what)

    def _added(self, step_id: str) -> Row:
        """Put a step that a plan added in front of what has yet to begin."""
        rows = list(self.rows.items())
        at = next((i for i, (_, row) in enumerate(rows) if row.status == "pending"), len(rows))
        row = Row()
        self.rows = dict([*rows[:at], (step_id, row), *rows[at:]])
        return row

    def _stand(self, row: Row, data: dict[str, Any], what: str) -> None:
        if what == "reconciled" and _is_over(self.status):
            self._learn(row)
            return
        row.status = _shown(what)
        row.note, row.fraction = str(data.get("message", "")), None
        if what == "started":
            row.children = data.get("children", row.children)
        row.began = row.began or self.at
        row.ended = self.at if _closes(what) else None
        row.again = self._short(data) if what == "retrying" else None

    def _learn(self, row: Row) -> None:
        """Note what became known after the end: nothing runs, and what was over stays so.

        Where the write was applied its step's success is told next.
        """
        if row.status == "needs_reconciliation":
            row.status, row.note = "cancelled", ""

    def _wait(self, step_id: str, wait: Wait | None) -> None:
        others = {name: other for name, other in self.waits.items() if name != step_id}
        self.waits = others if wait is None else others | {step_id: wait}

    def _asked(self, step_id: str, data: dict[str, Any], what: str) -> Wait | None:
        """Return what a step waits for after an event of its own."""
        if what == "needs_reconciliation" and data.get("code") == VERSION_MISSING:
            return self._question(step_id, str(data.get("message", "")), _NOT_RUN)
        if what == "needs_reconciliation":
            return self._listed({"step_id": step_id, "status": what})
        if what == "outcome_unknown":
            known = {"step_id": step_id, "status": "unknown", "until": data.get("probed_at")}
            return self._listed(known)
        if what in {"waiting_human", "waiting_external"}:
            end = data.get("expires_at", data.get("until"))
            return self._listed({"step_id": step_id, "status": what, "until": end})
        if what == "retrying" and data.get("delay_seconds"):
            text = f"step {step_id}: attempt {data.get('next_attempt', '')}"
            return Wait(text, self._later(float(data["delay_seconds"])))
        return None

    def _listed(self, wait: dict[str, Any]) -> Wait:
        """Return a wait from what the run's log lists of it."""
        step_id, status, end = str(wait["step_id"]), wait.get("status"), wait.get("until")
        if status == "needs_reconciliation":
            doubt = "nobody knows whether it wrote; ask its receiver, then answer"
            return self._question(step_id, doubt, OUTCOMES)
        text = f"step {step_id}: {_FOR.get(str(status), status)}"
        answer = f"onward approve {self.run_id} {step_id}" if status == "waiting_human" else ""
        return Wait(text, None if end is None else time_at(end), answer)

    def _question(self, step_id: str, text: str, choice: str) -> Wait:
        answer = f"onward resolve {self.run_id} {step_id} OUTCOME"
        return Wait(f"step {step_id}: {text}", answer=answer, choice=choice)

    def _short(self, data: dict[str, Any]) -> datetime | None:
        delay = float(data.get("delay_seconds") or 0)
        return self._later(delay) if delay <= _UNTOLD else None

    def _later(self, seconds: float) -> datetime | None:
        return None if self.at is None else time_at(self.at.timestamp() + seconds)


def _is_over(what: str) -> bool:
    """Whether a run ends with such an event, and has ended in the status of that name."""
    return f"run.{what}" in ENDS


def _closes(what: str) -> bool:
    return f"step.{what}" in STEP_ENDS


def _shown(what: str) -> str:
    """Return a step's status after an event; of a type unknown here, the type's own word."""
    known = TYPES.get(f"step.{what}")
    return what if known is None or known.shows is None else known.shows
