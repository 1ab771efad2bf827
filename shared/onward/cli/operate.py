"""`onward effects`, `resolve`, `resume`, `patrol` and `recovery`: what operators ask and answer."""

from __future__ import annotations

from typing import Annotated

import typer

from onward.cli.connection import connect
from onward.cli.inputs import read_json
from onward.cli.printing import AsJson, print_json, print_table
from onward.cli.terminal import Terminal

Comment = Annotated[str, typer.Option(help="Why; the audit log keeps it.")]


def effects(run_id: str, as_json: AsJson = False) -> None:
    """Show every action of a run that may have touched the world."""
    with connect() as onward:
        found = onward.effects(run_id)
    if as_json:
        print_json(found)
        return
    rows = found["effects"]
    shown: tuple[str, ...] = ("step_id", "tool", "state", "fence", "sent_at", "key")
    if any(row.get("duplicate_suspected_at") for row in rows):
        shown = (*shown, "duplicate_suspected_at")
    print_table(shown, rows, "no step of this run writes")


def resolve(
    run_id: str,
    step_id: str,
    outcome: Annotated[str, typer.Argument(help="applied, not_applied or abandon.")],
    result: Annotated[
        str,
        typer.Option(help="Its output, where applied: JSON or @file; without it, its receipt."),
    ] = "null",
    comment: Comment = "",
) -> None:
    """Answer for a write whose outcome nobody knows; its run goes on."""
    value = read_json(result, "--result")
    with connect() as onward:
        run = onward.resolve(run_id, step_id, outcome, value, comment=comment)
    Terminal().out(f"{run_id}  {run['status']}", highlight=False)


def cancel(
    run_id: str, reason: Annotated[str, typer.Option(help="Why; its log keeps it.")] = ""
) -> None:
    """Cancel a run: what it has not sent yet is never sent; `effects` says what was."""
    with connect() as onward:
        run = onward.cancel(run_id, reason=reason)
    Terminal().out(f"{run_id}  {run['status']}", highlight=False)


def resume(run_id: str, comment: Comment = "") -> None:
    """Let a failed run go on from its checkpoints, once its cause is mended."""
    with connect() as onward:
        run = onward.resume(run_id, comment=comment)
    Terminal().out(f"{run_id}  {run['status']}", highlight=False)
    Terminal().out(f"follow it with: onward watch {run_id}", highlight=False)


def patrol(as_json: AsJson = False) -> None:
    """Look after every run of the tenant that is due, now."""
    with connect() as onward:
        found = onward.patrol()
    if as_json:
        print_json(found)
        return
    repairs = ", ".join(f"{count} {name}" for name, count in found["repairs"].items())
    Terminal().out(
        f"looked at {found['looked']}: {repairs or 'nothing to repair'}", highlight=False
    )


def recovery(days: int = 7, as_json: AsJson = False) -> None:
    """Show what interrupted runs, how soon they went on, and what that saved."""
    with connect() as onward:
        found = onward.recovery(days)
    if as_json:
        print_json(found)
        return
    shown = (
        "cause",
        "count",
        "typical_steps",
        "resume_median_seconds",
        "resume_max_seconds",
        "tokens_saved",
        "duplicates_prevented",
    )
    print_table(shown, found["causes"], f"nothing was interrupted in the last {days} days")
