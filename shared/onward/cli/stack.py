"""`onward up` and `down`: the local stack."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onward.cli.connection import DEFAULT_STATE
from onward.cli.exits import StackFailed
from onward.cli.terminal import Terminal

if TYPE_CHECKING:
    from infra.local.stack import Stack

Port = Annotated[int | None, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")]
State = Annotated[Path, typer.Option(help="Directory that holds the stack's data.")]

_SHOWN = ("api_url", "ws_url", "endpoint_url", "api_key", "state_dir", "pid")


def up(
    port: Port = None,
    state: State = DEFAULT_STATE,
    drills: Annotated[
        bool | None,
        typer.Option(
            "--drills/--no-drills", help="Let inputs ask for faults; else as it was last time."
        ),
    ] = None,
    local_endpoints: Annotated[
        bool | None,
        typer.Option(
            "--local-endpoints/--no-local-endpoints",
            help="Let webhooks go to addresses of this machine; else as it was last time.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Start the local stack, or find it running, and print where it is."""
    stack = start(port, state, drills=drills, local_endpoints=local_endpoints)
    console = Terminal(soft_wrap=True, highlight=False)
    if as_json:
        console.out(json.dumps({name: getattr(stack, name) for name in _SHOWN}))
        return
    console.out(f"API   {stack.api_url}")
    console.out(f"key   {stack.api_key}")
    console.out(f"data  {stack.state_dir}")
    for line in _low():
        console.out(f"note  {line}")
    if stack.drills:
        console.out("note  inputs may ask for faults here (--no-drills ends that)")
    if not stack.local_endpoints:
        console.out("note  webhooks go to public addresses only (--local-endpoints ends that)")
    console.out(f"stop  {stop_command(state)}")


def _low() -> list[str]:
    """Return what `onward check` warns of, in a line; a fault would have shown already."""
    from infra.check import check

    found = check()
    named = [text.split(":", 1)[0].removeprefix("tool ") for text in found.warnings]
    return [f"onward check warns of {', '.join(named)}"] if named else []


def down(state: State = DEFAULT_STATE) -> None:
    """Stop the local stack; its data stays and the next `up` goes on with it."""
    from infra.local import stack

    Terminal().out("stopped" if stack.down(state) else "no stack was running")


def start(
    port: int | None,
    state: Path,
    *,
    drills: bool | None = None,
    local_endpoints: bool | None = None,
) -> Stack:
    """Bring the stack up. Whatever that prints goes to standard error.

    Raises:
        StackFailed: with what to do about it.
    """
    from infra.local import stack
    from infra.local.emulator import LocalStackError

    try:
        with redirect_stdout(sys.stderr):
            return stack.up(port, state, drills=drills, local_endpoints=local_endpoints)
    except LocalStackError as error:
        raise StackFailed(str(error)) from error


def stop_command(state: Path) -> str:
    """Return the command line that stops this stack."""
    return "onward down" if state == DEFAULT_STATE else f"onward down --state {state}"
