"""Small transactions outside of runs: rows of two tables, and the audit entry beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from onward.domain.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Sequence

_CONDITION: Final = "ConditionalCheckFailed"
_PASSING: Final = frozenset(
    {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
)


def write_together(client: Any, writes: Sequence[dict[str, Any]]) -> bool:
    """Write all of them or nothing; False when a condition failed.

    Raises Conflict where somebody else was writing one of the rows at that moment, and whatever
    botocore raises where no reply came: then the caller reads, or is asked again. The SDK repeats
    a transaction under one token, so its own repetition writes nothing twice.
    """
    try:
        client.transact_write_items(TransactItems=list(writes))
    except client.exceptions.TransactionCanceledException as error:
        reasons = {reason.get("Code", "None") for reason in error.response["CancellationReasons"]}
        if _CONDITION in reasons:
            return False
        if reasons & _PASSING:
            raise Conflict("the rows were being written by somebody else") from error
        raise
    return True
