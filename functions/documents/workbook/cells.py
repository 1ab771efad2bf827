"""What a single cell holds.

Each value gets a one-letter kind, so that a whole row becomes a short word ("ttnbdd") that can be
compared, counted and shared between thousands of rows.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import Final

BLANK: Final = "."
INTEGER: Final = "i"
NUMBER: Final = "n"
DATE: Final = "d"
TIME: Final = "h"
BOOLEAN: Final = "b"
TEXT: Final = "t"
DIGITS: Final = "x"  # a number that was stored as text
MARKER: Final = "m"  # a text that stands for "no value"
ERROR: Final = "e"  # #DIV/0!, #N/A …
UNCACHED: Final = "f"  # a formula whose result is not stored in the file

KINDS: Final = "inhdbtxmef"  # all but blank

NUMERIC: Final = frozenset((INTEGER, NUMBER))
TYPED: Final = frozenset((INTEGER, NUMBER, DATE, TIME, BOOLEAN))
WORDS: Final = frozenset((TEXT, DIGITS))
NAMES: Final = frozenset((TEXT, DIGITS, MARKER))  # a column may well be called Unknown or N/A

LONG: Final = 200  # signs; what is longer is neither a number nor a word for "no value"
SHOWN: Final = 400  # signs of a text that anything shown is made from
MAX_TEXT: Final = 32_767  # signs of a cell, by Excel's specifications
EXACT: Final = 1e15  # Excel keeps 15 digits; a whole number beyond is a rounded one

# Only where the rest of the column is typed: in a column of country codes "NA" is Namibia.
_MARKERS: Final = frozenset(
    (
        "na",
        "n/a",
        "#n/a",
        "nan",
        "null",
        "none",
        "nil",
        "missing",
        "n.a.",
        "n.a",
        "n/d",
        "no data",
        "not available",
        "unknown",
        "-",
        "--",
        "—",
        "–",
        "?",
        "..",
        "…",
    )
)
# Without leading zeros: 00123 is an article or a post code. One group after a comma is left
# alone: "1,234" is a thousand here and one point two elsewhere.
_DIGITS: Final = re.compile(r"[-+]?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")
_GROUPED: Final = re.compile(r"[-+]?[1-9]\d{0,2}(?:(?:,\d{3}){2,4}(?:\.\d+)?|(?:,\d{3}){1,4}\.\d+)")


class CellError(str):
    """An error value such as #DIV/0!; text to read, never text to count."""

    __slots__ = ()


class NotCalculated:
    """A formula whose result the file does not hold; its value is unknown, not blank."""

    def __repr__(self) -> str:
        return "=?"


NOT_CALCULATED: Final = NotCalculated()

Moment = dt.datetime | dt.date | dt.time | dt.timedelta
Value = bool | int | float | str | Moment | NotCalculated | None


def kind_of(value: Value) -> str:
    """The kind of one value; a text of nothing but white space is blank."""
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind
    if isinstance(value, float):
        if value.is_integer() and abs(value) < EXACT:
            return INTEGER
        return NUMBER if math.isfinite(value) else ERROR
    if isinstance(value, str):
        return _kind_of_text(value)
    return TEXT


_KINDS: Final[dict[type, str]] = {
    type(None): BLANK,
    bool: BOOLEAN,
    int: INTEGER,
    dt.datetime: DATE,
    dt.date: DATE,
    dt.time: TIME,
    dt.timedelta: TIME,
    CellError: ERROR,
    NotCalculated: UNCACHED,
}


def _kind_of_text(value: str) -> str:
    if len(value) > LONG:
        return BLANK if value.isspace() else TEXT
    text = value.strip()
    if not text:
        return BLANK
    if (text[0].isdecimal() or text[0] in "+-") and parse_digits(text) is not None:
        return DIGITS
    return MARKER if text.casefold() in _MARKERS else TEXT


def parse_digits(text: str) -> str | None:
    """The plain decimal notation of a number stored as text, or None if it is not surely one."""
    stripped = text.strip()
    if _DIGITS.fullmatch(stripped):
        return stripped
    if _GROUPED.fullmatch(stripped):
        return stripped.replace(",", "")
    return None


def as_text(value: Value) -> str:
    """How a person would read the value: dates as ISO 8601, whole numbers without a point."""
    if isinstance(value, dt.datetime | dt.date | dt.time | dt.timedelta):
        return _moment(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if kind_of(value) == INTEGER else repr(value)
    return "" if value is None else " ".join(str(value)[:SHOWN].split())


def identity(text: str) -> str:
    """A text that tells it from every other one in this process, and is short."""
    return text if len(text) <= LONG else f"{text[:60]}\0{len(text)} {hash(text)}"


def _moment(value: Moment) -> str:
    """ISO 8601; at midnight the date alone, as most workbooks have dates and few times of day."""
    if isinstance(value, dt.datetime):
        if value.time() == dt.time():
            return value.date().isoformat()
        return value.isoformat(timespec="seconds")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    seconds = round(value.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    return f"{sign}{seconds // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
