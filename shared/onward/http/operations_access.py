"""What the description says of the calls about keys and the audit log."""

from __future__ import annotations

from typing import Final

from onward.app.operating.audit import MAX_ENTRIES
from onward.aws.audit import MAX_COMMENT
from onward.documents import operating
from onward.http.operations import Operation, Success
from onward.http.routes_access import DEFAULT_ENTRIES

ACCESS_OPERATIONS: Final[dict[str, Operation]] = {
    "get_keys": Operation({200: Success("All of them.", operating.KeyList)}, problems=(403,)),
    "delete_key": Operation(
        {204: Success("It opens nothing any more.")},
        problems=(403, 404, 409, 422),
        parameters=(
            {
                "name": "last",
                "in": "query",
                "description": "Revoke it also where no other operator's key is valid.",
                "schema": {"type": "boolean", "default": False},
            },
            {
                "name": "comment",
                "in": "query",
                "description": "Why; it is kept in the audit log.",
                "schema": {"type": "string", "maxLength": MAX_COMMENT},
            },
        ),
    ),
    "get_audit": Operation(
        {200: Success("A page of entries.", operating.AuditEntryPage)},
        problems=(403, 422),
        parameters=(
            {
                "name": "limit",
                "in": "query",
                "description": "Entries a page.",
                "schema": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_ENTRIES,
                    "default": DEFAULT_ENTRIES,
                },
            },
            {
                "name": "since",
                "in": "query",
                "description": "Only entries from this time on.",
                "schema": {
                    "type": "string",
                    "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$",
                },
            },
            {
                "name": "page_token",
                "in": "query",
                "description": "`next_page_token` of a page.",
                "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{50,300}$"},
            },
        ),
    ),
}
"""By the name of the route's function."""
