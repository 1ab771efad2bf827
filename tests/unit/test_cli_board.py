"""How a run stands, as its events tell it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.run_log import ASKED, RESOLVE, RESUME, START, board, log


def test_planned_steps_are_shown_before_they_begin() -> None:
    """The snapshot's steps stand there as pending; a fan-out is one line, not its children."""
    rows = board().rows

    assert list(rows) == ["inspect", "analyse", "publish"]
    assert {row.status for row in rows.values()} == {"pending"}


def test_a_retried_step_counts_its_attempts_and_its_whole_time() -> None:
    """Time runs from the first attempt's start to the last one's end."""
    inspect = board(
        ("step.started", {"step_id": "inspect", "attempt": 1}),
        ("step.retrying", {"step_id": "inspect", "attempt": 1, "next_attempt": 2}),
        ("step.taken_over", {"step_id": "inspect", "attempt": 3, "cause": "worker died"}),
        ("step.succeeded", {"step_id": "inspect", "attempt": 3}),
    ).rows["inspect"]

    assert (inspect.status, inspect.attempts) == ("succeeded", 3)
    assert inspect.ended is not None
    assert inspect.seconds(inspect.ended) == 3.0


def test_children_add_up_to_their_parent() -> None:
    """Attempts and ends of children are counted on the fan-out's line; its status is its own."""
    seen = board(
        ("step.started", {"step_id": "analyse", "children": 2}),
        ("step.started", {"step_id": "analyse.0", "attempt": 1}),
        ("step.started", {"step_id": "analyse.1", "attempt": 1}),
        ("step.succeeded", {"step_id": "analyse.1", "attempt": 1}),
    )
    analyse = seen.rows["analyse"]

    assert (analyse.status, analyse.children_done, analyse.children) == ("executing", 1, 2)
    assert analyse.attempts == 2
    assert "analyse.0" not in seen.rows


@pytest.mark.parametrize(
    ("told", "status"),
    [
        (("run.queued", {}), "queued"),
        (("run.started", {}), "running"),
        (("run.waiting", {"status": "backing_off"}), "backing_off"),
        (("run.cancelled", {}), "cancelled"),
    ],
)
def test_the_runs_status_follows_its_events(told: tuple[str, dict[str, Any]], status: str) -> None:
    """A wait says itself what is waited for."""
    assert board(told).status == status


def test_a_write_in_doubt_is_asked_for_until_it_is_answered() -> None:
    """Its command stands there from the question to the answer, and no longer."""
    asked = board(ASKED, ("run.waiting", {"status": "needs_reconciliation", "steps": []}))
    assert [RESOLVE] == asked.answers

    answered = ("step.reconciled", {"step_id": "publish", "outcome": "applied", "by": "me"})
    told = board(ASKED, ("run.waiting", {"status": "needs_reconciliation"}), answered)
    assert [] == told.answers
    assert "queued" == told.status


def test_an_approval_is_asked_for_until_somebody_decides() -> None:
    """Also while other steps of the run work; its command stands there as long."""
    asks = ("step.waiting_human", {"step_id": "publish", "tool": "send", "expires_at": None})
    asked = board(asks)
    assert ["onward approve run_1 publish"] == [a.split("   ")[0] for a in asked.answers]
    assert "waiting_human" == asked.rows["publish"].status
    said = {"step_id": "publish", "by": "ann", "comment": "", "action_version": "v"}
    assert [] == board(asks, ("step.approved", said | {"edited": False})).answers
    assert [] == board(asks, ("step.rejected", said)).answers


def test_a_sleep_says_until_when() -> None:
    """And has no command."""
    nap = board(("step.waiting_external", {"step_id": "publish", "until": 1_800_000_000.0}))
    assert nap.waits["publish"].until is not None
    assert [] == nap.answers


def test_a_step_whose_version_is_gone_says_so() -> None:
    """It has written nothing, and there is something to do before it is answered for."""
    gone = {"step_id": "publish", "attempt": 1, "code": "version_missing", "message": "it is gone"}
    asked = board(("step.needs_reconciliation", gone)).waits["publish"]

    assert "step publish: it is gone" == asked.what
    assert RESOLVE.split("   ")[0] == asked.answer
    assert "not_applied once the version is back, applied --result JSON or abandon" == asked.choice


def test_a_child_of_a_fan_out_is_answered_by_its_own_name() -> None:
    """The table has one line for all children, the question does not."""
    seen = board(("step.needs_reconciliation", {"step_id": "analyse.3", "attempt": 1}))

    assert ["onward resolve run_1 analyse.3 OUTCOME"] == [a.split("   ")[0] for a in seen.answers]


def test_a_wait_that_only_the_run_tells_of_is_shown_too() -> None:
    """A resumed run waits again without another event of its steps."""
    listed = [
        {"step_id": "publish", "status": "needs_reconciliation", "until": None},
        {"step_id": "inspect", "status": "backing_off", "until": START.timestamp() + 30},
    ]
    seen = board(("run.waiting", {"status": "needs_reconciliation", "steps": listed}))

    assert [RESOLVE] == seen.answers
    assert START + timedelta(seconds=30) == seen.waits["inspect"].until


@pytest.mark.parametrize("far", [1e12, 1e18, 1e300, float("inf")])
def test_a_time_beyond_the_calendar_is_no_time(far: float) -> None:
    """An older service may have taken a provider's wish at its word; the wait is shown."""
    listed = [{"step_id": "publish", "status": "unknown", "until": far}]
    seen = board(
        ("step.retrying", {"step_id": "inspect", "next_attempt": 2, "delay_seconds": far}),
        ("run.waiting", {"status": "backing_off", "steps": listed}),
    )

    assert {"inspect": None, "publish": None} == {s: wait.until for s, wait in seen.waits.items()}


def test_a_failed_run_says_how_it_goes_on() -> None:
    """Resumed, it says nothing of it."""
    failed = ("run.failed", {"step_id": "inspect", "message": "no sheet"})

    assert [RESUME] == board(failed).answers
    assert [] == board(failed, ("run.resumed", {"cause": "resumed_by_operator"})).answers
    assert [] == board(("run.cancelled", {})).answers


def test_a_failed_run_goes_on_asking_for_a_write_in_doubt() -> None:
    """What else it waited for has ended with it; answered, nothing of it is underway again."""
    waits = ("step.outcome_unknown", {"step_id": "inspect", "probed_at": 1_795_946_460.0})
    failed = (("step.started", {"step_id": "publish", "attempt": 1}), ASKED, waits)
    seen = board(*failed, ("run.failed", {"message": "no sheet"}))
    answered = {"step_id": "publish", "outcome": "not_applied", "by": "olga"}
    after = board(*failed, ("run.failed", {}), ("step.reconciled", answered))

    assert [RESOLVE, RESUME] == seen.answers
    assert "needs_reconciliation" == seen.rows["publish"].status
    assert ([RESUME], "cancelled") == (after.answers, after.rows["publish"].status)
    assert after.rows["publish"].ended == seen.rows["publish"].ended


def test_what_no_resume_can_help_is_not_offered_one() -> None:
    """An input that cannot be made has no attempt, and will not have one."""
    failed = {"step_id": "inspect", "attempt": 0, "message": "no such field"}
    hopeless = ("step.failed", failed | {"code": "invalid_input"})

    assert [] == board(hopeless, ("run.failed", {})).answers


def test_what_a_person_rejected_can_be_asked_again() -> None:
    """It was never attempted either, but its input is there."""
    rejected = ("step.failed", {"step_id": "inspect", "attempt": 0, "code": "rejected"})

    assert [RESUME] == board(rejected, ("run.failed", {})).answers


def test_a_stalled_run_is_resumed() -> None:
    """Nobody drives it: no step of it waits, but it does."""
    stalled = ("run.waiting", {"status": "needs_reconciliation", "cause": "stalled", "steps": []})
    seen = board(stalled)
    assert [RESUME] == seen.answers

    for event in log(("run.resumed", {"cause": "resumed_by_operator"}), ("run.resumed", {})):
        seen.apply(event)  # type: ignore[arg-type]
    assert ([], "running") == (seen.answers, seen.status)


def test_another_driver_of_a_run_that_waits_ends_no_wait() -> None:
    """The run goes on waiting, whoever drives it."""
    waiting = ("run.waiting", {"status": "needs_reconciliation", "steps": []})
    dead = ("run.resumed", {"generation": 2, "cause": "execution_dead"})
    seen = board(ASKED, waiting, dead, ("run.resumed", {"generation": 2}))

    assert ("needs_reconciliation", [RESOLVE]) == (seen.status, seen.answers)


def test_what_reports_is_executing() -> None:
    """A back-off ends without an event of its own; the next attempt's word will do."""
    retrying = ("step.retrying", {"step_id": "inspect", "next_attempt": 2, "delay_seconds": 3})
    progress = ("step.progress", {"step_id": "inspect", "attempt": 2, "fraction": 0.5})
    seen = board(retrying, progress)

    assert "executing" == seen.rows["inspect"].status
    assert {} == seen.waits


def test_steps_that_a_plan_adds_stand_before_what_has_yet_to_begin() -> None:
    """Whoever added them has no children for that: those are a fan-out's."""
    seen = board(
        ("step.started", {"step_id": "inspect", "attempt": 1}),
        ("step.progress", {"step_id": "inspect", "fraction": 1.0, "added": 2}),
        ("step.started", {"step_id": "more-1", "attempt": 1}),
        ("step.started", {"step_id": "more-2", "attempt": 1}),
        ("step.succeeded", {"step_id": "inspect", "children": 2}),
    )

    assert ["inspect", "more-1", "more-2", "analyse", "publish"] == list(seen.rows)
    assert seen.rows["inspect"].children is None


def test_a_runs_end_stops_the_clocks_of_its_steps() -> None:
    """What was under way is cancelled with the run, without an event; what is unknown stays so."""
    started = [("step.started", {"step_id": step, "attempt": 1}) for step in ("inspect", "publish")]
    seen = board(*started, ASKED, ("run.failed", {}))

    assert ("cancelled", "needs_reconciliation", "pending") == tuple(
        seen.rows[step].status for step in ("inspect", "publish", "analyse")
    )
    assert 3.0 == seen.rows["inspect"].seconds(START + timedelta(hours=1))


def test_a_child_that_ends_again_counts_once() -> None:
    """A resumed run tries it anew."""
    failed = ("step.failed", {"step_id": "analyse.0", "attempt": 1})
    again = ("step.started", {"step_id": "analyse.0", "attempt": 2})
    assert 1 == board(failed).rows["analyse"].children_done
    assert 0 == board(failed, again).rows["analyse"].children_done
    assert 1 == board(failed, again, failed).rows["analyse"].children_done
