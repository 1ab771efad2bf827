"""How a run stands, step by step, built from its events alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onward.client import Event, Snapshot

_STATUS = {
    "started": "executing",
    "retrying": "backing_off",
    "taken_over": "executing",
    "outcome_unknown": "unknown",
    "reconciled": "executing",
    "approved": "executing",
}
_CLOSED = frozenset({"succeeded", "failed", "skipped", "cancelled", "compensated"})


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

    @property
    def attempts(self) -> int:
        """Attempts so far, those of all children together."""
        return sum(self.tries.values())

    def seconds(self, now: datetime) -> float | None:
        """How long the step has taken so far; None before it began."""
        return None if self.began is None else ((self.ended or now) - self.began).total_seconds()


@dataclass
class Board:
    """All steps in plan order, and the run's own status."""

    run_id: str
    workflow: str
    status: str = "queued"
    at: datetime | None = None
    rows: dict[str, Row] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot) -> Board:
        """Lay out the steps that are planned so far; what became of them, the events will tell."""
        planned = {step["id"]: Row() for step in snapshot["steps"] if "." not in step["id"]}
        return cls(snapshot["run_id"], snapshot["workflow"], rows=planned)

    def apply(self, event: Event) -> None:
        """Take one event into account; events of a kind unknown here change only the clock."""
        self.at = datetime.fromisoformat(event["time"])
        subject, _, what = event["type"].removeprefix("onward.").partition(".")
        if subject == "run":
            self.status = event["data"].get("status", _run_status(what))
        elif subject == "step":
            self._step(event, what)

    def _step(self, event: Event, what: str) -> None:
        data = event["data"]
        whole_id = str(data.get("step_id", ""))
        step_id, _, child = whole_id.partition(".")
        row = self.rows.setdefault(step_id, Row())
        # A retry or takeover opens the next attempt by itself: no second `started` follows.
        attempt = int(data.get("next_attempt") or data.get("attempt") or 0)
        if attempt:
            row.tries[whole_id] = max(attempt, row.tries.get(whole_id, 0))
        if what == "progress":
            row.fraction, row.note = data.get("fraction"), str(data.get("note", ""))
            return
        row.note = str(data.get("message") or data.get("cause") or "")
        if child:
            row.children_done += what in _CLOSED
            return
        row.status = _STATUS.get(what, what)
        row.children = data.get("children", row.children)
        row.began = row.began or self.at
        if what in _CLOSED:
            row.ended, row.fraction = self.at, None


def _run_status(what: str) -> str:
    return {"started": "running", "resumed": "running"}.get(what, what)


def sentence(event: Event) -> str:
    """Tell one event in one line, for a log or a pipe."""
    data = event["data"]
    subject, _, what = event["type"].removeprefix("onward.").partition(".")
    words = [
        str(data.get("step_id", "run")) if subject == "step" else "run",
        what.replace("_", " "),
    ]
    if what == "progress":
        words = [words[0], f"{float(data.get('fraction') or 0):.0%}", str(data.get("note", ""))]
    if data.get("children") is not None:
        words.append(f"({data['children']} children)")
    elif what not in {"progress", "retrying"} and int(data.get("attempt") or 1) > 1:
        words.append(f"(attempt {data['attempt']})")
    if "delay_seconds" in data:
        words.append(f"in {float(data['delay_seconds']):.1f} s")
    reason = data.get("message") or data.get("cause")
    if reason:
        words.append(f"- {reason}")
    return f"{event['time'][11:19]}  {' '.join(word for word in words if word)}"
