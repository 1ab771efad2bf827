"""The three reviewers' points of view: what each asks, as a model is told and as rules follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from documents.contract.models import Finding, Kind, Severity, StanceName, Terms

ASKS: Final[dict[StanceName, str]] = {
    "balanced": (
        "Is this customary, complete and fair to both sides? What is usual between businesses of "
        "equal strength is fine; what favours one side or leaves a gap is not."
    ),
    "risk-averse": (
        "What is the worst that this may lead to? Open-ended exposure, silence, and anything that "
        "cannot be stopped or estimated is grave; short and narrow is good."
    ),
    "commercial": (
        "What does this mean for price, cash and the freedom to leave for a better offer? Legal "
        "refinement matters only where it costs money or binds."
    ),
}


class Verdict(NamedTuple):
    """A severity and why."""

    severity: Severity
    reason: str


Rule = Callable[["Look"], Verdict]


@dataclass(frozen=True, slots=True)
class Look:
    """One term as a reviewer looks at it, with the others in reach."""

    terms: Terms
    kind: Kind

    @property
    def findings(self) -> list[Finding]:
        """What the contract says of it."""
        return self.terms.of(self.kind).findings

    def at(self, kind: Kind) -> Look:
        """Another term of the same contract."""
        return Look(self.terms, kind)

    def tagged(self, *tags: str) -> Finding | None:
        """The first finding that bears all of these tags."""
        return next((f for f in self.findings if set(tags) <= set(f.tags)), None)

    def longest(self, tag: str | None = None) -> int | None:
        """The longest duration in days, of the findings that bear the tag."""
        days = [f.days for f in self.findings if tag is None or tag in f.tags]
        return max((d for d in days if d is not None), default=None)

    def shortest(self) -> int | None:
        """The shortest duration in days."""
        return min((f.days for f in self.findings if f.days is not None), default=None)

    def largest(self) -> Finding | None:
        """The finding with the largest sum, whatever its currency."""
        amounts = [f for f in self.findings if f.amount is not None]
        return max(amounts, key=lambda f: f.amount or 0, default=None)


def fine(reason: str) -> Verdict:
    """Nothing to object to."""
    return Verdict("fine", reason)


def note(reason: str) -> Verdict:
    """Worth knowing."""
    return Verdict("note", reason)


def concern(reason: str) -> Verdict:
    """Worth changing."""
    return Verdict("concern", reason)


def serious(reason: str) -> Verdict:
    """Not to be signed as it is."""
    return Verdict("serious", reason)


Rules = Mapping[Kind, Rule]
