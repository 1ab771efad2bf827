"""What travels between the steps: small, typed checkpoints; bytes travel as artifacts."""

from __future__ import annotations

from typing import Final, Literal

from onward.sdk import Artifact
from pydantic import BaseModel, Field

Kind = Literal[
    "parties",
    "dates",
    "term",
    "renewal",
    "notice",
    "termination",
    "amounts",
    "payment",
    "liability",
    "confidentiality",
    "law",
]

LABELS: Final[dict[Kind, str]] = {
    "parties": "Parties",
    "dates": "Dates",
    "term": "Term",
    "renewal": "Automatic renewal",
    "notice": "Notice period",
    "termination": "Termination",
    "amounts": "Amounts",
    "payment": "Payment terms",
    "liability": "Liability cap",
    "confidentiality": "Confidentiality",
    "law": "Governing law",
}
"""In the order of the report."""

Severity = Literal["fine", "note", "concern", "serious"]
SEVERITIES: Final[tuple[Severity, ...]] = ("fine", "note", "concern", "serious")
"""From harmless to grave."""

StanceName = Literal["balanced", "risk-averse", "commercial"]


class ReviewRequest(BaseModel):
    """The input of a run: a contract and, if wanted, what to call the review."""

    file: Artifact
    title: str | None = Field(default=None, max_length=200)


class ParseRequest(BaseModel):
    """The file to read."""

    file: Artifact


class Block(BaseModel):
    """A paragraph: its number from 1, its clause number and the heading it stands under."""

    number: int
    text: str
    clause: str = ""
    heading: str = ""

    @property
    def place(self) -> str:
        """Where it is, for people."""
        clause = f"clause {self.clause}, " if self.clause else ""
        heading = f", under “{self.heading}”" if self.heading else ""
        return f"{clause}paragraph {self.number}{heading}"


class Document(BaseModel):
    """A contract's text in reading order; `notes` say what was left out or guessed."""

    format: Literal["text", "docx"]
    blocks: list[Block]
    notes: list[str] = []


class Parsed(BaseModel):
    """A contract, parsed; `body` holds a `Document` as JSON."""

    body: Artifact
    paragraphs: int
    characters: int


class ExtractRequest(BaseModel):
    """The parsed contract."""

    parsed: Parsed


class Finding(BaseModel):
    """A term as the contract states it: the value, the words it comes from and where they are.

    `days` is a duration (a month counts as 30, a year as 365), `amount` a sum of `currency`, where
    they could be read without doubt. `tags` are what the rules of the reviewers look at.
    """

    value: str
    quote: str
    place: str
    days: int | None = None
    amount: float | None = None
    currency: str = ""
    tags: list[str] = []


class Term(BaseModel):
    """A key term; without findings the contract says nothing of it that the rules know."""

    kind: Kind
    findings: list[Finding] = []


class Terms(BaseModel):
    """Every key term once, in the order of `LABELS`."""

    terms: list[Term]
    notes: list[str] = []

    def of(self, kind: Kind) -> Term:
        """The term of a kind."""
        return next((term for term in self.terms if term.kind == kind), Term(kind=kind))


class RateRequest(BaseModel):
    """What one reviewer is asked; `seat` (from 0) picks among the models that are set."""

    terms: Terms
    stance: StanceName
    seat: int = Field(ge=0)


class Rating(BaseModel):
    """How grave a reviewer finds what the contract says, or fails to say, of one term."""

    kind: Kind
    severity: Severity
    reason: str = Field(min_length=1, max_length=400)


class Review(BaseModel):
    """One reviewer's ratings; `reviewer` is "rules:<stance>" or "<model>:<stance>"."""

    reviewer: str
    stance: StanceName
    ratings: list[Rating]


class MergeRequest(BaseModel):
    """The reviews; null where a reviewer gave none."""

    reviews: list[Review | None]


class Vote(BaseModel):
    """One reviewer's rating of a term."""

    stance: StanceName
    severity: Severity
    reason: str


class Judgement(BaseModel):
    """A term's ratings side by side.

    `agreement` tells how `severity` came about: all agree, most do, or nobody does and it is the
    middle one. `dissent` names those who rated otherwise.
    """

    kind: Kind
    severity: Severity
    agreement: Literal["unanimous", "majority", "split", "single"]
    votes: list[Vote]
    dissent: list[StanceName] = []


class Merged(BaseModel):
    """All judgements, and the gravest of their severities."""

    overall: Severity
    reviewers: list[str]
    judgements: list[Judgement]
    notes: list[str] = []


class ComposeRequest(BaseModel):
    """Everything that was found."""

    file: Artifact
    title: str | None
    parsed: Parsed
    terms: Terms
    merged: Merged


class Headline(BaseModel):
    """The numbers to show first: terms found, and judgements by severity and agreement."""

    overall: Severity
    terms: int
    found: int
    serious: int
    concerns: int
    unanimous: int
    disputed: int


class Composed(BaseModel):
    """The finished documents, not yet published."""

    html: Artifact
    data: Artifact
    headline: Headline


class PublishRequest(BaseModel):
    """The documents to publish."""

    composed: Composed


class Published(Headline):
    """The run's result: where the documents are, and the numbers."""

    review: Artifact
    data: Artifact
