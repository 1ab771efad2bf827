"""`onward run`, `watch` and `show`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from onward.cli.connection import connect
from onward.cli.exits import Exit, WrongUse
from onward.cli.follow import PATIENCE, ask, conclude, follow
from onward.cli.inputs import read_files, read_json, read_object
from onward.cli.picture import picture
from onward.cli.printing import AsJson, print_json
from onward.cli.terminal import Terminal
from onward.client import Onward, ServiceUnreachable


def run(
    workflow: Annotated[str | None, typer.Argument(help="Name of a deployed workflow.")] = None,
    plan: Annotated[str | None, typer.Option(help="A plan instead: JSON or @file.")] = None,
    input_: Annotated[str, typer.Option("--input", help="JSON or @file.")] = "{}",
    file: Annotated[
        list[str] | None, typer.Option(help="field=path: upload, and set input.field to it.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Idempotency-Key: same key, same run, for a day.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Follow the run to its end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Submit a run."""
    if (workflow is None) == (plan is None):
        raise WrongUse("name a workflow, or give --plan")
    steps = None if plan is None else _plan(read_json(plan, "--plan"))
    values = read_object(input_, "--input")
    files = read_files(file or [])
    console = Terminal()
    with connect() as onward:
        for field, (name, body) in files.items():
            values[field] = onward.upload(name, body)
        submitted = onward.submit(workflow, values, plan=steps, key=key)
        if watch:
            raise typer.Exit(_to_the_end(onward, submitted["run_id"], console, as_json=as_json))
        if as_json:
            print_json(submitted)
        else:
            run_id = submitted["run_id"]
            console.out(f"{run_id}  {submitted['status']}", highlight=False)
            console.out(f"follow it with: onward watch {run_id}", highlight=False)


def watch(run_id: str, as_json: AsJson = False) -> None:
    """Follow a run, from its first event to its end; the exit code says how it ended."""
    with connect() as onward:
        raise typer.Exit(_to_the_end(onward, run_id, Terminal(), as_json=as_json))


def show(run_id: str, as_json: AsJson = False) -> None:
    """Show a run as it stands."""
    console = Terminal()
    with connect() as onward:
        snapshot = onward.get(run_id)
    if as_json:
        print_json(snapshot)
        return
    console.print(picture(snapshot))
    conclude(snapshot, console)
    ask(snapshot, console)
    if snapshot["result"] is not None:
        console.print_json(data=snapshot["result"])


def _to_the_end(onward: Onward, run_id: str, console: Console, *, as_json: bool) -> Exit:
    try:
        code = follow(onward, run_id, console, as_json=as_json)
        if not as_json:
            conclude(onward.get(run_id, patience=PATIENCE), console)
    except ServiceUnreachable as error:
        again = f"onward watch {run_id}"
        raise ServiceUnreachable(f"{error}; once it is back: {again}") from error
    return code


def _plan(document: Any) -> Any:
    """A whole request body is accepted too: people keep `{"plan": …}` in their files."""
    return document["plan"] if isinstance(document, dict) and "plan" in document else document
