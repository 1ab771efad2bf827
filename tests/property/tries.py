"""Attempts and fences are two numbers: every place that counts tries counts the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.domain.limits import SHORT_DELAY

if TYPE_CHECKING:
    from onward.domain.model import Event, Step
    from onward.domain.protocol import Outcome

    from tests.memory_store import MemoryStore


def check_tries(store: MemoryStore, outcome: Outcome, rows: dict[str, Step]) -> None:
    """Tries only grow, one at a time, never beyond the fence; log, rows and run agree on them."""
    for old, new in outcome.steps:
        made = 0 if old is None else old.attempt
        assert made <= new.attempt <= new.fence or new.children is not None
        assert new.attempt <= made + 1
        opens = new.fence > (0 if old is None else old.fence) and new.step_id in outcome.run.open
        last = old is not None and old.unbegun
        assert not opens or new.attempt == made + (not last)
        assert opens or new.attempt == made, "a try without an attempt"
        assert not new.unbegun or new.step_id not in outcome.run.open, "it may begin"
    assert outcome.run.attempts == sum(row.attempt for row in rows.values())
    told: dict[str, set[int]] = {new.step_id: {0} for _, new in outcome.steps}
    for event in (*store.events, *outcome.events):
        if event.data.get("step_id") in told:
            told[event.data["step_id"]].add(opened(event))
    for step_id, numbers in told.items():
        assert numbers == set(range(rows[step_id].attempt + 1)), f"{step_id}: {numbers}"


def opened(event: Event) -> int:
    """The number of the attempt that an event tells the opening of; 0 for any other."""
    data = event.data
    if event.type in {"step.started", "step.taken_over"}:
        return int(data.get("attempt", 0))
    if event.type == "step.retrying" and data["delay_seconds"] <= SHORT_DELAY:
        return int(data["next_attempt"])
    return 0
