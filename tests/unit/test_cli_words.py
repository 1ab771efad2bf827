"""What went wrong and was made good, as a person reads it."""

from __future__ import annotations

from typing import Any

import pytest
from onward.cli.words import is_recovery, sentence

AT = 1_795_946_430.0
"""10:00:30 on the day of the event."""

RECOVERIES: list[tuple[str, dict[str, Any], str]] = [
    (
        "step.taken_over",
        {"step_id": "book", "attempt": 2, "cause": "Runtime.ExitError"},
        "step book: worker died, attempt 2 took over",
    ),
    (
        "step.taken_over",
        {"step_id": "book", "attempt": 2, "cause": "States.Timeout", "dead_for_sure": False},
        "step book: worker did not answer in time, attempt 2 took over",
    ),
    (
        "step.taken_over",
        {"step_id": "book", "attempt": 3, "cause": "Lambda.Unknown", "dead_for_sure": True},
        "step book: worker died (Lambda.Unknown), attempt 3 took over",
    ),
    (
        "step.taken_over",
        {"step_id": "book", "attempt": 3, "cause": "Lambda.Unknown", "dead_for_sure": False},
        "step book: worker was lost (Lambda.Unknown), attempt 3 took over",
    ),
    (
        "step.outcome_unknown",
        {"step_id": "book", "attempt": 1, "probed_at": AT, "message": "timed out"},
        "step book: outcome unknown, its receiver is asked at 10:00:30 - timed out",
    ),
    (
        "step.reconciled",
        {"step_id": "book", "outcome": "applied", "by": "probe"},
        "step book: its receiver says its write happened",
    ),
    (
        "step.reconciled",
        {"step_id": "book", "outcome": "not_applied", "by": "ada"},
        "step book: ada says its write did not happen",
    ),
    (
        "step.reconciled",
        {"step_id": "book", "outcome": "abandon", "by": "ada"},
        "step book: ada gave it up, whether it wrote stays unknown",
    ),
    (
        "step.reconciled",
        {"step_id": "book", "outcome": "not_applied", "by": "ada", "code": "version_missing"},
        "step book: ada says its version is back",
    ),
    (
        "step.reconciled",
        {"step_id": "book", "outcome": "abandon", "by": "ada", "code": "version_missing"},
        "step book: ada gave it up, for want of its version",
    ),
    (
        "run.resumed",
        {"generation": 3, "cause": "execution_dead"},
        "run restarted: its execution died, generation 3 takes over",
    ),
    (
        "run.resumed",
        {"generation": 3, "cause": "resumed_by_operator", "by": "ada"},
        "run resumed by ada, from its checkpoints",
    ),
]
OTHERS: list[tuple[str, dict[str, Any], str]] = [
    ("run.resumed", {"generation": 1, "cause": "wait_over"}, "run goes on, the wait is over"),
    ("run.resumed", {"generation": 3}, "run goes on"),
    (
        "run.resumed",
        {"generation": 2, "cause": "handoff"},
        "run restarted: its execution had grown long, generation 2 takes over",
    ),
    (
        "run.waiting",
        {
            "status": "backing_off",
            "steps": [{"step_id": "book", "status": "unknown", "until": AT}],
        },
        "run waits: step book unknown until 10:00:30",
    ),
    (
        "run.waiting",
        {
            "status": "backing_off",
            "steps": [{"step_id": "book", "status": "backing_off", "until": 1e18}],
        },
        "run waits: step book backing_off",
    ),
    (
        "run.waiting",
        {"status": "needs_reconciliation", "cause": "stalled", "steps": []},
        "run waits: needs_reconciliation - stalled",
    ),
    (
        "step.retrying",
        {"step_id": "book", "attempt": 1, "delay_seconds": 0.0, "message": "locked"},
        "book retrying at once - locked",
    ),
    (
        "step.needs_reconciliation",
        {"step_id": "book", "attempt": 2, "message": "no answer"},
        "book needs reconciliation (attempt 2) - no answer",
    ),
]


def told(what: str, data: dict[str, Any]) -> Any:
    return {"type": f"onward.{what}", "time": "2026-11-29T10:00:07.000Z", "data": data}


@pytest.mark.parametrize(("what", "data", "words"), RECOVERIES)
def test_a_recovery_is_told_in_words(what: str, data: dict[str, Any], words: str) -> None:
    """What was lost, and who goes on."""
    event = told(what, data)

    assert f"10:00:07  {words}" == sentence(event)
    assert is_recovery(event)


@pytest.mark.parametrize(("what", "data", "words"), OTHERS)
def test_a_wait_is_told_and_is_no_recovery(what: str, data: dict[str, Any], words: str) -> None:
    """Nothing was wrong, or nobody has made it good yet."""
    event = told(what, data)

    assert f"10:00:07  {words}" == sentence(event)
    assert not is_recovery(event)
