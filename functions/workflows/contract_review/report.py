"""The review for people, one HTML file, and the same for programs, as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from documents.contract.models import (
    LABELS,
    ComposeRequest,
    Finding,
    Headline,
    Judgement,
    Merged,
    Severity,
    Term,
    Terms,
    Vote,
)
from documents.page.html import counted, notes, page

from workflows.contract_review.look import STYLE

WORDS: Final[dict[Severity, str]] = {
    "fine": "Fine",
    "note": "Note",
    "concern": "Concern",
    "serious": "Serious",
}
_VERDICTS: Final[dict[Severity, str]] = {
    "fine": "Nothing to object to",
    "note": "Worth reading closely",
    "concern": "Worth changing",
    "serious": "To be settled before it is signed",
}
_SHOWN: Final = 3
NO_ADVICE: Final = "This review points to places to read. It is no legal advice."


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that both documents say."""

    title: str
    file: str
    paragraphs: int
    terms: Terms
    merged: Merged
    notes: Sequence[str]

    @classmethod
    def of(cls, request: ComposeRequest) -> Report:
        """The report on what the steps found."""
        return cls(
            title=request.title or request.file.name,
            file=request.file.name,
            paragraphs=request.parsed.paragraphs,
            terms=request.terms,
            merged=request.merged,
            notes=[*request.terms.notes, *request.merged.notes, NO_ADVICE],
        )

    @property
    def headline(self) -> Headline:
        """The numbers to show first."""
        judged = self.merged.judgements
        unanimous = sum(1 for j in judged if j.agreement == "unanimous")
        return Headline(
            overall=self.merged.overall,
            terms=len(self.terms.terms),
            found=sum(1 for term in self.terms.terms if term.findings),
            serious=sum(1 for j in judged if j.severity == "serious"),
            concerns=sum(1 for j in judged if j.severity == "concern"),
            unanimous=unanimous,
            disputed=sum(1 for j in judged if j.dissent),
        )

    def data(self) -> bytes:
        """UTF-8 JSON, the same bytes for the same review."""
        judgements = {judgement.kind: judgement for judgement in self.merged.judgements}
        document = {
            "title": self.title,
            "headline": self.headline.model_dump(),
            "reviewers": self.merged.reviewers,
            "terms": [
                {
                    "kind": term.kind,
                    "label": LABELS[term.kind],
                    "findings": [f.model_dump(exclude={"tags"}) for f in term.findings],
                    "judgement": judgements[term.kind].model_dump(exclude={"kind"}),
                }
                for term in self.terms.terms
            ],
            "notes": list(self.notes),
        }
        return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1).encode()

    def html(self) -> str:
        """The whole page; everything that comes from the contract or a model is escaped."""
        lead = "" if self.title == self.file else f"{escape(self.file)} · "
        headline = self.headline
        found = f"{headline.found} of {counted(headline.terms, 'key term')} found"
        terms = "".join(_term(self.terms.of(j.kind), j) for j in self.merged.judgements)
        body = (
            f"<header><p class=kicker>Contract review</p><h1>{escape(self.title)}</h1>"
            f"<p class=lead>{lead}{counted(self.paragraphs, 'paragraph')}, {found}</p>"
            f"{_verdict(headline, len(self.merged.reviewers))}</header>"
            f"<section><h2>At a glance</h2>{self._overview()}</section>"
            f"<section><h2>Term by term</h2>{terms}</section>"
            f"<footer>{notes(self.notes)}</footer>"
        )
        return page(self.title, body, STYLE)

    def _overview(self) -> str:
        stances = [vote.stance for vote in self.merged.judgements[0].votes]
        heads = "".join(
            f"<th scope=col>{escape(head.capitalize())}</th>"
            for head in ("term", "the contract says", *stances, "together")
        )
        rows = "".join(
            f"<tr><th scope=row><a href=#{j.kind}>{LABELS[j.kind]}</a></th>"
            f"<td class=value>{_values(self.terms.of(j.kind).findings)}</td>"
            f"{_chips(j)}"
            f"<td>{_chip(j.severity)}<span class=agreement>{_agreement(j)}</span></td></tr>"
            for j in self.merged.judgements
        )
        by_rules = any(name.startswith("rules:") for name in self.merged.reviewers)
        stand_in = " Fixed rules stand in for language models." if by_rules else ""
        return (
            "<div class=scroll><table class=overview>"
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
            f"<p class=by>Reviewed by {escape(', '.join(self.merged.reviewers))}.{stand_in}</p>"
        )


def _chips(judgement: Judgement) -> str:
    cells = (_chip(v.severity, dissent=v.stance in judgement.dissent) for v in judgement.votes)
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _verdict(headline: Headline, reviewers: int) -> str:
    numbers = (
        f"{headline.serious} serious, {counted(headline.concerns, 'concern')}; "
        f"{counted(reviewers, 'reviewer')} agreeing on {headline.unanimous} of "
        f"{counted(headline.terms, 'term')}"
    )
    return (
        f'<div class="verdict {headline.overall}"><strong>{_VERDICTS[headline.overall]}</strong>'
        f"<p>{numbers}</p></div>"
    )


def _values(findings: Sequence[Finding]) -> str:
    if not findings:
        return "nothing was found"
    more = len(findings) - _SHOWN
    shown = "".join(f"<span>{escape(finding.value)}</span>" for finding in findings[:_SHOWN])
    return shown + (f"<span>and {more} more</span>" if more > 0 else "")


def _agreement(judgement: Judgement) -> str:
    if judgement.agreement == "split":
        return "no two agree"
    if judgement.agreement == "majority":
        return f"{', '.join(judgement.dissent)} dissents"
    return "all agree" if judgement.agreement == "unanimous" else "one review"


def _term(term: Term, judgement: Judgement) -> str:
    quotes = "".join(_quote(finding) for finding in term.findings)
    votes = "".join(
        _vote(vote, dissent=vote.stance in judgement.dissent) for vote in judgement.votes
    )
    return (
        f"<article id={term.kind}><h3>{LABELS[term.kind]} {_chip(judgement.severity)}</h3>"
        f"{quotes or '<p class=none>Nothing was found in the contract.</p>'}"
        f"<dl class=votes>{votes}</dl></article>"
    )


def _quote(finding: Finding) -> str:
    return (
        f"<blockquote><p><b>{escape(finding.value)}</b></p><q>{escape(finding.quote)}</q>"
        f"<cite>{escape(finding.place)}</cite></blockquote>"
    )


def _vote(vote: Vote, *, dissent: bool) -> str:
    name = vote.stance.capitalize()
    return (
        f"<dt>{name}</dt><dd>{_chip(vote.severity, dissent=dissent)}</dd>"
        f"<dd class=why>{escape(vote.reason)}{' <small>dissents</small>' if dissent else ''}</dd>"
    )


def _chip(severity: Severity, *, dissent: bool = False) -> str:
    kind = f"{severity} dissent" if dissent else severity
    return f'<span class="chip {kind}">{WORDS[severity]}</span>'
