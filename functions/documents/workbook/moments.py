"""Dates and times out of the numbers and texts that workbooks keep them as."""

from __future__ import annotations

import datetime as dt
from typing import Final

from documents.workbook.cells import CellError, Moment
from documents.workbook.formats import DURATION, TIME

EPOCH_1900: Final = dt.datetime(1899, 12, 30)  # noqa: DTZ001 - workbooks know no time zones
EPOCH_1904: Final = dt.datetime(1904, 1, 1)  # noqa: DTZ001
# What Excel shows for a date that cannot be.
UNSHOWABLE: Final = CellError("#######")
LEAP_OF_1900: Final = 60  # the 29 February that 1900 did not have
# Under a format of times, a number of days above it is a moment whose date is not shown.
MOST_DAYS: Final = 1_000


def from_number(days: float, kind: str, epoch: dt.datetime) -> Moment | CellError:
    """What a number of days is under a format of dates, times or durations.

    A negative one is a length of time, or no date at all: Excel shows it in the 1904 system only.
    """
    try:
        if kind == DURATION or (kind == TIME and not 0 <= days < 1 and days < MOST_DAYS):
            return _rounded(days)
        return UNSHOWABLE if days < 0 else _moment(days, epoch)
    except (OverflowError, ValueError):
        return UNSHOWABLE


def _moment(days: float, epoch: dt.datetime) -> Moment:
    since = _rounded(days)
    if days < 1 and not since.days:
        return (epoch + since).time()
    if epoch == EPOCH_1900 and 1 <= days < LEAP_OF_1900:
        since += dt.timedelta(days=1)
    return epoch + since


def _rounded(days: float) -> dt.timedelta:
    """To a thousandth of a second: what lies below is residue of binary fractions."""
    whole, part = divmod(days, 1)
    return dt.timedelta(days=whole, milliseconds=round(part * 86_400_000))


def from_text(stored: str) -> Moment | str:
    """A date, a moment or a time of ISO 8601; anything else stays the text that it is."""
    text = stored.strip()
    try:
        if "T" in text:
            return dt.datetime.fromisoformat(text).replace(tzinfo=None)
        return dt.time.fromisoformat(text) if ":" in text else dt.date.fromisoformat(text)
    except ValueError:
        return stored
