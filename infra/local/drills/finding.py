"""What a drill found out, and the checks that every refund has to pass."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onward.client import INTERRUPTIONS, NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from onward.client import CloudEvent, Snapshot


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a drill's report; `effects` is the count outside, `broken` what did not hold."""

    drill: str
    case: str
    status: str
    effects: int
    seen: str
    broken: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """`held` or `broken`."""
        return "broken" if self.broken else "held"

    @property
    def detail(self) -> str:
        """What broke, else what was measured."""
        return "; ".join(self.broken or self.notes)

    def to_json(self) -> str:
        """Return the finding as one line."""
        members = {
            "drill": self.drill,
            "case": self.case,
            "status": self.status,
            "effects": self.effects,
            "seen": self.seen,
            "verdict": self.verdict,
            "detail": self.detail,
        }
        return json.dumps(members, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Watched:
    """A run as its client followed it: every event, and the snapshot after the last."""

    order_id: str
    run: Snapshot
    events: Sequence[CloudEvent]

    @property
    def kinds(self) -> Counter[str]:
        """How many events there are of each type."""
        return Counter(event["type"].removeprefix(NAMESPACE) for event in self.events)

    @property
    def seen(self) -> str:
        """What the client saw, in words."""
        told = [f"{kind} ×{self.kinds[kind]}" for kind in INTERRUPTIONS if self.kinds[kind]]
        return ", ".join([f"{len(self.events)} events", *told, f"then {self.last}"])

    def of(self, kind: str, step_id: str | None = None) -> list[CloudEvent]:
        """Return the events of a type, of one step or of all."""
        return [
            event
            for event in self.events
            if event["type"] == NAMESPACE + kind and step_id in {None, event["data"].get("step_id")}
        ]

    def attempts(self, step_id: str) -> int:
        """Return how many attempts the snapshot shows for a step; none for one it does not have."""
        return next((s["attempts"] for s in self.run["steps"] if s["id"] == step_id), 0)

    @property
    def last(self) -> str:
        """The type of the last event that the client saw."""
        return self.events[-1]["type"].removeprefix(NAMESPACE) if self.events else "nothing"


def faults_of(watched: Watched, effects: dict[str, int], status: str = "succeeded") -> list[str]:
    """Return what is wrong with a refund that should have come through."""
    wrong = []
    if watched.run["status"] != status:
        wrong.append(f"the run is {watched.run['status']}: {watched.run['error']}")
    wrong += [f"{action}: {count} effects" for action, count in effects.items() if count != 1]
    numbers = [int(event["sequence"]) for event in watched.events]
    if numbers != list(range(1, watched.run["as_of_seq"] + 1)):
        wrong.append(f"the client saw {numbers} of {watched.run['as_of_seq']} events")
    twice = Counter(event["data"]["step_id"] for event in watched.of("step.succeeded"))
    wrong += [f"{step}: succeeded {n} times" for step, n in twice.items() if n > 1]
    return wrong


def claims(pairs: Iterable[tuple[bool, str]]) -> list[str]:
    """Return the texts of the claims that are false."""
    return [text for true, text in pairs if not true]
