"""The one table that says what an error of a tool means for its step.

raised by a tool                      read tool        write tool
Transient, RateLimited                retry            retry (the tool says: not applied)
InvalidInput, pydantic errors         fail at once     fail at once
PermissionDenied, AccessDenied …      fail at once     fail at once
Fatal                                 fail at once     fail at once
OutcomeUnknown                        retry            unknown
time-outs, lost connections, 5xx,
throttling, anything else             retry            unknown, unless it was refused
"""

from __future__ import annotations

from typing import Any, Final

from onward.domain.errors import (
    InvalidInput,
    OutcomeUnknown,
    PermissionDenied,
    RateLimited,
    StepError,
)
from onward.domain.model import Failure

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


def classify(error: Exception, *, writes: bool) -> Failure:
    """Return what an error that a tool raised means; `writes`: after its write was sent."""
    said = _say(error)
    if isinstance(error, OutcomeUnknown):
        return Failure("outcome_unknown", said, retryable=True)
    if isinstance(error, StepError):
        after = error.retry_after if isinstance(error, RateLimited) else 0.0
        return Failure(error.code, said, error.retryable, after)
    refusal = _refusal(error)
    if refusal is not None:
        return Failure(refusal, said, retryable=refusal == RateLimited.code)
    if writes:
        return Failure("outcome_unknown", said, retryable=True)
    timed_out = isinstance(error, TimeoutError) or "Timeout" in type(error).__name__
    return Failure("timeout" if timed_out else "transient", said, retryable=True)


def _refusal(error: Exception) -> str | None:
    """Return why a request was refused before it could have done anything."""
    code = _service_code(error)
    if code in _DENIED or isinstance(error, PermissionError):
        return PermissionDenied.code
    if code in _INVALID or _is(error, "pydantic_core", "ValidationError"):
        return InvalidInput.code
    return RateLimited.code if code in _THROTTLED else None


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
