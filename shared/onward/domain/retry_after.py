"""What a `Retry-After` asks for (RFC 9110, 10.2.3): one reader for tools and for webhooks."""

from __future__ import annotations

import re
from typing import Final

_SECONDS: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{0,9})?", re.ASCII)
"""More digits than the RFC allows: fractions are common (`1.5`)."""

_MANY: Final = re.compile(r"[0-9]{10,}", re.ASCII)


def retry_after(header: str, now: float, longest: float) -> float:
    """Return the seconds from `now` (epoch) that a header asks for: 0 for none, at most `longest`.

    Takes seconds, with or without a fraction, and a date in any of HTTP's forms; a date that has
    passed asks for nothing.
    """
    text = header.strip()
    if _SECONDS.fullmatch(text):
        return min(longest, float(text))
    if _MANY.fullmatch(text):
        return longest
    from email.utils import parsedate_to_datetime  # a cold start seldom meets a date

    try:
        return min(longest, max(0.0, parsedate_to_datetime(text).timestamp() - now))
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0
