"""What the description says of the calls about keys and the audit log."""

from __future__ import annotations

from typing import Final

from onward.documents import operating
from onward.http import queries
from onward.http.operations import Operation, Success

ACCESS_OPERATIONS: Final[dict[str, Operation]] = {
    "get_keys": Operation({200: Success("All of them.", operating.KeyList)}, problems=(403,)),
    "delete_key": Operation(
        {204: Success("It opens nothing any more.")},
        problems=(403, 404, 409, 422),
        query=queries.RevokeQuery,
    ),
    "get_audit": Operation(
        {200: Success("A page of entries.", operating.AuditEntryPage)},
        problems=(403, 422),
        query=queries.AuditQuery,
    ),
}
"""By the name of the route's function."""
