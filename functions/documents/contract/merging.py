"""Laying reviews side by side: where they agree, where not, and who dissents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from onward.sdk import InvalidInput

from documents.contract.models import (
    LABELS,
    SEVERITIES,
    Judgement,
    Kind,
    Merged,
    Review,
    Vote,
)


def merge(reviews: Sequence[Review | None]) -> Merged:
    """One judgement a term, in the order of the report; overall counts the gravest of them.

    Raises:
        InvalidInput: no reviewer gave a review.
    """
    given = [review for review in reviews if review is not None]
    if not given:
        raise InvalidInput("None of the reviewers gave a review; their steps say why.")
    judgements = [_judge(kind, _votes(kind, given)) for kind in LABELS]
    return Merged(
        overall=max((judgement.severity for judgement in judgements), key=SEVERITIES.index),
        reviewers=[review.reviewer for review in given],
        judgements=judgements,
        notes=_notes(given, len(reviews) - len(given)),
    )


def _votes(kind: Kind, reviews: Sequence[Review]) -> list[Vote]:
    return [
        Vote(stance=review.stance, severity=rating.severity, reason=rating.reason)
        for review in reviews
        for rating in review.ratings
        if rating.kind == kind
    ]


def _judge(kind: Kind, votes: list[Vote]) -> Judgement:
    """Most reviewers decide; where no two agree, the middle one does, and of two the graver."""
    severities = sorted((vote.severity for vote in votes), key=SEVERITIES.index)
    severity = max(severities, key=severities.count)
    agreement: Literal["unanimous", "majority", "split", "single"] = "majority"
    if len(votes) == 1:
        agreement = "single"
    elif severities.count(severity) == len(votes):
        agreement = "unanimous"
    elif severities.count(severity) == 1:
        agreement = "split"
        severity = severities[len(severities) // 2]
    return Judgement(
        kind=kind,
        severity=severity,
        agreement=agreement,
        votes=votes,
        dissent=[vote.stance for vote in votes if vote.severity != severity],
    )


def _notes(given: Sequence[Review], absent: int) -> list[str]:
    notes = []
    if absent:
        notes.append(f"{absent} of {len(given) + absent} reviewers gave no review.")
    by_rules = [review.stance for review in given if review.reviewer.startswith("rules:")]
    if by_rules:
        notes.append(
            f"No language model was used for these reviews: {', '.join(by_rules)}. "
            "Each follows fixed rules of its own, which stand in for a model."
        )
    return notes
