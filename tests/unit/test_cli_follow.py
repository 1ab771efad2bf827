"""What a person sees of a run while it goes on."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any

import httpx
import pytest
from onward.cli.board import Board, Row
from onward.cli.demo import artifacts
from onward.cli.exits import Exit
from onward.cli.follow import _table, follow
from onward.client import Onward
from onward.client.wire import BackOff
from rich.console import Console

from tests.unit.scripted_answers import Clock, Script, page
from tests.unit.scripted_api import serve

SNAPSHOT: dict[str, Any] = {
    "run_id": "run_1",
    "workflow": "excel-report",
    "steps": [{"id": "inspect"}, {"id": "analyse"}, {"id": "analyse.0"}, {"id": "publish"}],
}


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


def test_a_terminal_gets_a_table_that_ends_as_the_run_does() -> None:
    """On a terminal the last picture shows every step, and brackets in notes are only text."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    for api in serve():
        api.routes["GET /runs/run_1"] = (200, SNAPSHOT)
        api.log = log(
            ("step.started", {"step_id": "analyse", "children": 2}),
            ("step.succeeded", {"step_id": "analyse.0"}),
            ("step.failed", {"step_id": "inspect", "message": "no [bold] sheet"}),
            ("run.failed", {}),
        )
        with Onward(api.url, "ow_key") as onward:
            code = follow(onward, "run_1", console)

    assert code is Exit.RUN_FAILED
    shown = screen.getvalue()
    assert "1/2" in shown
    assert "no [bold] sheet" in shown


def test_a_step_that_comes_while_the_table_is_drawn_waits_for_the_next_picture() -> None:
    """The terminal draws on a thread of its own, beside the events."""
    seen = board()

    class Growing(Row):
        def seconds(self, now: datetime) -> float | None:
            seen.rows["summary"] = Row()
            return super().seconds(now)

    seen.rows["inspect"] = Growing()
    screen = io.StringIO()
    console = Console(file=screen, width=100)

    console.print(_table(seen))
    assert "summary" not in screen.getvalue()
    console.print(_table(seen))
    assert "summary" in screen.getvalue()


def test_watching_outlasts_an_absence_of_ten_minutes() -> None:
    """A service that is away for as long as a deployment goes wrong costs no watching."""
    clock = Clock()
    script = Script([httpx.Response(200, json=SNAPSHOT), page(1, last=2), page(2, ended=True)])

    def answer(request: httpx.Request) -> httpx.Response:
        if len(script.asked) == 2 and clock.now < 590:
            raise httpx.ConnectError("away")
        return script(request)

    back_off = BackOff(sleep=clock.sleep, clock=lambda: clock.now, jitter=lambda: 1.0)
    transport = httpx.MockTransport(answer)
    screen = io.StringIO()
    with Onward("http://service", "ow_key", transport=transport, back_off=back_off) as onward:
        follow(onward, "run_1", Console(file=screen), as_json=True)

    assert 2 == len(screen.getvalue().splitlines())


def test_artifacts_are_found_wherever_a_result_names_them() -> None:
    """The demo downloads every document of a result without knowing its shape."""
    report = {"ref": "art_1", "name": "report.html", "size": 1, "content_type": "text/html"}
    summary = report | {"ref": "art_2", "name": "summary.json"}

    found = list(artifacts({"report": report, "more": [{"deep": summary}], "rows": 3}))

    assert found == [report, summary]
