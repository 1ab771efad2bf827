"""A run's log as a client is told it, and what a board makes of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from onward.cli.board import Board

SNAPSHOT: dict[str, Any] = {
    "run_id": "run_1",
    "workflow": "excel-report",
    "as_of_seq": 2,
    "steps": [{"id": "inspect"}, {"id": "analyse"}, {"id": "analyse.0"}, {"id": "publish"}],
}

ASKED = ("step.needs_reconciliation", {"step_id": "publish", "attempt": 1, "message": "no answer"})
RESOLVE = "onward resolve run_1 publish OUTCOME   # applied --result JSON, not_applied or abandon"
RESUME = "onward resume run_1"
START = datetime(2026, 11, 29, 10, tzinfo=UTC)


def board(*told: tuple[str, dict[str, Any]]) -> Board:
    """A board that has seen these events, one a second."""
    seen = Board.of(SNAPSHOT)  # type: ignore[arg-type]
    for event in log(*told):
        seen.apply(event)  # type: ignore[arg-type]
    return seen


def log(*told: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "type": f"onward.{what}",
            "time": f"2026-11-29T10:00:{number:02d}.000Z",
            "sequence": f"{number:010d}",
            "data": data,
        }
        for number, (what, data) in enumerate(told, start=1)
    ]
