"""`onward approvals`, `approve` and `reject`: actions that wait for a person."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onward.cli.connection import connect
from onward.cli.inputs import read_json
from onward.cli.operate import Comment
from onward.cli.printing import AsJson, print_json, print_table
from onward.cli.terminal import Terminal

if TYPE_CHECKING:
    from onward.client import ApprovalView, Onward

Version = Annotated[
    str,
    typer.Option("--version", help="The action_version you have seen; without it you are asked."),
]


def approvals(as_json: AsJson = False) -> None:
    """List the actions that wait for somebody's approval, oldest first."""
    with connect() as onward:
        found = list(onward.approvals())
    if as_json:
        print_json(*found)
        return
    rows: list[Any] = [row | {"groups": ", ".join(row["groups"]) or "any"} for row in found]
    shown = ("run_id", "step_id", "tool", "groups", "asked_at", "expires_at", "action_version")
    print_table(shown, rows, "nothing waits for an approval")


def approve(
    run_id: str,
    step_id: str,
    version: Version = "",
    edit: Annotated[
        str, typer.Option(help="Members of the input to use instead: JSON or @file.")
    ] = "",
    comment: Comment = "",
) -> None:
    """Let a step do what it proposes."""
    edited = read_json(edit, "--edit") if edit else None
    if edited is not None and not isinstance(edited, dict):
        raise typer.BadParameter("is an object of members of the input", param_hint="--edit")
    with connect() as onward:
        version = version or _seen(onward, run_id, step_id, "approve")
        decided = onward.approve(run_id, step_id, version, edited_input=edited, comment=comment)
    Terminal().out(f"{run_id}  {step_id}  {decided['state']}", highlight=False)


def reject(run_id: str, step_id: str, version: Version = "", comment: Comment = "") -> None:
    """Refuse what a step proposes."""
    with connect() as onward:
        version = version or _seen(onward, run_id, step_id, "reject")
        decided = onward.reject(run_id, step_id, version, comment=comment)
    Terminal().out(f"{run_id}  {step_id}  {decided['state']}", highlight=False)


def _seen(onward: Onward, run_id: str, step_id: str, word: str) -> str:
    """Show the proposed action and ask; return its version."""
    for proposed in onward.approvals():
        if (proposed["run_id"], proposed["step_id"]) == (run_id, step_id):
            _show(proposed)
            typer.confirm(f"{word} it?", abort=True)
            return proposed["action_version"]
    raise typer.BadParameter(f"step {step_id} of {run_id} waits for no approval; see `approvals`")


def _show(proposed: ApprovalView) -> None:
    text = json.dumps(proposed["input"], indent=2, ensure_ascii=False).splitlines()
    for line in (f"tool     {proposed['tool']}", f"version  {proposed['action_version']}", *text):
        Terminal().out(line, highlight=False)
