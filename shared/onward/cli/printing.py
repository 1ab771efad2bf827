"""What commands print of what a service answered: JSON for programs, a table for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from onward.cli.terminal import Terminal, json_line

_PIPE = 400
"""Characters: nobody breaks the lines of a pipe but its reader."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one document a line.")]


def print_json(*documents: Mapping[str, Any]) -> None:
    """Print each document on a line of its own."""
    for document in documents:
        Terminal().out(json_line(document), highlight=False)


def print_table(columns: tuple[str, ...], rows: Iterable[Mapping[str, Any]], empty: str) -> None:
    """Print these columns of the rows, or what to say where there is no row.

    No cell is cut off: it takes more lines on a narrow terminal, and none in a pipe.
    """
    table = Table()
    for name in columns:
        table.add_column(name.replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(row[name])) for name in columns))
    console = Terminal()
    if not console.is_terminal:
        console = Terminal(width=_PIPE)
    if table.row_count:
        console.print(table)
    else:
        console.out(empty, highlight=False)


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
