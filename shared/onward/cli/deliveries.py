"""`onward endpoints`, `endpoint`, `deliveries`, `redrive` and `alarms`: who hears of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from onward.cli.connection import DEFAULT_STATE, connect
from onward.cli.exits import Exit
from onward.cli.printing import AsJson, print_json, print_table
from onward.cli.stack import State
from onward.cli.terminal import Terminal
from onward.client import ServiceUnreachable

endpoint = typer.Typer(help="Make, change, rotate and delete webhooks.", no_args_is_help=True)


def endpoints(as_json: AsJson = False) -> None:
    """Show the webhooks that hear of runs: pending, enabled or disabled, and why."""
    with connect() as onward:
        rows = onward.endpoints()
    if not as_json:
        rows = [
            row | {"because": row["disabled_because"] or row["pending_because"]} for row in rows
        ]
    columns = ("id", "url", "event_types", "status", "because", "timeouts_in_a_row")
    _show(rows, columns, "nobody hears of runs: onward endpoint put NAME URL", as_json=as_json)


@endpoint.command("put")
def put_endpoint(
    name: Annotated[str, typer.Argument(help="Its id, a-z, 0-9, - and _.")],
    url: str,
    event_type: Annotated[
        list[str] | None, typer.Option(help="run.*, step.failed, *; repeatable.")
    ] = None,
    status_url: Annotated[
        str | None, typer.Option(help="Answers what it has heard of a run.")
    ] = None,
) -> None:
    """Make a webhook, or change it; the secret of a new one is printed, this once."""
    wish: dict[str, Any] = {"url": url}
    if event_type:
        wish["event_types"] = event_type
    if status_url:
        wish["status_url"] = status_url
    with connect() as onward:
        made = onward.put_endpoint(name, wish)
    Terminal(soft_wrap=True).out(made.get("secret", f"{name}  changed"), highlight=False)


@endpoint.command("rotate")
def rotate_endpoint(name: str) -> None:
    """Print a new secret; the one before it stays valid for a day."""
    with connect() as onward:
        rotated = onward.rotate_endpoint(name)
    Terminal(soft_wrap=True).out(rotated["secret"], highlight=False)


@endpoint.command("delete")
def delete_endpoint(name: str) -> None:
    """End a subscription."""
    with connect() as onward:
        onward.delete_endpoint(name)


def deliveries(
    run_id: Annotated[str | None, typer.Argument(help="Of this run; else the dead ones.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how far each webhook has got with a run, or which deliveries ran out of tries."""
    with connect() as onward:
        rows = onward.deliveries(run_id=run_id)
    columns = ("run_id", "endpoint_id", "state", "acked_seq", "attempts", "last_error")
    empty = "no delivery is dead" if run_id is None else "nothing was sent of this run yet"
    _show(rows, columns, empty, as_json=as_json)


def redrive() -> None:
    """Try every dead delivery again, once its receiver is mended."""
    with connect() as onward:
        count = onward.redrive()
    Terminal().out(f"{count} deliveries are tried again", highlight=False)


def alarms(state: State = DEFAULT_STATE, as_json: AsJson = False) -> None:
    """Show what rings on the local stack; exit 1 while something does."""
    rows = _alarms(state)
    ringing = [row for row in rows if row["state"] == "ALARM"]
    if as_json:
        print_json(*rows)
    else:
        columns = ("about", "metric", "state", "what")
        print_table(columns, ringing, f"{len(rows)} alarms, none of them rings")
    raise typer.Exit(Exit.RUN_FAILED if ringing else Exit.SUCCEEDED)


def _alarms(state: Path) -> list[dict[str, Any]]:
    from infra.local import stack
    from infra.local.deploy import client

    running = stack.status(state)
    if running is None:
        raise ServiceUnreachable(f"no stack is running in {state}: start one with `onward up`")
    pages = client("cloudwatch", running).get_paginator("describe_alarms").paginate()
    return [
        {
            "about": ", ".join(each["Value"] for each in alarm.get("Dimensions", [])),
            "metric": alarm["MetricName"],
            "state": alarm["StateValue"],
            "what": alarm.get("AlarmDescription", ""),
        }
        for page in pages
        for alarm in page["MetricAlarms"]
    ]


def _show(
    rows: list[dict[str, Any]], columns: tuple[str, ...], empty: str, *, as_json: bool
) -> None:
    if as_json:
        print_json(*rows)
    else:
        print_table(columns, rows, empty)
