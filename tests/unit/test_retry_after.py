"""What a `Retry-After` asks for, wherever one is read (RFC 9110, 10.2.3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, formatdate
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError
from onward.app.driving.classify import classify
from onward.domain.retry_after import retry_after
from onward.sdk import RateLimited

NOW = 1_764_450_000.0
DATE = formatdate(NOW + 12, usegmt=True)
AT = datetime.fromtimestamp(NOW, UTC)

WISHES = [
    ("90", 90.0),
    (" 4 ", 4.0),
    ("1.5", 1.5),
    ("0", 0.0),
    ("", 0.0),
    ("soon", 0.0),
    ("-5", 0.0),
    ("1e3", 0.0),
    ("0x10", 0.0),
    ("\u0661\u0662", 0.0),
    ("nan", 0.0),
    ("inf", 0.0),
    ("99999999", 3600.0),
    ("9" * 400, 3600.0),
    (DATE, 12.0),
    (DATE.replace("GMT", "+0000"), 12.0),
    ((AT + timedelta(seconds=12)).strftime("%A, %d-%b-%y %H:%M:%S GMT"), 12.0),
    ((AT + timedelta(seconds=12)).strftime("%a %b %d %H:%M:%S %Y"), 12.0),
    (format_datetime(AT - timedelta(hours=1), usegmt=True), 0.0),
    ("Sat, 29 Nov 2025 21:01:30 +99999999999999", 0.0),
    ("Sat, 99 Nov 2025 21:01:30 GMT", 0.0),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 3600.0),
    ("12\udce9", 0.0),
]


@pytest.mark.parametrize(("header", "seconds"), WISHES, ids=range(len(WISHES)))
def test_a_wish_is_seconds_or_a_date(header: str, seconds: float) -> None:
    """What makes no sense is no wish, and none is longer than its reader believes."""
    assert seconds == retry_after(header, NOW, 3600.0)


def answered(headers: dict[str, str]) -> Exception:
    request = httpx.Request("GET", "https://example.org/")
    response = httpx.Response(429, headers=headers, request=request)
    return httpx.HTTPStatusError("429", request=request, response=response)


def throttled(headers: Any) -> Exception:
    answer: Any = {
        "Error": {"Code": "ThrottlingException", "Message": "slow"},
        "ResponseMetadata": {"HTTPHeaders": headers},
    }
    return ClientError(answer, "Converse")


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (answered({"Retry-After": DATE}), 12.0),
        (answered({"retry-after": "1.5"}), 1.5),
        (answered({"Retry-After": "99999999"}), 86_400.0),
        (answered({}), 0.0),
        (throttled({"retry-after": DATE}), 12.0),
        (throttled({"Retry-After": "7"}), 7.0),
        (throttled(None), 0.0),
        (throttled("nonsense"), 0.0),
        (RateLimited("slow", 7), 7.0),
        (RateLimited("slow", DATE), 12.0),
        (RateLimited("slow", "1.5"), 1.5),
        (RateLimited("slow", "soon"), 0.0),
        (RateLimited("slow", -3), 0.0),
        (RateLimited("slow", None), 0.0),  # type: ignore[arg-type]
        (RateLimited("slow", timedelta(seconds=3)), 0.0),  # type: ignore[arg-type]
        (RateLimited("slow", 10**400), 0.0),
    ],
    ids=range(16),
)
def test_a_tool_waits_as_its_provider_asks(error: Exception, seconds: float) -> None:
    """By the header of whatever answered, or as the tool says it; a day at most."""
    failure = classify(error, writes=False, now=NOW)

    assert ("rate_limited", seconds, True) == (failure.code, failure.retry_after, failure.retryable)
