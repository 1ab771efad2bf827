"""A run as a table of its steps, and below it what it waits for and what was recovered."""

from __future__ import annotations

from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from onward.cli.board import Row
from onward.cli.terminal import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import ConsoleDimensions

    from onward.cli.board import Board
    from onward.client import Snapshot

COLOURS: Final = {
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
_BAR: Final = 12
_OTHER_LINES: Final = 2
"""The table's head, and what says that rows are left out."""


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
            began=moment(step.get("started_at")),
            ended=moment(step.get("ended_at")),
        )
        _draw(table, step["id"], row, datetime.now(UTC))
    return Group(_title(run["workflow"], run["run_id"], run["status"]), table)


def live(board: Board, now: datetime, screen: ConsoleDimensions | None = None) -> Group:
    """Draw a run as it goes on. On a small screen steps are left out, never what is waited for."""
    below = [*_waits(board, now), *_recoveries(board)]
    table = _frame(whole=screen is None)
    title = _title(board.workflow, board.run_id, board.status)
    around = 0 if screen is None else _OTHER_LINES + _height([title, *below], screen.width)
    room = None if screen is None else screen.height - around
    drawn, hidden = _fitting(list(board.rows.items()), room)
    for step_id, row in drawn:
        _draw(table, step_id, row, now)
    left_out = [Text(f"… and {hidden} more", "dim")] if hidden else []
    return Group(title, table, *left_out, *below)


def moment(text: str | None) -> datetime | None:
    """Return an RFC 3339 time."""
    return datetime.fromisoformat(text) if text else None


def _fitting(rows: list[tuple[str, Row]], room: int | None) -> tuple[list[tuple[str, Row]], int]:
    """Return as many rows as there is room for, in order; those that are under way come first."""
    if room is None or len(rows) <= room:
        return rows, 0
    room = max(1, room)
    ranked = sorted(range(len(rows)), key=lambda number: _rank(rows[number][1]))
    chosen = sorted(ranked[:room])
    return [rows[number] for number in chosen], len(rows) - room


def _rank(row: Row) -> int:
    """What is under way or went wrong, then what comes next, then what is done."""
    return {"pending": 1, "succeeded": 2, "skipped": 2}.get(row.status, 0)


def _waits(board: Board, now: datetime) -> Iterator[Text]:
    for wait in board.waits.values():
        if wait.over(now):
            continue
        left = "" if wait.until is None else f" in {_span((wait.until - now).total_seconds())}"
        yield Text(f"{wait.what}{left}", COLOURS["backing_off"])
        if wait.answer:
            yield Text(f"  {wait.answer}", "bold")
        if wait.choice:
            yield Text(f"  OUTCOME is {wait.choice}", "dim")


def _recoveries(board: Board) -> Iterator[Text]:
    if board.recoveries:
        yield Text("recovered lately:", "dim")
    for told in board.recoveries:
        yield Text(f"  {told}", "dim")


def _span(seconds: float) -> str:
    """Return a time to go, as exactly as somebody who waits wants to know it."""
    if seconds < 100:  # noqa: PLR2004 - longer than a minute and a half is told in minutes
        return f"{ceil(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes / 60:.0f} h"  # noqa: PLR2004


def _title(workflow: str, run_id: str, status: str) -> Text:
    # A table's own title would be broken at the width of its columns.
    colour = COLOURS.get(status, "white")
    return Text.assemble(f"{workflow or 'plan'}  {run_id}  ", (status, colour))


def _height(lines: list[Text], width: int) -> int:
    return sum(-(-len(line) // width) for line in lines)


def _frame(*, whole: bool = True) -> Table:
    """Return an empty table; unless it shows messages as a whole, each step is one line."""
    table = Table(box=None, pad_edge=False, expand=not whole)
    table.add_column("step")
    table.add_column("status")
    table.add_column("attempts", justify="right")
    table.add_column("time", justify="right")
    if whole:
        table.add_column("progress")
    else:
        table.add_column("progress", no_wrap=True, overflow="ellipsis", ratio=1)
    return table


def _draw(table: Table, step_id: str, row: Row, now: datetime) -> None:
    seconds, status = row.seconds(now), row.standing(now)
    colour = COLOURS.get(status, "white")
    table.add_row(
        Text(step_id),
        Text(status, colour),
        str(row.attempts or ""),
        "" if seconds is None else f"{max(seconds, 0.0):.1f} s",
        Text(shown(_progress(row))),
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
