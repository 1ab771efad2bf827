"""Lengths of time and points in time, as people and tools write them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from onward.domain.model import Json

MAX_SECONDS: Final = 365 * 86_400
"""A Standard execution of Step Functions lives a year."""

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_WRITTEN: Final = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)([smhdw])")


def seconds_of(value: Json) -> float | None:
    """Return a length in seconds: a number of them, or `90s`, `15m`, `2h`, `3d`, `1w`.

    None when it is neither, not above 0, or over a year.
    """
    if isinstance(value, str) and (written := _WRITTEN.fullmatch(value)):
        seconds = float(written[1]) * _UNITS[written[2]]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    else:
        return None
    return seconds if 0 < seconds <= MAX_SECONDS else None


def moment_of(value: Json) -> float | None:
    """Return a point in time in epoch seconds: a number of them, or RFC 3339 with its offset.

    None when it is neither, or before 1970 or after 9999.
    """
    if isinstance(value, str):
        try:
            read = datetime.fromisoformat(value)
        except ValueError:
            return None
        moment = read.timestamp() if read.tzinfo is not None else -1.0
    elif isinstance(value, int | float) and not isinstance(value, bool):
        moment = float(value)
    else:
        return None
    return moment if 0 <= moment <= _LAST else None


_LAST: Final = 253_402_300_799.0
