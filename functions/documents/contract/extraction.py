"""Finding the key terms of a contract by rules, each with the words it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from documents.contract.clauses import (
    about_dates,
    about_notice,
    about_renewal,
    about_term,
    about_termination,
)
from documents.contract.models import LABELS, Block, Document, Finding, Kind, Term, Terms
from documents.contract.obligations import (
    about_confidentiality,
    about_law,
    about_liability,
    about_money,
    about_payment,
)
from documents.contract.parties import parties
from documents.contract.phrases import sentences
from documents.contract.said import Said

QUOTE: Final = 600
MOST: Final[dict[Kind, int]] = {"dates": 12, "amounts": 20, "termination": 8, "liability": 8}
MOST_OTHERWISE: Final = 5
DOLLARS: Final = frozenset({"USD", "CAD", "AUD", "NZD", "SGD", "HKD"})

_ENGLISH: Final = frozenset(
    ("the", "of", "and", "to", "in", "shall", "this", "agreement", "by", "any", "or", "party")
)
_ENGLISH_SHARE: Final = 0.12
_ENOUGH_WORDS: Final = 60


Rule = Callable[[str, str], Iterable[Said]]
"""A sentence and the heading above it → what it says of one term."""

_RULES: Final[dict[Kind, Rule]] = {
    "dates": about_dates,
    "term": about_term,
    "renewal": about_renewal,
    "notice": about_notice,
    "termination": about_termination,
    "amounts": about_money,
    "payment": about_payment,
    "liability": about_liability,
    "confidentiality": about_confidentiality,
    "law": about_law,
}


def extract(document: Document) -> Terms:
    """Every key term once; the notes tell what was left out and how the terms were found."""
    found: dict[Kind, list[Finding]] = {kind: [] for kind in LABELS}
    found["parties"] = parties(document.blocks)
    for block, sentence in _sentences(document.blocks):
        for kind, rule in _RULES.items():
            for said in rule(sentence, block.heading):
                _keep(found[kind], said, sentence, block)
    notes = [
        *document.notes,
        *_dollars(found["amounts"]),
        "The terms were found by fixed rules for contracts in English.",
    ]
    if not _reads_english(document):
        notes.append("The text does not read like English, so terms may have been missed.")
    terms = [Term(kind=kind, findings=_cut(kind, found[kind], notes)) for kind in LABELS]
    return Terms(terms=terms, notes=notes)


def _sentences(blocks: Iterable[Block]) -> Iterator[tuple[Block, str]]:
    for block in blocks:
        for sentence in sentences(block.text):
            yield block, sentence


def _keep(kept: list[Finding], said: Said, sentence: str, block: Block) -> None:
    """Keep what is new; the same value from another clause is the same term."""
    same = next((f for f in kept if f.value == said.value and f.tags == list(said.tags)), None)
    if same is None:
        quote = sentence if len(sentence) <= QUOTE else f"{sentence[: QUOTE - 1]}…"
        kept.append(
            Finding(
                value=said.value,
                quote=quote,
                place=block.place,
                days=said.days,
                amount=said.amount,
                currency=said.currency,
                tags=list(said.tags),
            )
        )


def _dollars(amounts: list[Finding]) -> list[str]:
    """Read a bare $ as the one dollar that the contract names, and say so."""
    named = {f.currency for f in amounts if f.currency in DOLLARS}
    bare = [f for f in amounts if f.currency == "$"]
    if not bare or len(named) != 1:
        return []
    currency = named.pop()
    for finding in bare:
        finding.currency = currency
    return [f"“$” was read as {currency}, the one dollar that the contract names."]


def _cut(kind: Kind, found: list[Finding], notes: list[str]) -> list[Finding]:
    most = MOST.get(kind, MOST_OTHERWISE)
    if len(found) > most:
        notes.append(f"{LABELS[kind]}: the first {most} of {len(found)} are shown.")
    return found[:most]


def _reads_english(document: Document) -> bool:
    words = [
        word.strip(".,;:()").lower() for block in document.blocks for word in block.text.split()
    ]
    usual = sum(1 for word in words if word in _ENGLISH)
    return len(words) < _ENOUGH_WORDS or usual >= len(words) * _ENGLISH_SHARE
