"""All commands together."""

from __future__ import annotations

import typer

from onward.cli import approve, check, deliveries, demo, drill, keys, operate, overview, runs, stack
from onward.cli.exits import Commands

app = typer.Typer(
    cls=Commands,
    help="Carry multi-step AI tasks to their end. "
    "Exit codes: 0 succeeded, 1 the run failed or was cancelled, 2 wrong use or bad input, "
    "3 the service is not reachable.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(stack.up)
app.command()(stack.down)
app.command()(check.check)
app.command()(demo.demo)
app.command()(runs.run)
app.command()(runs.watch)
app.command()(runs.show)
app.command("list")(overview.list_)
app.command()(overview.workflows)
app.command()(overview.tools)
app.command()(keys.key)
app.add_typer(keys.keys, name="keys")
app.command()(keys.audit)
app.command()(approve.approvals)
app.command()(approve.approve)
app.command()(approve.reject)
app.command()(operate.effects)
app.command()(operate.resolve)
app.command()(operate.resume)
app.command()(operate.cancel)
app.command()(operate.patrol)
app.command()(operate.recovery)
app.command()(deliveries.endpoints)
app.add_typer(deliveries.endpoint, name="endpoint")
app.command()(deliveries.deliveries)
app.command()(deliveries.redrive)
app.command()(deliveries.alarms)
app.command()(drill.drill)
