"""What a person sees of a run while it goes on."""

from __future__ import annotations

import io
import json
import shlex
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from onward.cli import app
from onward.cli.board import Board, Row
from onward.cli.demo import artifacts
from onward.cli.exits import Exit
from onward.cli.follow import follow
from onward.cli.picture import live
from onward.client import Onward
from onward.client.wire import BackOff
from rich.console import Console, ConsoleDimensions
from typer.testing import CliRunner

from tests.unit.run_log import ASKED, RESOLVE, RESUME, SNAPSHOT, START, board, log
from tests.unit.scripted_answers import Clock, Script, page
from tests.unit.scripted_api import serve


def shown(*told: tuple[str, dict[str, Any]], as_json: bool = False) -> list[str]:
    """Return what a pipe is told of a log that ends with its run."""
    out = io.StringIO()
    for api in serve():
        api.routes["GET /runs/run_1"] = (200, SNAPSHOT)
        api.log = log(*told)
        with Onward(api.url, "ow_key") as onward:
            follow(onward, "run_1", Console(file=out), as_json=as_json)
    return out.getvalue().splitlines()


def drawn(seen: Board, seconds: float, screen: ConsoleDimensions | None = None) -> list[str]:
    """Return the lines of a screen so many seconds into a run."""
    console = Console(file=io.StringIO(), width=100, record=True)
    console.print(live(seen, START + timedelta(seconds=seconds), screen))
    return [line.rstrip() for line in console.export_text().splitlines()]


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


@pytest.mark.parametrize("answer", [RESOLVE, RESUME])
def test_the_commands_that_answer_are_commands(
    answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are taken as they are shown, with one of the outcomes that they name."""
    for api in serve():
        monkeypatch.setenv("ONWARD_API_URL", api.url)
        monkeypatch.setenv("ONWARD_API_KEY", "ow_key")
        api.routes["POST /runs/run_1/resume"] = (202, {"status": "queued"})
        api.routes["POST /runs/run_1/steps/publish/resolution"] = (200, {"status": "queued"})
        _, *words = shlex.split(answer.replace("OUTCOME", "abandon"), comments=True)
        done = CliRunner().invoke(app, words)

        assert Exit.SUCCEEDED == done.exit_code
        assert 1 == len(api.asked)


def test_a_pipe_is_told_the_command_below_its_question() -> None:
    """Once, however many events follow; what was answered before anybody watched, not at all."""
    other = ("step.needs_reconciliation", {"step_id": "inspect", "attempt": 1})
    answer = ("step.reconciled", {"step_id": "inspect", "outcome": "applied", "by": "me"})
    lines = shown(
        other, answer, ASKED, ("step.started", {"step_id": "analyse"}), ("run.failed", {})
    )

    assert [
        "10:00:01  inspect needs reconciliation",
        "10:00:02  step inspect: me says its write happened",
        "10:00:03  publish needs reconciliation - no answer",
        f"          {RESOLVE}",
        "10:00:04  analyse started",
        "10:00:05  run failed",
        f"          {RESUME}",
    ] == lines


def test_json_is_told_nothing_but_events() -> None:
    """Neither commands nor words."""
    told = (ASKED, ("step.taken_over", {"step_id": "inspect"}), ("run.failed", {}))

    assert log(*told) == [json.loads(line) for line in shown(*told, as_json=True)]


@pytest.mark.parametrize(("delay", "then"), [(4.0, "executing"), (8.0, "backing_off")])
def test_a_back_off_counts_down(delay: float, then: str) -> None:
    """After a short one the next attempt runs without saying so; a long one ends with an event."""
    data = {"step_id": "inspect", "attempt": 1, "next_attempt": 2, "delay_seconds": delay}
    seen = board(("step.retrying", data))

    assert f"step inspect: attempt 2 in {delay:.0f} s" in drawn(seen, 1)
    assert [] == [line for line in drawn(seen, 1 + delay) if "attempt 2 in" in line]
    assert then == seen.rows["inspect"].standing(START + timedelta(seconds=1 + delay))


def test_the_table_has_what_waits_and_what_was_recovered_below_it() -> None:
    """The last three recoveries, in words; a wait that is simply over is none."""
    lost = {"step_id": "inspect", "cause": "Runtime.ExitError"}
    seen = board(
        *(("step.taken_over", lost | {"attempt": attempt}) for attempt in (2, 3, 4)),
        ("run.resumed", {"generation": 2, "cause": "execution_dead"}),
        ("run.resumed", {"generation": 2, "cause": "wait_over"}),
        ASKED,
    )

    assert [
        "step publish: nobody knows whether it wrote; ask its receiver, then answer",
        "  onward resolve run_1 publish OUTCOME",
        "  OUTCOME is applied --result JSON, not_applied or abandon",
        "recovered lately:",
        "  10:00:02  step inspect: worker died, attempt 3 took over",
        "  10:00:03  step inspect: worker died, attempt 4 took over",
        "  10:00:04  run restarted: its execution died, generation 2 takes over",
    ] == drawn(seen, 9)[-7:]


def test_on_a_small_screen_steps_make_room_for_the_question() -> None:
    """What is under way stays, and what is asked for; the last picture is whole."""
    started = [("step.started", {"step_id": f"s{number}"}) for number in range(25)]
    ended = [("step.succeeded", {"step_id": f"s{number}"}) for number in range(24)]
    seen = board(*started, *ended, ASKED)
    small = drawn(seen, 59, ConsoleDimensions(100, 12))

    assert len(small) <= 12
    assert "  onward resolve run_1 publish OUTCOME" in small
    assert {"s24", "publish"} <= {line.split()[0] for line in small}
    assert 25 < len(drawn(seen, 59))


def test_artifacts_are_found_wherever_a_result_names_them() -> None:
    """The demo downloads every document of a result without knowing its shape."""
    report = {"ref": "art_1", "name": "report.html", "size": 1, "content_type": "text/html"}
    summary = report | {"ref": "art_2", "name": "summary.json"}

    found = list(artifacts({"report": report, "more": [{"deep": summary}], "rows": 3}))

    assert found == [report, summary]


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

    console.print(live(seen, START, None))
    assert "summary" not in screen.getvalue()
    console.print(live(seen, START, None))
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
