"""A tenant's runs, newest first, a page at a time."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NoReturn

from onward.app.ids import RUN_ID
from onward.aws.codec import dumps, iso
from onward.aws.run_index import Position
from onward.domain.errors import Fault, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.app.service import Service
    from onward.documents.runs import RunPage, RunRow

MAX_RUNS: Final = 200
MAX_NAME: Final = 128

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_LONGEST_TOKEN: Final = 300
_PARTS: Final = 3


def list_runs(
    service: Service, tenant: str, wanted: Mapping[str, str], limit: int, token: str | None
) -> RunPage:
    """Return a page of runs and the token of the next one, null at the end.

    A page has `limit` runs unless the list ends or holds 10,000 others in between. Runs that
    are accepted while somebody turns pages do not move those that come; a run whose status
    changes meanwhile may join or leave a filtered list. With the status `needs_reconciliation`
    it lists every run with an open question, also one that has failed or goes on beside it.
    Raises InvalidRequest.
    """
    seal = _seal(tenant, wanted)
    after = None if token is None else _read(token, seal)
    found = service.index.newest(tenant, wanted, limit, after)
    return {
        "runs": [_row(row) for row in found.rows],
        "next_page_token": None if found.more is None else _written(found.more, seal),
    }


def _row(row: Mapping[str, Any]) -> RunRow:
    ended = row.get("ended_at")
    return {
        "run_id": row["run_id"],
        "workflow": row["workflow"],
        "status": row["status"],
        "created_at": row["created_at"],
        "ended_at": None if ended is None else iso(ended),
    }


def _seal(tenant: str, wanted: Mapping[str, str]) -> str:
    """Return what binds a token to one list.

    It is against tokens of another list, which would quietly leave runs out, and no secret: the
    tenant comes from the caller's key, so a forged token turns to another page of one's own.
    """
    return sha256(dumps([tenant, dict(wanted)]).encode()).hexdigest()[:16]


def _written(position: Position, seal: str) -> str:
    return urlsafe_b64encode(dumps([*position, seal]).encode()).decode().rstrip("=")


def _read(token: str, seal: str) -> Position:
    parts: Any = None
    if len(token) <= _LONGEST_TOKEN and re.fullmatch(r"[A-Za-z0-9_-]+", token):
        try:
            parts = json.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        except ValueError:
            parts = None
    if (
        not isinstance(parts, list)
        or len(parts) != _PARTS
        or not all(isinstance(part, str) for part in parts)
        or parts[2] != seal
        or not _TIME.fullmatch(parts[0])
        or not RUN_ID.fullmatch(parts[1])
    ):
        _wrong("page_token", "page_token is the next_page_token of a page with the same filters")
    return Position(parts[0], parts[1])


def _wrong(name: str, message: str) -> NoReturn:
    raise InvalidRequest(message, (Fault(f"/{name}", message),))
