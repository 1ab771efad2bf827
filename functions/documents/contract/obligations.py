"""What a sentence says of money, liability, secrets and law; the rest is as in `clauses`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from documents.contract.phrases import durations, sums
from documents.contract.said import Said

LONGEST_DUE: Final = 180

_ANY: Final = re.IGNORECASE

_PAYING: Final = re.compile(r"\b(?:pa(?:y|id|ys|yable|yment|yments)|invoices?|due|settle)\b", _ANY)
_NET: Final = re.compile(r"\bnet\s?-?(\d{1,3})\b", _ANY)
_FROM: Final = re.compile(r"invoice|receipt|due date|delivery|month|signature|acceptance", _ANY)
_LATE: Final = re.compile(r"\blater?\b|overdue|default|unpaid|delay|past due|not paid", _ANY)
_NO_PAYMENT: Final = re.compile(r"terminat|penalt|delay|refund|return", _ANY)
_PERCENT: Final = re.compile(
    r"(\d{1,2}(?:\.\d{1,2})?)\s?(?:%|per ?cent)"
    r"(?:[^.;]{0,20}?\b(?:per|a|each|every)\s(month|year|annum|day))?",
    _ANY,
)
_AT_ONCE: Final = re.compile(
    r"\b(?:due|pay|payable|paid)\b[^.;]{0,60}(?:immediately|upon receipt|in advance|on demand)",
    _ANY,
)

_LIABLE: Final = re.compile(r"liab(?:le|ility|ilities)", _ANY)
_NO_LIMIT: Final = re.compile(
    r"unlimited|without (?:any )?limit|no limit|shall not be limited", _ANY
)
_CARVED_OUT: Final = re.compile(
    r"(?:nothing|no provision|neither)[^.;]{0,60}(?:limit|exclude)"
    r"|exclusions?[^.;]{0,30}do(?:es)? not apply",
    _ANY,
)
_CAPPED: Final = re.compile(
    r"(?:not|never|in no event)\b[^.;]{0,120}exceed"
    r"|limited to|capped at|cap of|maximum[^.;]{0,30}liab",
    _ANY,
)
_FEES: Final = re.compile(
    r"((?:(?:\d{1,3}\s?%|\w+ per ?cent) of )?(?:the )?(?:total |aggregate )?"
    r"(?:fees|amounts?|charges|price|remuneration)[^.;]{0,120}?"
    r"(?:paid|payable|due)[^.;,]{0,110})",
    _ANY,
)
_INDIRECT: Final = re.compile(r"indirect|consequential|loss of profit|special damages", _ANY)

_SECRET: Final = re.compile(r"confidential|non-?disclosure|secre(?:t|cy)", _ANY)
_KEEPING: Final = re.compile(
    r"(?:shall|will|must|agrees? to|undertakes? to)\b|surviv|remain|obligation", _ANY
)
_FOREVER: Final = re.compile(
    r"indefinite|perpetual|without limit in time|unlimited (?:period|time)", _ANY
)
_MUTUAL: Final = re.compile(r"each party|either party|both parties|receiving party|mutual", _ANY)

_PLACE: Final = r"((?:[Tt]he )?[A-Z][\w’'-]+(?:,? (?:and |of |the )?[A-Z][\w’'-]+){0,5})"
_LAW_OF: Final = re.compile(rf"\b[Ll]aws? of (?:the )?{_PLACE}")
_LAW_ADJECTIVE: Final = re.compile(r"\b((?:[A-Z][a-z]+ ){0,2}[A-Z][a-z]+) law\b")
_GOVERNED: Final = re.compile(
    r"govern|constru|interpret|applicable law|subject to|appl(?:y|ies)\b", _ANY
)
_COURTS: Final = re.compile(
    rf"(?:courts? (?:of|in|at|located in)|place of jurisdiction (?:is|shall be)"
    rf"|arbitration in|seat of arbitration (?:is|shall be)) (?:the )?{_PLACE}"
)


def about_money(sentence: str, _heading: str) -> Iterator[Said]:
    """Every sum once."""
    for money in sums(sentence):
        if money.amount is None:
            yield Said(
                f"{money.text} (can be read in two ways)", ("unclear",), None, None, money.currency
            )
        elif money.amount:
            yield Said(money.text, (), None, float(money.amount), money.currency)


def about_payment(sentence: str, heading: str) -> Iterator[Said]:
    """When payments are due, and what being late costs."""
    percent = _PERCENT.search(sentence)
    if _LATE.search(sentence) and percent:
        each = f" per {percent[2].lower()}" if percent[2] else ""
        yield Said(f"{percent[1]}%{each} on late payments", ("late-interest",))
        return
    if _LIABLE.search(sentence) or _NO_PAYMENT.search(sentence):
        return
    net = _NET.search(sentence)
    if net:
        yield Said(f"net {int(net[1])} days", ("due",), int(net[1]))
        return
    if not _PAYING.search(sentence):
        return
    paying = re.search(r"within|\bin\b|no later than|after|from", sentence, _ANY)
    found = next(durations(sentence[paying.start() :]), None) if paying else None
    if (
        found
        and found.days <= LONGEST_DUE
        and _FROM.search(sentence)
        and (_pays(sentence) or "pay" in heading.lower())
    ):
        yield Said(f"within {found.text}", ("due",), found.days)
    elif _AT_ONCE.search(sentence):
        yield Said("at once or in advance", ("due",), 0)


def about_liability(sentence: str, heading: str) -> Iterator[Said]:
    """What limits liability, and what does not."""
    if not _LIABLE.search(sentence) and "liab" not in heading.lower():
        return
    if _CARVED_OUT.search(sentence):
        yield Said("carve-outs from the limits", ("carve-out",))
    elif _CAPPED.search(sentence):
        money = next((money for money in sums(sentence) if money.amount), None)
        fees = _FEES.search(sentence)
        what = (
            money.text
            if money
            else fees[1].strip(" .;")
            if fees
            else "a limit that is described in words"
        )
        amount = float(money.amount) if money and money.amount else None
        yield Said(f"capped at {what}", ("capped",), None, amount, money.currency if money else "")
    elif _NO_LIMIT.search(sentence):
        yield Said("unlimited", ("unlimited",))
    elif _INDIRECT.search(sentence) and re.search(r"\bno[tr]?\b|neither|exclud", sentence, _ANY):
        yield Said("indirect losses are excluded", ("indirect-excluded",))


def about_confidentiality(sentence: str, heading: str) -> Iterator[Said]:
    """Whether secrets are kept, by whom, and for how long."""
    if not _SECRET.search(sentence) and not _SECRET.search(heading):
        return
    if not _KEEPING.search(sentence):
        return
    mutual = ("mutual",) if _MUTUAL.search(sentence) else ()
    long = next(durations(sentence), None)
    if _FOREVER.search(sentence):
        yield Said("without an end", ("endless", *mutual))
    elif long and re.search(r"surviv|after|following|for a|period", sentence, _ANY):
        yield Said(f"for {long.text}", ("timed", *mutual), long.days)
    elif _SECRET.search(sentence):
        yield Said("an obligation without a stated time", ("untimed", *mutual))


def about_law(sentence: str, heading: str) -> Iterator[Said]:
    """Whose law governs, and whose courts decide."""
    if _GOVERNED.search(sentence) or "law" in heading.lower():
        found = _LAW_OF.search(sentence) or _LAW_ADJECTIVE.search(sentence)
        if found:
            yield Said(_law(found), ("law",))
    court = _COURTS.search(sentence)
    if court:
        yield Said(f"disputes: {court[1]}", ("forum",))


def _law(found: re.Match[str]) -> str:
    if found.re is not _LAW_OF:
        return f"{found[1]} law"
    article = "the " if re.match(r"[A-Z]\w+ of |United |Netherlands", found[1]) else ""
    return f"law of {article}{found[1]}"


def _pays(sentence: str) -> bool:
    return bool(re.search(r"\bpa(?:y|id|ys|yable|yment|yments)\b|\bdue\b", sentence, _ANY))
