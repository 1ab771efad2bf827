"""Follow a run to its end: a live table on a terminal, lines elsewhere, JSON for programs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from onward.cli.board import Board, Row, sentence
from onward.cli.exits import Exit

if TYPE_CHECKING:
    from rich.console import Console

    from onward.client import Onward, Snapshot

_COLOURS = {
    "succeeded": "green",
    "failed": "red",
    "cancelled": "yellow",
    "executing": "cyan",
    "backing_off": "yellow",
    "unknown": "magenta",
    "needs_reconciliation": "magenta",
    "pending": "dim",
    "skipped": "dim",
}
_BAR = 12


def follow(onward: Onward, run_id: str, console: Console, *, as_json: bool = False) -> Exit:
    """Show events until the run has ended; the exit code says how."""
    board = Board.of(onward.get(run_id))
    events = onward.watch(run_id, patience=600)
    if as_json:
        for event in events:
            board.apply(event)
            console.out(json.dumps(event, ensure_ascii=False), highlight=False)
    elif console.is_terminal:
        with Live(console=console, get_renderable=lambda: _table(board), transient=False) as live:
            for event in events:
                board.apply(event)
                live.refresh()
    else:
        for event in events:
            board.apply(event)
            console.out(sentence(event), highlight=False)
    return Exit.SUCCEEDED if board.status == "succeeded" else Exit.RUN_FAILED


def conclude(run: Snapshot, console: Console) -> None:
    """Say in two lines how a run ended and why."""
    counts = run["counts"]
    colour = _COLOURS.get(run["status"], "white")
    console.print(
        f"Run {run['run_id']} [{colour}]{run['status']}[/]: {counts['done']} of {counts['total']} "
        f"steps done in {_counted(counts['attempts'], 'attempt')}{_took(run)}.",
        highlight=False,
        soft_wrap=True,
    )
    error = run["error"]
    if error:
        where = f"step {error['step']}: " if error.get("step") else ""
        console.out(f"  {where}{error['message']} ({error['code']})", highlight=False)


def picture(run: Snapshot) -> Group:
    """Draw a snapshot as a table of its steps."""
    table = _frame()
    for step in run["steps"]:
        children = step.get("children")
        row = Row(
            status=step["status"],
            tries={step["id"]: step.get("attempts", 0)},
            note=step["error"].get("message", "") if step.get("error") else "",
            children=children["total"] if children else None,
            children_done=children["done"] if children else 0,
            began=_moment(step.get("started_at")),
            ended=_moment(step.get("ended_at")),
        )
        _draw(table, step["id"], row, datetime.now(UTC))
    return _titled(run["workflow"], run["run_id"], run["status"], table)


def _table(board: Board) -> Group:
    table = _frame()
    # The service's clock made the start times; this machine's is only good enough in between.
    now = datetime.now(UTC)
    for step_id, row in list(board.rows.items()):
        _draw(table, step_id, row, now)
    return _titled(board.workflow, board.run_id, board.status, table)


def _titled(workflow: str, run_id: str, status: str, table: Table) -> Group:
    # A table's own title would be broken at the width of its columns.
    colour = _COLOURS.get(status, "white")
    title = f"{escape(workflow or 'plan')}  {run_id}  [{colour}]{status}[/]"
    return Group(Text.from_markup(title), table)


def _frame() -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("step")
    table.add_column("status")
    table.add_column("attempts", justify="right")
    table.add_column("time", justify="right")
    table.add_column("progress")
    return table


def _draw(table: Table, step_id: str, row: Row, now: datetime) -> None:
    seconds = row.seconds(now)
    colour = _COLOURS.get(row.status, "white")
    table.add_row(
        step_id,
        f"[{colour}]{row.status}[/]",
        str(row.attempts or ""),
        "" if seconds is None else f"{max(seconds, 0.0):.1f} s",
        escape(_progress(row)),
    )


def _progress(row: Row) -> str:
    if row.children is not None:
        share = f"{row.children_done}/{row.children}"
        return " ".join(filter(None, [_bar(row.children_done, row.children), share, row.note]))
    if row.fraction is not None:
        return " ".join(filter(None, [_bar(row.fraction, 1), f"{row.fraction:.0%}", row.note]))
    return row.note


def _bar(done: float, total: float) -> str:
    full = round(_BAR * done / total) if total else _BAR
    return "█" * full + "░" * (_BAR - full)


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _took(run: Snapshot) -> str:
    began, ended = _moment(run["created_at"]), _moment(run["ended_at"])
    return f", {(ended - began).total_seconds():.1f} s" if began and ended else ""
