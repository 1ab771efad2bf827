"""Durations, sums of money, dates and sentences, as contracts in English write them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final, NamedTuple

DAYS: Final = {"day": 1, "week": 7, "month": 30, "quarter": 90, "year": 365}

_ONES: Final = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS: Final = (
    {word: at for at, word in enumerate(_ONES, start=1)}
    | {word: 10 * at for at, word in enumerate(_TENS, start=2)}
    | {
        f"{ten}-{one}": 10 * at + number
        for at, ten in enumerate(_TENS, start=2)
        for number, one in enumerate(_ONES[:9], start=1)
    }
    | {"a": 1, "an": 1, "one hundred": 100, "one hundred and eighty": 180}
)
_NUMBER_WORD: Final = "|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True))
_DURATION: Final = re.compile(
    rf"(?:\b(?P<word>{_NUMBER_WORD})\b\s*)?(?:\(?\b(?P<digits>\d{{1,4}})\)?\s*[-–]?\s*)?"
    r"(?P<kind>calendar|business|working|consecutive|full|clear)?\s*-?\s*"
    r"\b(?P<unit>day|week|month|quarter|year)s?\b",
    re.IGNORECASE,
)

_CURRENCIES: Final = {"€": "EUR", "£": "GBP", "US$": "USD", "¥": "JPY", "$": "$"}
_CODE: Final = r"EUR|USD|GBP|CHF|JPY|AUD|CAD|SEK|NOK|DKK|PLN|CZK|INR|CNY|SGD|HKD|NZD|BRL|ZAR"
_NAMES: Final = {"euro": "EUR", "dollar": "$", "pound": "GBP", "franc": "CHF"}
_SUM: Final = r"\d[\d,.'’]*\d|\d"
_MONEY: Final = re.compile(
    rf"(?:(?P<before>\b(?:{_CODE})\b|US\$|[€£$¥])\s?(?P<a>{_SUM})"
    rf"|\b(?P<b>{_SUM})\s?(?P<after>\b(?:{_CODE})\b|€|(?:US\s)?(?:euro|dollar|pound|franc)s?\b))"
    r"(?:\s?(?P<scale>thousand|million|billion|mio|[km]\b|bn\b))?",
    re.IGNORECASE,
)
_SCALES: Final = {"thousand": 3, "k": 3, "million": 6, "mio": 6, "m": 6, "billion": 9, "bn": 9}
_PLAIN_SUM: Final = re.compile(r"\d+(?:\.\d{1,2})?|\d{1,3}(?:[,'’]\d{3})+(?:\.\d{1,2})?")
_COMMA_SUM: Final = re.compile(r"\d{1,3}(?:\.\d{3})+,\d{1,2}|\d{1,3}(?:\.\d{3}){2,}|\d+,\d{1,2}")

_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_MONTH: Final = "|".join(f"{name}|{name[:3]}\\.?" for name in _MONTHS)
_DATE: Final = re.compile(
    rf"\b(?:(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+day)?(?:\s+of)?\s+(?P<m1>{_MONTH})"
    r"[, ]\s*(?P<y1>\d{4})"
    rf"|(?P<m2>{_MONTH})\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y2>\d{{4}})"
    r"|(?P<y3>\d{4})-(?P<m3>\d{2})-(?P<d3>\d{2})"
    r"|(?P<d4>\d{1,2})\.(?P<m4>\d{1,2})\.(?P<y4>\d{4})"
    r"|(?P<slashed>\d{1,2}/\d{1,2}/\d{4}))(?!\d)",
    re.IGNORECASE,
)

_LONGEST: Final = 2_000
_END: Final = re.compile(r"[.;?!][)”\"’']*\s+(?=[A-Z(“\"‘\[]|\d+(?:\.\d+)+\s)")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:Inc|Ltd|Co|Corp|No|Nos|Art|Sec|Mr|Mrs|Ms|Dr|St|vs|approx|resp|cf|e\.g|i\.e|[A-Z])\.)$"
)


class Duration(NamedTuple):
    """A length of time as it is read aloud, in days, and where it stands in its sentence."""

    text: str
    days: int
    start: int


class Money(NamedTuple):
    """A sum; `amount` is None if the digits can be read in two ways."""

    text: str
    amount: Decimal | None
    currency: str


class Day(NamedTuple):
    """A date in ISO 8601, or as written where day and month could be swapped."""

    text: str
    clear: bool
    start: int


def sentences(text: str) -> Iterator[str]:
    """The sentences of a paragraph; one that never ends is cut, so that patterns stay fast."""
    start = 0
    for end in _END.finditer(text):
        if _ABBREVIATION.search(text[max(start, end.start() - 8) : end.start() + 1]):
            continue
        yield text[start : end.end()].strip()[:_LONGEST]
        start = end.end()
    if text[start:].strip():
        yield text[start:].strip()[:_LONGEST]


def durations(text: str) -> Iterator[Duration]:
    """Lengths of time such as "thirty (30) days", "one year", "24-month"."""
    for found in _DURATION.finditer(text):
        digits, word = found["digits"], found["word"]
        if not digits and not word:
            continue
        number = int(digits) if digits else _WORDS[word.lower()]
        if not number:
            continue
        unit, kind = found["unit"].lower(), (found["kind"] or "").lower()
        shown = " ".join(filter(None, (str(number), kind, unit + "s" * (number != 1))))
        yield Duration(shown, number * DAYS[unit], found.start())


def sums(text: str) -> Iterator[Money]:
    """Sums of money with a currency before or behind."""
    for found in _MONEY.finditer(text):
        written = found["before"] or found["after"]
        currency = _currency(written)
        digits, scale = found["a"] or found["b"], (found["scale"] or "").lower()
        amount = _amount(digits.rstrip(".,"))
        if amount is None:
            yield Money(" ".join(found[0].split()), None, currency)
            continue
        amount = amount.scaleb(_SCALES.get(scale, 0))
        whole = amount == amount.to_integral_value()
        shown = f"{amount:,.{0 if whole else 2}f}"
        between = " " if currency.isalpha() else ""
        yield Money(f"{currency}{between}{shown}", amount, currency)


def dates(text: str) -> Iterator[Day]:
    """Dates with a year; impossible ones are none."""
    for found in _DATE.finditer(text):
        if found["slashed"]:
            text, clear = _slashed(found["slashed"])
            yield Day(text, clear, found.start())
            continue
        at = next(at for at in "1234" if found[f"y{at}"])
        month = found[f"m{at}"]
        number = int(month) if month.isdecimal() else _month(month)
        try:
            day = dt.date(int(found[f"y{at}"]), number, int(found[f"d{at}"]))
        except ValueError:
            continue
        yield Day(day.isoformat(), clear=True, start=found.start())


def _slashed(written: str) -> tuple[str, bool]:
    """30/06/2005 and 06/30/2005 are clear, 05/06/2005 is not."""
    first, second, year = map(int, written.split("/"))
    days = set()
    for month, day in ((first, second), (second, first)):
        try:
            days.add(dt.date(year, month, day))
        except ValueError:
            continue
    return (days.pop().isoformat(), True) if len(days) == 1 else (written, False)


def _month(name: str) -> int:
    return next(at for at, month in enumerate(_MONTHS, 1) if month.startswith(name.lower()[:3]))


def _currency(written: str) -> str:
    upper = written.upper()
    if upper in _CURRENCIES:
        return _CURRENCIES[upper]
    if upper.startswith("US "):
        return "USD"
    return _NAMES.get(written.lower().rstrip("s"), upper)


def _amount(digits: str) -> Decimal | None:
    if _PLAIN_SUM.fullmatch(digits):
        return Decimal(re.sub(r"[,'’]", "", digits))
    if _COMMA_SUM.fullmatch(digits):
        return Decimal(digits.replace(".", "").replace(",", "."))
    return None
