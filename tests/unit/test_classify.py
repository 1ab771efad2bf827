"""What an error of a tool means, before its write was sent and after."""

from __future__ import annotations

import httpx
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from onward.app.driving.classify import classify
from onward.domain.errors import (
    Fatal,
    InvalidInput,
    OutcomeUnknown,
    PermissionDenied,
    RateLimited,
    Transient,
)
from pydantic import BaseModel


class Reply(BaseModel):
    """What a receiver should have answered."""

    reference: str


def refused(code: str) -> ClientError:
    """What boto3 raises."""
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "PutObject")


def answered(status: int, **headers: str) -> httpx.HTTPStatusError:
    """What `raise_for_status` of httpx raises."""
    request = httpx.Request("GET", "https://books.example/writes")
    response = httpx.Response(status, headers=headers, request=request)
    return httpx.HTTPStatusError(str(status), request=request, response=response)


def unanswered() -> httpx.HTTPStatusError:
    """What a tool raises that has a request and no response at hand."""
    request = httpx.Request("GET", "https://books.example/writes")
    return httpx.HTTPStatusError("no", request=request, response=None)  # type: ignore[arg-type]


def wrong_shape() -> Exception:
    """What Pydantic raises."""
    with pytest.raises(ValueError, match="reference") as raised:
        Reply.model_validate({"ok": True})
    return raised.value


REFUSALS = [
    (refused("SlowDown"), "rate_limited"),
    (refused("Throttling"), "rate_limited"),
    (refused("ProvisionedThroughputExceededException"), "rate_limited"),
    (refused("AccessDenied"), "permission_denied"),
    (refused("ValidationException"), "invalid_input"),
    (PermissionError("read-only"), "permission_denied"),
    (wrong_shape(), "invalid_input"),
    (answered(401), "permission_denied"),
    (answered(403), "permission_denied"),
    (answered(404), "invalid_input"),
    (answered(408), "transient"),
    (answered(422), "invalid_input"),
    (answered(429), "rate_limited"),
    (answered(503), "transient"),
    (unanswered(), "transient"),
    (httpx.ReadTimeout("late"), "timeout"),
    (ReadTimeoutError(endpoint_url="https://s3"), "timeout"),
    (TimeoutError(), "timeout"),
    (ConnectionResetError(), "transient"),
]
NAMES = [f"{type(error).__name__}-{number}" for number, (error, _) in enumerate(REFUSALS)]


@pytest.mark.parametrize(("error", "code"), REFUSALS, ids=NAMES)
def test_before_a_send_a_refusal_is_believed(error: Exception, code: str) -> None:
    """Denied and invalid fail at once; the rest is tried again."""
    failure = classify(error, writes=False, now=0.0)
    retried = code not in {"permission_denied", "invalid_input"}
    assert (code, retried) == (failure.code, failure.retryable)


@pytest.mark.parametrize("error", [error for error, _ in REFUSALS], ids=NAMES)
def test_after_a_send_a_refusal_proves_nothing(error: Exception) -> None:
    """It may come from whatever was called last, not from the receiver of the write (G4)."""
    assert "outcome_unknown" == classify(error, writes=True, now=0.0).code


@pytest.mark.parametrize(
    "error",
    [Transient("x"), RateLimited("x", 4.0), InvalidInput("x"), PermissionDenied("x"), Fatal("x")],
    ids=lambda error: error.code,
)
def test_the_tools_own_word_counts_after_a_send(error: Transient) -> None:
    """It knows its receiver: nothing was applied."""
    failure = classify(error, writes=True, now=0.0)
    assert (error.code, error.retryable) == (failure.code, failure.retryable)


def test_a_tool_may_say_that_it_does_not_know() -> None:
    """Of a read as well, which is then repeated."""
    assert "outcome_unknown" == classify(OutcomeUnknown("x"), writes=True, now=0.0).code
    assert classify(OutcomeUnknown("x"), writes=False, now=0.0).retryable
