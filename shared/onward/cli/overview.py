"""`onward list`, `workflows` and `tools`: what there is on a service."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onward.cli.connection import connect
from onward.cli.printing import AsJson, print_json
from onward.cli.terminal import Terminal, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def list_(
    status: Annotated[
        str | None,
        typer.Option(
            help="Only runs that stand so; needs_reconciliation: all with an open question."
        ),
    ] = None,
    workflow: Annotated[str | None, typer.Option(help="Only runs of it.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first."""
    with connect() as onward:
        found = list(islice(onward.runs(status=status, workflow=workflow, limit=limit), limit))
    _print(found, ("run_id", "status", "workflow", "created_at", "ended_at"), as_json=as_json)


def workflows(as_json: AsJson = False) -> None:
    """List the workflows that runs can name; --json adds their schemas and plans."""
    with connect() as onward:
        found = onward.workflows()
    rows = [flow if as_json else flow | {"input": _members(flow)} for flow in found]
    _print(rows, ("name", "version", "input"), as_json=as_json)


def tools(as_json: AsJson = False) -> None:
    """List the tools that plans can use; --json adds their schemas."""
    with connect() as onward:
        found = onward.tools()
    rows = [tool if as_json else tool | {"input": _members(tool)} for tool in found]
    _print(rows, ("name", "effect", "idempotency", "timeout", "input"), as_json=as_json)


def _members(described: Mapping[str, Any]) -> str:
    """Name what an input has; what may be left out has a question mark."""
    schema = described["input_schema"]
    needed = schema.get("required", [])
    return " ".join(name if name in needed else f"{name}?" for name in schema.get("properties", {}))


def _print(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, as_json: bool) -> None:
    """Print a line a row, its columns one below the other; nothing is cut, for it may be piped."""
    if as_json:
        print_json(*rows)
        return
    console = Terminal(soft_wrap=True)
    cells = [
        ["" if row[name] is None else one_line(str(row[name])) for name in columns] for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        console.out("  ".join(padded).rstrip(), highlight=False)
