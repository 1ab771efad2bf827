"""`onward demo`: one real run on the local stack, from nothing to a report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from onward.cli.connection import DEFAULT_STATE
from onward.cli.exits import Exit
from onward.cli.follow import conclude, follow
from onward.cli.inputs import read_file
from onward.cli.stack import Port, State, start, stop_command
from onward.cli.terminal import Terminal
from onward.client import Onward

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onward.client import ArtifactView, Snapshot

SAMPLE = Path(__file__).resolve().parents[3] / "tests" / "data" / "sample.xlsx"
_ARTIFACT = {"ref", "name", "size", "content_type"}


def demo(
    file: Annotated[
        Path, typer.Argument(help="An .xlsx workbook.", show_default="a sample")
    ] = SAMPLE,
    port: Port = None,
    state: State = DEFAULT_STATE,
) -> None:
    """Turn a workbook into a report, on this machine, and show every step of it."""
    body = read_file(file)
    console = Terminal(highlight=False, soft_wrap=True)
    began = time.monotonic()
    console.out("Starting the local stack ...")
    stack = start(port, state)
    console.out(f"Ready after {time.monotonic() - began:.1f} s: {stack.api_url}")
    with Onward(stack.api_url, stack.api_key) as onward:
        workbook = onward.upload(file.name, body)
        submitted = onward.submit("excel-report", {"file": workbook})
        console.out(f"{file.name} is uploaded, run {submitted['run_id']} is submitted.")
        code = follow(onward, submitted["run_id"], Terminal())
        run = onward.get(submitted["run_id"])
        conclude(run, console)
        if code is Exit.SUCCEEDED:
            _keep(onward, run, Path(stack.state_dir) / "reports", console)
    console.out(f"The stack is still up. Stop it with: {_make_or(stop_command(state))}")
    raise typer.Exit(code)


def _keep(onward: Onward, run: Snapshot, directory: Path, console: Console) -> None:
    """Download what the run made, and print where it lies."""
    directory = directory / run["run_id"]
    directory.mkdir(parents=True, exist_ok=True)
    for artifact in artifacts(run["result"]):
        path = directory / Path(artifact["name"]).name
        path.write_bytes(onward.download(artifact["ref"]))
        console.out(f"{path.stem}: {_from_here(path)}")


def artifacts(value: Any) -> Iterator[ArtifactView]:
    """Yield every artifact that a JSON value names, wherever it stands."""
    if isinstance(value, dict):
        if value.keys() >= _ARTIFACT:
            yield value  # type: ignore[misc]
        else:
            for member in value.values():
                yield from artifacts(member)
    elif isinstance(value, list):
        for member in value:
            yield from artifacts(member)


def _from_here(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _make_or(command: str) -> str:
    return f"make down (or {command})" if command == "onward down" else command
