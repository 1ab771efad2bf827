"""The one table that says what an error of a tool means for its step.

raised by a tool                      before a send    once its write is marked as sent
Transient, RateLimited                retry            retry (the tool says: not applied)
InvalidInput, PermissionDenied, Fatal fail at once     fail at once (the same)
OutcomeUnknown                        retry            unknown
pydantic errors, HTTP 4xx             fail at once     unknown
AccessDenied …, HTTP 401 and 403      fail at once     unknown
throttling, HTTP 429                  retry            unknown
time-outs, lost connections, HTTP 5xx,
anything else                         retry            unknown

Before a send: read tools, probes, and the input of a write. After it only the tool knows whether
a refusal was its receiver's or came from whatever was called next; so only its own word counts.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from onward.domain.errors import (
    InvalidInput,
    OutcomeUnknown,
    PermissionDenied,
    RateLimited,
    StepError,
    Transient,
)
from onward.domain.limits import MAX_WAIT
from onward.domain.model import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

MESSAGE_CHARACTERS: Final = 500

_DENIED: Final = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "UnauthorizedOperation",
        "UnrecognizedClientException",
    }
)
_THROTTLED: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_INVALID: Final = frozenset({"ValidationException", "InvalidParameterValue", "NoSuchBucket"})

_PASSING: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY})
"""Client errors (HTTP 4xx) that the same request need not meet again."""


def classify(error: Exception, *, writes: bool) -> Failure:
    """Return what an error that a tool raised means; `writes`: after its write was sent."""
    said = _say(error)
    if isinstance(error, OutcomeUnknown):
        return Failure("outcome_unknown", said, retryable=True)
    if isinstance(error, StepError):
        after = error.retry_after if isinstance(error, RateLimited) else 0.0
        return Failure(error.code, said, error.retryable, after)
    if writes:
        return Failure("outcome_unknown", said, retryable=True)
    kind = _refusal(error) or _answered(error)
    if kind is not None:
        after = _seconds(error) if kind is RateLimited else 0.0
        return Failure(kind.code, said, kind.retryable, after)
    timed_out = isinstance(error, TimeoutError) or "Timeout" in type(error).__name__
    return Failure("timeout" if timed_out else "transient", said, retryable=True)


def _refusal(error: Exception) -> type[StepError] | None:
    """Return why a request was refused before it could have done anything."""
    code = _service_code(error)
    if code in _DENIED or isinstance(error, PermissionError):
        return PermissionDenied
    if code in _INVALID or _is(error, "pydantic_core", "ValidationError"):
        return InvalidInput
    return RateLimited if code in _THROTTLED else None


def _answered(error: Exception) -> type[StepError] | None:
    """Return what an HTTP status that httpx raised means; None for other errors, or without it."""
    if not _is(error, "httpx", "HTTPStatusError"):
        return None
    status = getattr(getattr(error, "response", None), "status_code", None)
    if not isinstance(status, int):
        return None
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return PermissionDenied
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return RateLimited
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _PASSING:
        return Transient
    return InvalidInput


def _seconds(error: Exception) -> float:
    """Return an answer's Retry-After in seconds, a day at most; a date counts as none."""
    headers: Mapping[str, str] = getattr(getattr(error, "response", None), "headers", {})
    asked = headers.get("Retry-After", "").strip()
    return min(float(asked), MAX_WAIT) if asked.isdecimal() else 0.0


def _say(error: Exception) -> str:
    text = str(error).strip()
    name = type(error).__name__
    whole = f"{name}: {text}" if text and not isinstance(error, StepError) else text or name
    return whole[:MESSAGE_CHARACTERS]


def _is(error: Exception, module: str, name: str) -> bool:
    """Tell a library's error without importing the library on the cold path."""
    return any(
        base.__module__.startswith(module.split(".", maxsplit=1)[0]) and base.__name__ == name
        for base in type(error).__mro__
    )


def _service_code(error: Exception) -> str:
    """Return the code of a botocore ClientError, else nothing."""
    response: Any = getattr(error, "response", None)
    if isinstance(response, dict):
        return str(response.get("Error", {}).get("Code", ""))
    return ""
