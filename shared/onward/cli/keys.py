"""`onward key`: an API key for a tenant.

The first key of a deployment cannot be had over its API, so this writes to the table itself:
the local stack's, or with the caller's own AWS credentials a deployed one's.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from onward.cli.connection import DEFAULT_STATE
from onward.cli.exits import WrongUse
from onward.cli.stack import State
from onward.client import ServiceUnreachable

if TYPE_CHECKING:
    from onward.aws.tenants import Tenants


def key(
    tenant: Annotated[str, typer.Option(help="Whose runs the key sees.")],
    role: Annotated[
        list[str] | None,
        typer.Option(help="submitter, operator, worker, approver or approver:GROUP; repeatable."),
    ] = None,
    subject: Annotated[str, typer.Option(help="Who holds it, as the log will name them.")] = "cli",
    state: State = DEFAULT_STATE,
    table: Annotated[
        str | None, typer.Option(help="RunsTable of a deployed stack, instead of the local one.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Issue an API key and print it; nobody can read it again."""
    from onward.app.keys import issue_key

    roles = role or ["submitter"]
    try:
        tenants = _deployed(table) if table else _local(state)
        text = issue_key(tenants, tenant, subject, roles, os.urandom)
    except ServiceUnreachable:
        raise
    except ValueError as error:
        raise WrongUse(str(error)) from error
    except Exception as error:
        # botocore knows some dozens of ways not to get there: credentials, region, network, grants.
        raise ServiceUnreachable(f"the key could not be stored: {error}") from error
    issued = {"api_key": text, "tenant": tenant, "subject": subject, "roles": roles}
    Console(soft_wrap=True).out(json.dumps(issued) if as_json else text, highlight=False)


def _local(state: Path) -> Tenants:
    from infra.local import stack
    from infra.local.deploy import client
    from onward.aws.tenants import Tenants

    running = stack.status(state)
    if running is None:
        raise ServiceUnreachable(f"no stack is running in {state}: start one with `onward up`")
    return Tenants(client("dynamodb", running), running.outputs["RunsTable"])


def _deployed(table: str) -> Tenants:
    from onward.aws.clients import client
    from onward.aws.tenants import Tenants

    return Tenants(client("dynamodb"), table)
