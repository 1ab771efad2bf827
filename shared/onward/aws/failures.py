"""Which failures of a call to AWS may pass by themselves."""

from __future__ import annotations

from typing import Final

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004

from onward.domain.errors import Unavailable

SERVER_ERROR: Final = 500

UNANSWERED: Final = (HTTPClientError, ConnectionError)
"""No reply came. What was sent may have been carried out, also where no connection was made: the
SDK reports its last try only, and one before that may have arrived. Bad parameters and missing
credentials are not among these: they fail the same way again."""

_NO_CAPACITY: Final = frozenset(
    {
        "LimitExceededException",  # a socket whose client does not read
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "SlowDown",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)


def may_pass(error: BaseException) -> bool:
    """Whether the same call may succeed later: throttled, unanswered, or the service's fault.

    What was sent may have been carried out all the same. So it is where a batch was left undone.
    """
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return error.response["Error"]["Code"] in _NO_CAPACITY or status >= SERVER_ERROR
    return isinstance(error, (*UNANSWERED, Unavailable))
