"""The one table that says what an error of a tool means for its step.

raised by a tool                      before a send    once its write is marked as sent
Transient, RateLimited                retry            retry (the tool says: not applied)
InvalidInput, PermissionDenied, Fatal fail at once     fail at once (the same)
OutcomeUnknown                        retry            unknown
pydantic errors, HTTP 4xx             fail at once     unknown
AccessDenied …, HTTP 401 and 403      fail at once     unknown
throttling, HTTP 429                  retry            unknown
time-outs, lost connections, HTTP 5xx,
anything else, SystemExit and the     retry            unknown
other BaseExceptions among it
InvalidOutput (of ours)               fail at once     fail at once, and applied: it returned

Before a send: read tools, probes, and the input of a write. After it only the tool knows whether
a refusal was its receiver's or came from whatever was called next; so only its own word counts.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

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
from onward.domain.retry_after import retry_after
from onward.domain.text import plain

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


def classify(error: BaseException, *, writes: bool, now: float) -> Failure:
    """Return what an error that a tool raised means; `writes`: after its write was sent.

    `now` in epoch seconds is what a date in `Retry-After` counts from. Never raises itself,
    whatever the error's author wrote into its attributes.
    """
    said = _say(error)
    if isinstance(error, OutcomeUnknown):
        return Failure("outcome_unknown", said, retryable=True)
    if isinstance(error, StepError):
        after = _wish(error.retry_after, now) if isinstance(error, RateLimited) else 0.0
        return Failure(plain(error.code), said, bool(error.retryable), after)
    if writes:
        return Failure("outcome_unknown", said, retryable=True)
    kind = _refusal(error) or _answered(error)
    if kind is not None:
        after = _asked(error, now) if kind is RateLimited else 0.0
        return Failure(kind.code, said, kind.retryable, after)
    timed_out = isinstance(error, TimeoutError) or "Timeout" in type(error).__name__
    return Failure("timeout" if timed_out else "transient", said, retryable=True)


def _refusal(error: BaseException) -> type[StepError] | None:
    """Return why a request was refused before it could have done anything."""
    code = _service_code(error)
    if code in _DENIED or isinstance(error, PermissionError):
        return PermissionDenied
    if code in _INVALID or _is(error, "pydantic_core", "ValidationError"):
        return InvalidInput
    return RateLimited if code in _THROTTLED else None


def _answered(error: BaseException) -> type[StepError] | None:
    """Return what an HTTP status that httpx raised means; None for other errors, or without it."""
    if not _is(error, "httpx", "HTTPStatusError"):
        return None
    status = getattr(_response(error), "status_code", None)
    if not isinstance(status, int):
        return None
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return PermissionDenied
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return RateLimited
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _PASSING:
        return Transient
    return InvalidInput


def _asked(error: BaseException, now: float) -> float:
    """Return what an answer's Retry-After asks for in seconds, a day at most."""
    response = _response(error)
    if isinstance(response, dict):  # botocore's
        response = response.get("ResponseMetadata") or {}
        headers = response.get("HTTPHeaders") if isinstance(response, dict) else None
    else:
        headers = getattr(response, "headers", None)
    try:
        named = {str(name).lower(): value for name, value in dict(headers or {}).items()}
    except (TypeError, ValueError):
        return 0.0
    return retry_after(plain(named.get("retry-after", "")), now, MAX_WAIT)


def _wish(asked: object, now: float) -> float:
    """Return the seconds that a tool gave to RateLimited; what says nothing asks for nothing."""
    if isinstance(asked, str):
        return retry_after(plain(asked), now, MAX_WAIT)
    try:
        return max(0.0, float(asked))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return 0.0


def _say(error: BaseException) -> str:
    text, name = plain(error).strip(), plain(type(error).__name__)
    if isinstance(error, StepError):
        return (text or name)[:MESSAGE_CHARACTERS]
    return (f"{name}: {text}" if text else name)[:MESSAGE_CHARACTERS]


def _is(error: BaseException, module: str, name: str) -> bool:
    """Tell a library's error without importing the library on the cold path."""
    return any(
        str(base.__module__).startswith(module.split(".", maxsplit=1)[0]) and base.__name__ == name
        for base in type(error).__mro__
    )


def _response(error: BaseException) -> Any:
    """Return the answer that an error holds; its author may have made a property of it."""
    try:
        return getattr(error, "response", None)
    except Exception:  # noqa: BLE001 - httpx raises RuntimeError where there is none
        return None


def _service_code(error: BaseException) -> str:
    """Return the code of a botocore ClientError, else nothing."""
    response = _response(error)
    told = response.get("Error") if isinstance(response, dict) else None
    return plain(told.get("Code", "")) if isinstance(told, dict) else ""
