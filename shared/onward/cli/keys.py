"""`onward key`, `keys` and `audit`: issue API keys, list and revoke them, and see who did what.

A key is issued with the caller's own AWS credentials, or into the local stack: neither the API nor
any function of it can make one.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from onward.cli.connection import DEFAULT_STATE, connect
from onward.cli.exits import WrongUse
from onward.cli.printing import AsJson, print_json, print_table
from onward.cli.stack import State
from onward.cli.terminal import Terminal
from onward.client import ServiceUnreachable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onward.aws.api_keys import ApiKeys

keys = typer.Typer(help="List the API keys of the tenant, and revoke them.")

_SPAN: Final = re.compile(r"([1-9][0-9]{0,3})([mhd])")
_SECONDS: Final = {"m": 60, "h": 3600, "d": 86_400}

Table = Annotated[
    str | None, typer.Option(help="AccessTable of a deployed stack, instead of the local one.")
]


def key(
    tenant: Annotated[str, typer.Option(help="Whose runs the key sees.")],
    role: Annotated[
        list[str] | None,
        typer.Option(help="submitter, operator, worker, approver or approver:GROUP; repeatable."),
    ] = None,
    subject: Annotated[str, typer.Option(help="Who holds it, as the log will name them.")] = "cli",
    expires: Annotated[
        str | None, typer.Option(help="When it ends: 30d, 12h, 90m; without, never.")
    ] = None,
    state: State = DEFAULT_STATE,
    table: Table = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Issue an API key and print it; nobody can read it again."""
    from onward.app.access.keys import issue_key
    from onward.aws.codec import iso

    roles, now = role or ["submitter"], time.time()
    until = None if expires is None else now + _seconds(expires)
    with _storing():
        held = _deployed(table) if table else _local(state)
        text, made = issue_key(held, tenant, subject, roles, os.urandom, now, until)
    issued = {
        "api_key": text,
        "id": made.key_id,
        "tenant": tenant,
        "subject": subject,
        "roles": roles,
        "expires_at": None if until is None else iso(until),
    }
    Terminal(soft_wrap=True).out(json.dumps(issued) if as_json else text, highlight=False)


@keys.callback(invoke_without_command=True)
def list_keys(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the tenant's keys: whose, what for, last used, until when; never a key itself."""
    if context.invoked_subcommand is not None:
        return
    with connect() as onward:
        rows = onward.keys()
    if as_json:
        print_json(*rows)
        return
    shown = ("id", "subject", "roles", "state", "created_at", "last_used_at", "expires_at")
    print_table(shown, rows, "nobody holds a key")


@keys.command("revoke")
def revoke(
    key_id: str,
    comment: Annotated[str, typer.Option(help="Why; the audit log keeps it.")] = "",
    last: Annotated[bool, typer.Option("--last", help="Also the last one of an operator.")] = False,
) -> None:
    """Revoke a key: it is refused at once, its sockets are closed, its tickets void."""
    with connect() as onward:
        onward.revoke_key(key_id, comment=comment, last=last)
    Terminal().out(f"{key_id}  revoked", highlight=False)


@keys.command("adopt")
def adopt(
    tenant: Annotated[str, typer.Argument(help="Whose keys.")],
    runs_table: Annotated[str, typer.Option(help="RunsTable of a deployed stack.")],
    table: Annotated[str, typer.Option(help="AccessTable of the same stack.")],
) -> None:
    """Let keys open that an earlier release kept with the runs; with your AWS credentials."""
    from onward.app.access.keys import adopt_keys
    from onward.aws.clients import client
    from onward.aws.tenants import Tenants

    with _storing():
        old = Tenants(client("dynamodb"), runs_table)
        adopted = adopt_keys(_deployed(table), old, tenant, time.time())
    Terminal(soft_wrap=True).out("\n".join(adopted) or "none are left to adopt", highlight=False)


def audit(
    since: Annotated[
        str | None, typer.Option(help="The earliest time, such as 2026-11-29T10:00:00Z.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Entries at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show what operators did, newest first."""
    with connect() as onward:
        entries = onward.audit(since=since, limit=limit)
        rows = [entry for entry, _ in zip(entries, range(limit), strict=False)]
    if as_json:
        print_json(*rows)
        return
    shown = ("at", "action", "target", "subject", "key_id", "comment")
    print_table(shown, rows, "no operator has done anything")


@contextmanager
def _storing() -> Iterator[None]:
    """Say in one line why keys could not be stored."""
    try:
        yield
    except ServiceUnreachable:
        raise
    except ValueError as error:
        raise WrongUse(str(error)) from error
    except Exception as error:
        # botocore knows some dozens of ways not to get there: credentials, region, network, grants.
        raise ServiceUnreachable(f"the key could not be stored: {error}") from error


def _seconds(span: str) -> int:
    found = _SPAN.fullmatch(span)
    if found is None:
        raise WrongUse(f"--expires is like 30d, 12h or 90m, not {span!r}")
    return int(found[1]) * _SECONDS[found[2]]


def _local(state: Path) -> ApiKeys:
    from infra.local import stack
    from infra.local.deploy import client
    from onward.aws.api_keys import ApiKeys

    running = stack.status(state)
    if running is None:
        raise ServiceUnreachable(f"no stack is running in {state}: start one with `onward up`")
    return ApiKeys(client("dynamodb", running), running.outputs["AccessTable"])


def _deployed(table: str) -> ApiKeys:
    from onward.aws.api_keys import ApiKeys
    from onward.aws.clients import client

    return ApiKeys(client("dynamodb"), table)
