"""What a sentence says of a contract's course: dates, term, renewal, notice and termination.

A rule yields nothing where the sentence is about something else. The patterns are bounded (`{0,n}`)
and sentences are cut, so no text makes them slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from documents.contract.phrases import Duration, dates, durations
from documents.contract.said import Said

_ANY: Final = re.IGNORECASE

_BEFORE: Final = 70
_EFFECTIVE: Final = re.compile(r"effect|commenc|start|begin|in force", _ANY)
_ENDING: Final = re.compile(r"expir|\bend|until|terminat|through", _ANY)
_DATED: Final = re.compile(r"dated|made|entered|as of|signed|executed|date:", _ANY)

_TERM: Final = re.compile(
    r"\b(?:initial|contract|lease|agreement|licen[cs]e)?\s?\bterm\b(?!s)"
    r"|remains? in (?:full )?(?:force|effect)"
    r"|continues? (?:in (?:force|effect) )?for|is concluded for|for a period of",
    _ANY,
)
_TERM_HEADING: Final = re.compile(r"\bterm\b|duration|commencement", _ANY)
_ELSEWHERE: Final = re.compile(
    r"\bnotice\b|surviv|confidential|invoice|remed(?:y|ied)|\bcure|warrant|preceding|prior", _ANY
)
_PERIOD: Final = re.compile(
    r"(?:period|term) of|continues?(?: in (?:force|effect))? for|term is", _ANY
)
_UNTIL: Final = re.compile(r"\b(?:until|ends? on|expires? on|through)\b", _ANY)
_ENDLESS: Final = re.compile(
    r"perpetual|indefinite(?:ly)?|for an unlimited period|until terminated", _ANY
)

_AUTOMATIC: Final = re.compile(
    r"(?:automatic(?:ally)?|tacitly)[^.;]{0,60}(?:renew|extend|prolong)|(?:renew|extend|prolong)\w*"
    r"[^.;]{0,40}automatic|(?:renew|extend)[^.;]{0,60}\b(?:successive|further)\b[^.;]{0,40}period",
    _ANY,
)
_NOT_AUTOMATIC: Final = re.compile(
    r"(?:not|no)\b[^.;]{0,20}automatic|shall not (?:be )?(?:tacitly )?(?:renew|extend)", _ANY
)
_NEW_PERIOD: Final = re.compile(r"period|term|for (?:a )?(?:further|another|successive)", _ANY)

_NOTICE: Final = re.compile(r"\bnotice\b|notify|notifies", _ANY)
_LEAVING: Final = re.compile(r"terminat|renew|cancel|withdraw|non-?renewal|\bend\b", _ANY)
_CURE: Final = re.compile(r"remed|\bcure|rectif|breach", _ANY)
_RENEWING: Final = re.compile(r"renew|extend", _ANY)

_MAY_END: Final = re.compile(
    r"(?:may|can|shall be entitled to|has the right to|right to)\b[^.;]{0,80}?\bterminate",
    _ANY,
)
_MAY_NOT: Final = re.compile(r"\b(?:may|shall|can|will)\s?not\b[^.;]{0,40}terminat", _ANY)
_CAUSE: Final = re.compile(
    r"breach|default|insolven|bankrupt|liquidat|good cause|for cause|fails? to|unpaid", _ANY
)
_FREE: Final = re.compile(
    r"for convenience|any reason|no reason|without cause|(?:other than|except) for cause", _ANY
)
_EITHER: Final = re.compile(
    r"either party|each party|both parties|any party|a party may|non-?\w+ party", _ANY
)
_WHO: Final = re.compile(
    r"(?:the )?([A-Z][a-z]+(?: [A-Z][a-z]+)?)\s+(?:may|can|shall|has|retains)\b"
    r"|terminated[^.;]{0,40}\bby (?:the )?([A-Z][a-z]+)"
)
_NOBODY: Final = frozenset(
    {"This Agreement", "Agreement", "This Contract", "Contract", "This Lease"}
)


def about_dates(sentence: str, _heading: str) -> Iterator[Said]:
    """Dates, told apart by the words before them."""
    for day in dates(sentence):
        before = sentence[max(0, day.start - _BEFORE) : day.start]
        role = "date"
        for name, pattern in (("dated", _DATED), ("effective", _EFFECTIVE), ("ends", _ENDING)):
            if pattern.search(before):
                role = name
        unclear = "" if day.clear else " (day and month may be swapped)"
        yield Said(f"{role}: {day.text}{unclear}", (role,) if day.clear else (role, "unclear"))


def about_term(sentence: str, heading: str) -> Iterator[Said]:
    """How long the contract runs."""
    in_term = bool(_TERM_HEADING.search(heading)) and "terminat" not in heading.lower()
    own = _TERM.search(sentence)
    if not own and not in_term:
        return
    if _ELSEWHERE.search(sentence) and "initial term" not in sentence.lower():
        return
    found = _after(_PERIOD, sentence) if own or in_term else None
    if found and not _AUTOMATIC.search(sentence[: found.start]):
        yield Said(found.text, ("fixed",), found.days)
    elif _ENDLESS.search(sentence):
        yield Said("no fixed end", ("endless",))
    elif until := _UNTIL.search(sentence):
        for day in islice(dates(sentence[until.end() :]), 1):
            yield Said(f"until {day.text}", ("dated",))


def about_renewal(sentence: str, _heading: str) -> Iterator[Said]:
    """Whether it goes on by itself, for how long, and how it is stopped."""
    if _NOT_AUTOMATIC.search(sentence) and _RENEWING.search(sentence):
        yield Said("does not renew by itself", ("none",))
        return
    if not _AUTOMATIC.search(sentence):
        return
    start = _RENEWING.search(sentence)
    period = _after(_NEW_PERIOD, sentence[start.start() :] if start else sentence)
    notice = _notice(sentence)
    shown = f"renews by itself for {period.text}" if period else "renews by itself"
    if notice:
        shown += f" unless stopped {notice.text} before"
    yield Said(shown, ("automatic",), notice.days if notice else None)


def about_notice(sentence: str, _heading: str) -> Iterator[Said]:
    """How long before the end notice is due. Time to remedy a breach is another matter."""
    if not _LEAVING.search(sentence):
        return
    found = _notice(sentence)
    if found is None:
        return
    if _RENEWING.search(sentence):
        yield Said(f"{found.text} (to stop a renewal)", ("renewal",), found.days)
    elif not _CURE.search(sentence):
        yield Said(f"{found.text} (to terminate)", ("termination",), found.days)


def about_termination(sentence: str, _heading: str) -> Iterator[Said]:
    """Who may end it early, and why."""
    if not _MAY_END.search(sentence) or _MAY_NOT.search(sentence) or _RENEWING.search(sentence):
        return
    cause = bool(_CAUSE.search(sentence)) and not _FREE.search(sentence)
    tag, who = _who(sentence)
    shown = f"for {'cause' if cause else 'convenience'}, {who}"
    remedy = next(durations(sentence), None) if cause and _CURE.search(sentence) else None
    if remedy:
        shown += f", {remedy.text} to remedy"
    yield Said(shown, ("cause" if cause else "convenience", *tag))


def _who(sentence: str) -> tuple[tuple[str, ...], str]:
    """Whether either party may, or one, or the sentence does not tell."""
    if _EITHER.search(sentence):
        return ("either",), "either party"
    for found in _WHO.finditer(sentence):
        name = (found[1] or found[2]).removeprefix("The ")
        if name not in _NOBODY:
            return ("one-sided",), f"the {name} only"
    return (), "party not named"


def _after(pattern: re.Pattern[str], sentence: str) -> Duration | None:
    """The first duration behind the pattern, or else the first of all."""
    found = pattern.search(sentence)
    if found:
        for duration in durations(sentence[found.start() :]):
            return duration._replace(start=duration.start + found.start())
    return next(durations(sentence), None)


def _notice(sentence: str) -> Duration | None:
    """The duration nearest to the word notice."""
    word = _NOTICE.search(sentence)
    if not word:
        return None
    return min(durations(sentence), key=lambda d: abs(d.start - word.start()), default=None)
