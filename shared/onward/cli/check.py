"""`onward check`: what is wrong with the workflows that are here."""

from __future__ import annotations

from typing import Annotated

import typer

from onward.cli.exits import Exit
from onward.cli.printing import AsJson, print_json
from onward.cli.terminal import Terminal


def check(
    drills: Annotated[
        bool, typer.Option("--drills", help="With the tools that inject faults.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Load every workflow and print its faults and warnings; exit code 2 where there is a fault."""
    from infra.check import check as look  # the catalogue, which no other command loads

    found = look(drills=drills)
    if as_json:
        print_json({"faults": list(found.faults), "warnings": list(found.warnings)})
    else:
        console = Terminal(soft_wrap=True, highlight=False)
        for fault in found.faults:
            console.out(f"fault    {fault}")
        for warning in found.warnings:
            console.out(f"warning  {warning}")
        console.out(f"{found.tools} tools and {found.workflows} workflows were looked at")
    if found.faults:
        raise typer.Exit(Exit.WRONG_USE)
