"""`onward drill`: rehearse faults on the local stack, and count what happened outside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from onward.cli.connection import DEFAULT_STATE
from onward.cli.exits import Exit, StackFailed, WrongUse
from onward.cli.printing import AsJson
from onward.cli.stack import Port, State, start
from onward.cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from infra.local.drills.finding import Finding
    from infra.local.stack import Stack


def drill(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Which drills; docs/using.md lists them.", show_default="all"),
    ] = None,
    port: Port = None,
    state: State = DEFAULT_STATE,
    quick: Annotated[bool, typer.Option("--quick", help="Leave repetitions out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Break one thing after the other on purpose; exit 1 if a guarantee did not hold."""
    from infra.local.drills.runner import DRILLS, run

    chosen = names or list(DRILLS)
    unknown = [name for name in chosen if name not in DRILLS]
    if unknown:
        raise WrongUse(f"no drill is called {', '.join(unknown)}; there are {', '.join(DRILLS)}")
    found = run(_stack(port, state), chosen, quick=quick)
    raise typer.Exit(report(found, Terminal(highlight=False, soft_wrap=True), as_json=as_json))


def report(findings: Iterable[Finding], console: Console, *, as_json: bool) -> Exit:
    """Print each finding as it comes; return whether any guarantee broke."""
    broken = False
    for finding in findings:
        broken = broken or finding.verdict == "broken"
        if as_json:
            console.out(finding.to_json())
        else:
            console.print(_line(finding))
    return Exit.RUN_FAILED if broken else Exit.SUCCEEDED


def _stack(port: int | None, state: Path) -> Stack:
    """Return the stack that is up here, or bring one up for drills.

    Raises:
        StackFailed: the one that is up does not allow drills.
    """
    from infra.local import stack

    running = stack.status(state)
    if running is None:
        return start(port, state, drills=True)
    if not running.drills:
        raise StackFailed(f"the stack in {state} does not rehearse faults: onward up --drills")
    return running


def _line(finding: Finding) -> Text:
    """Status, what the tool really did, what the client saw, verdict."""
    colour = "green" if finding.verdict == "held" else "bold red"
    name = f"{finding.drill} ({finding.case})" if finding.case else finding.drill
    parts = [
        Text(name, "bold"),
        Text(finding.status),
        Text(f"{finding.effects} effects"),
        Text(finding.seen),
        Text(finding.verdict, colour),
    ]
    return Text(" · ").join(parts) + (f"\n    {finding.detail}" if finding.detail else "")
