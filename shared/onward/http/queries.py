"""The parameters of query strings.

One description of each call's: requests are checked by it, and the OpenAPI document is made of it.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from onward.app.operating.audit import MAX_ENTRIES
from onward.app.reading.list_approvals import MAX_APPROVALS
from onward.app.reading.list_runs import MAX_NAME, MAX_RUNS
from onward.app.reading.recovery_stats import MAX_DAYS
from onward.app.reading.replay_events import MAX_EVENTS, MAX_WAIT
from onward.aws.audit import MAX_COMMENT
from onward.documents.schema import Described
from onward.domain.model import RunStatus
from onward.http.checks import Query, Says

MAX_SEQ: Final = 10**10 - 1
_TIME: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$"
_LONGEST_NUMBER: Final = 10
_NUMBER: Final = re.compile(r"[0-9]{1,20}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", re.ASCII)


def whole(text: str) -> int:
    """Return a whole number in plain digits; raises ValueError."""
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
        raise ValueError
    return int(text)


def _number(text: str) -> float:
    return float(text) if _NUMBER.fullmatch(text) else math.nan


def _flag(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError
    return text == "true"


class NoQuery(Query):
    """No parameters."""


class RunsQuery(Query):
    """Which runs, and how many a page."""

    status: RunStatus | None = Field(
        default=None,
        description="Only runs that stand so. `needs_reconciliation`: all that wait for a person,"
        " also those that failed with a question open, or go on beside it.",
    )
    workflow: (
        Annotated[
            str,
            Field(min_length=1, max_length=MAX_NAME, description="Only runs of it."),
            Says(f"workflow has 1 to {MAX_NAME} characters"),
        ]
        | None
    ) = None
    limit: Annotated[
        int, Field(ge=1, le=MAX_RUNS, description="Runs a page."), BeforeValidator(whole)
    ] = 50
    page_token: (
        Annotated[
            str,
            Described(
                description="`next_page_token` of a page with the same filters.",
                pattern="^[A-Za-z0-9_-]{60,300}$",
            ),
        ]
        | None
    ) = None


class RunQuery(Query):
    """How a run is shown."""

    children: Annotated[
        bool, Field(description="List the steps of fan-outs too."), BeforeValidator(_flag)
    ] = False
    verify: Annotated[bool, Field(description="Ask the endpoints."), BeforeValidator(_flag)] = False


class EventsQuery(Query):
    """Which events, and how long to wait for one; a `ticket` may be in a key's place."""

    ticket: str | None = None

    after: Annotated[
        int, Field(ge=0, le=MAX_SEQ, description="Events after this one."), BeforeValidator(whole)
    ] = 0
    limit: Annotated[
        int, Field(ge=1, le=MAX_EVENTS, description="Events a page."), BeforeValidator(whole)
    ] = 200
    wait: (
        Annotated[
            float,
            Field(
                ge=0,
                le=MAX_WAIT,
                description="Seconds to hold the request for the first event: 0, for a stream 20"
                " by itself.",
            ),
            BeforeValidator(_number),
        ]
        | None
    ) = None


class RecoveryQuery(Query):
    """Of how many days."""

    days: Annotated[
        int, Field(ge=1, le=MAX_DAYS, description="Days back."), BeforeValidator(whole)
    ] = 7


class ApprovalsQuery(Query):
    """How many open approvals a page."""

    limit: Annotated[
        int, Field(ge=1, le=MAX_APPROVALS, description="Approvals a page."), BeforeValidator(whole)
    ] = 50
    page_token: (
        Annotated[
            str,
            Described(
                description="`next_page_token` of a page.", pattern="^[A-Za-z0-9_-]{50,300}$"
            ),
        ]
        | None
    ) = None


class DeliveriesQuery(Query):
    """Which deliveries."""

    run_id: str | None = Field(
        default=None,
        description="Of this run; without one, the dead ones of all runs.",
        examples=["run_019ad0f0a0007000800000000000abcd"],
    )
    state: Literal["pending", "synced", "dead"] | None = Field(
        default=None, description="Only those that stand so."
    )


class RevokeQuery(Query):
    """How a key is revoked; a DELETE has no body."""

    last: Annotated[
        bool,
        Field(description="Revoke it also where no other operator's key is valid."),
        BeforeValidator(_flag),
    ] = False
    comment: Annotated[
        str, Field(max_length=MAX_COMMENT, description="Why; it is kept in the audit log.")
    ] = ""


class AuditQuery(Query):
    """Which entries of the audit log."""

    limit: Annotated[
        int, Field(ge=1, le=MAX_ENTRIES, description="Entries a page."), BeforeValidator(whole)
    ] = 50
    since: (
        Annotated[
            str,
            Field(pattern=_TIME, description="Only entries from this time on."),
            Says("since is a time like 2026-11-29T10:00:00Z"),
        ]
        | None
    ) = None
    page_token: (
        Annotated[
            str,
            Described(
                description="`next_page_token` of a page.", pattern="^[A-Za-z0-9_-]{50,300}$"
            ),
        ]
        | None
    ) = None
