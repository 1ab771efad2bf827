"""Follow a run to its end: a live table on a terminal, lines elsewhere, JSON for programs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from rich.live import Live
from rich.text import Text

from onward.cli.board import OUTCOMES, Board
from onward.cli.exits import Exit
from onward.cli.picture import COLOURS, live, moment
from onward.cli.terminal import json_line, one_line
from onward.cli.words import sentence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console, Group

    from onward.client import CloudEvent, Onward, Snapshot

PATIENCE: Final = 600.0
"""Seconds in a row that the service may be away: a deployment that goes wrong takes minutes."""

_MARGIN: Final = " " * len("00:00:00  ")


def follow(onward: Onward, run_id: str, console: Console, *, as_json: bool = False) -> Exit:
    """Show events until the run has ended; the exit code says how."""
    run = onward.get(run_id)
    board, events = Board.of(run), onward.watch(run_id, patience=PATIENCE)
    if as_json:
        for event in events:
            board.apply(event)
            console.out(json_line(event), highlight=False)
    elif console.is_terminal and not console.is_dumb_terminal:
        _draw(board, events, console, run["as_of_seq"])
    else:
        _tell(board, events, console, run["as_of_seq"])
    return Exit.SUCCEEDED if board.status == "succeeded" else Exit.RUN_FAILED


def conclude(run: Snapshot, console: Console) -> None:
    """Say in two lines how a run ended and why."""
    counts = run["counts"]
    colour = COLOURS.get(run["status"], "white")
    ended = Text.assemble(
        f"Run {run['run_id']} ",
        (run["status"], colour),
        f": {counts['done']} of {counts['total']} steps done "
        f"in {_counted(counts['attempts'], 'attempt')}{_took(run)}.",
    )
    console.print(ended, soft_wrap=True)
    error = run["error"]
    if error:
        where = f"step {error['step']}: " if error.get("step") else ""
        told = f"  {where}{error['message']} ({error['code']})"
        console.out(one_line(told), highlight=False)


def ask(run: Snapshot, console: Console) -> None:
    """Name the command that answers each open question of a run, which may have ended.

    And where somebody has to look, because a write seems to have happened twice.
    """
    for question in run.get("open_questions", []):
        step = question["step_id"]
        said = f"  step {step}: {question.get('message', 'its outcome is unknown')}"
        console.out(one_line(said), highlight=False)
        console.out(f"  onward resolve {run['run_id']} {step} OUTCOME   # {OUTCOMES}")
    for asked in run.get("open_approvals", []):
        step, tool = asked["step_id"], asked["tool"]
        console.out(one_line(f"  step {step}: {tool} waits for an approval"), highlight=False)
        console.out(f"  onward approve {run['run_id']} {step}", highlight=False)
    if run.get("effects", {}).get("duplicates_suspected"):
        console.out("  a write seems to have happened twice; look at its receiver:")
        console.out(f"  onward effects {run['run_id']}")


def _draw(board: Board, events: Iterable[CloudEvent], console: Console, known: int) -> None:
    """Keep a table up to date that fits the screen; the last one, which stays, is whole.

    Up to event `known` all is history: no clock of it runs.
    """
    history, going_on = True, True

    def picture() -> Group:
        now = datetime.now(UTC)
        at = board.at or now if history else now
        return live(board, at, console.size if going_on else None)

    with Live(console=console, get_renderable=picture) as drawn:
        for event in events:
            board.apply(event)
            history = int(event["sequence"]) < known
            if not history:
                drawn.refresh()
        going_on = False


def _tell(board: Board, events: Iterable[CloudEvent], console: Console, known: int) -> None:
    """Tell each event in a line, and below it the command that answers, once each.

    Up to event `known` all is history, and what was asked there may have been answered since.
    """
    told: list[str] = []
    for event in events:
        board.apply(event)
        console.out(one_line(sentence(event)), highlight=False)
        if int(event["sequence"]) >= known:
            for answer in board.answers:
                if answer not in told:
                    console.out(one_line(_MARGIN + answer), highlight=False)
            told = board.answers


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _took(run: Snapshot) -> str:
    began, ended = moment(run["created_at"]), moment(run["ended_at"])
    return f", {(ended - began).total_seconds():.1f} s" if began and ended else ""
