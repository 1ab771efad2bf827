"""What the rules read from sentences as contracts write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from documents.contract.extraction import extract
from documents.contract.models import LABELS
from documents.contract.parsing import parse
from documents.contract.phrases import dates, durations, sentences, sums

from tests.unit.contracts import DOCX, TEXT, found, terms_of, values

if TYPE_CHECKING:
    from documents.contract.models import Kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("within thirty (30) days", [("30 days", 30)]),
        ("a period of one year", [("1 year", 365)]),
        ("24-month term", [("24 months", 720)]),
        ("two weeks, then 10 business days", [("2 weeks", 14), ("10 business days", 10)]),
        ("twenty-four months", [("24 months", 720)]),
        ("one hundred and eighty (180) days", [("180 days", 180)]),
        ("in the month of May", []),
        ("0 days", []),
    ],
)
def test_durations(text: str, expected: list[tuple[str, int]]) -> None:
    """In words, in digits, or both."""
    assert expected == [(duration.text, duration.days) for duration in durations(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("EUR 4,800 per month", [("EUR 4,800", 4800)]),
        ("$1,250.50", [("$1,250.50", 1250.5)]),
        ("US$ 3 million", [("USD 3,000,000", 3_000_000)]),
        ("£2.5m and 40 euros", [("GBP 2,500,000", 2_500_000), ("EUR 40", 40)]),
        ("120.000,50 EUR", [("EUR 120,000.50", 120_000.5)]),
        ("CHF 1'000'000", [("CHF 1,000,000", 1_000_000)]),
        ("EUR 1.234", [("EUR 1.234", None)]),
        ("12 pages and 5%", []),
    ],
)
def test_sums(text: str, expected: list[tuple[str, float | None]]) -> None:
    """Digits that can be read in two ways are not guessed at."""
    read = [(money.text, money.amount) for money in sums(text)]

    assert expected == [(shown, amount and float(amount)) for shown, amount in read]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 March 2025", ["2025-03-03"]),
        ("March 3, 2025", ["2025-03-03"]),
        ("the 25th day of October, 2017", ["2017-10-25"]),
        ("2024-02-29 and 2023-02-29", ["2024-02-29"]),
        ("31.12.2026", ["2026-12-31"]),
        ("06/30/2005 or 30/06/2005", ["2005-06-30", "2005-06-30"]),
        ("04/05/2018", ["04/05/2018"]),
        ("45/13/2018", ["45/13/2018"]),
    ],
)
def test_dates(text: str, expected: list[str]) -> None:
    """ISO 8601, unless day and month could be swapped; the 30th of February is no date."""
    assert expected == [day.text for day in dates(text)]


def test_sentences_end_where_they_end() -> None:
    """Not after abbreviations; one without an end is cut."""
    text = "Fernhill Inc. (No. 5) pays. The rest follows; It ends."

    assert ["Fernhill Inc. (No. 5) pays.", "The rest follows;", "It ends."] == list(sentences(text))
    assert [2_000] == [len(sentence) for sentence in sentences("word " * 1_000)]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (
            "dates",
            "It takes effect on 1 May 2024 and expires on 30 April 2026.",
            ["effective: 2024-05-01", "ends: 2026-04-30"],
        ),
        (
            "dates",
            "It was signed by both on 04/05/2018.",
            ["dated: 04/05/2018 (day and month may be swapped)"],
        ),
        ("term", "The initial term is twelve (12) months.", ["12 months"]),
        ("term", "The lease commences on 1 May 2024 for a period of 3 years.", ["3 years"]),
        ("term", "It continues until April 30, 2026 (the “Term”).", ["until 2026-04-30"]),
        ("term", "This Agreement remains in force until terminated.", ["no fixed end"]),
        ("term", "Payment terms are stated for 30 days in the annex.", []),
        (
            "renewal",
            (
                "It shall automatically be extended for periods of three months each, unless "
                "one party gives 30 days’ notice of its intent to not extend it."
            ),
            ["renews by itself for 3 months unless stopped 30 days before"],
        ),
        ("renewal", "The Agreement does not renew automatically.", ["does not renew by itself"]),
        ("renewal", "It is renewed for successive further periods.", ["renews by itself"]),
        (
            "notice",
            "Either party may terminate on sixty (60) days’ prior notice.",
            ["60 days (to terminate)"],
        ),
        ("notice", "If it fails to cure within 30 days after notice, the other may terminate.", []),
        (
            "termination",
            "Either party may terminate for convenience.",
            ["for convenience, either party"],
        ),
        (
            "termination",
            "Other than for cause, either party may terminate with notice.",
            ["for convenience, either party"],
        ),
        (
            "termination",
            "This Lease may be terminated upon a default by the Landlord.",
            ["for cause, the Landlord only"],
        ),
        ("termination", "The Client may not terminate this Agreement before May.", []),
        ("payment", "Invoices are due net 45.", ["net 45 days"]),
        (
            "payment",
            "Client will pay in full upon receipt of the invoice.",
            ["at once or in advance"],
        ),
        ("payment", "The price is paid within 14 days of delivery.", ["within 14 days"]),
        (
            "payment",
            "Amounts paid late bear interest of 2% per month.",
            ["2% per month on late payments"],
        ),
        ("payment", "A penalty is due for each 2 days of delay in delivery.", []),
        (
            "liability",
            "IN NO EVENT SHALL EITHER PARTY’S AGGREGATE LIABILITY EXCEED EUR 50,000.",
            ["capped at EUR 50,000"],
        ),
        (
            "liability",
            "Its liability is limited to the fees paid in the preceding year.",
            ["capped at the fees paid in the preceding year"],
        ),
        ("liability", "The Supplier’s liability shall not be limited.", ["unlimited"]),
        (
            "liability",
            "Neither party is liable for consequential losses.",
            ["indirect losses are excluded"],
        ),
        (
            "confidentiality",
            "The duty of confidentiality survives for five years.",
            ["for 5 years"],
        ),
        (
            "confidentiality",
            "Trade secrets shall remain confidential indefinitely.",
            ["without an end"],
        ),
        (
            "law",
            "This is governed by the laws of the State of Delaware, without regard to others.",
            ["law of the State of Delaware"],
        ),
        (
            "law",
            "Austrian law applies; the place of jurisdiction is Vienna.",
            ["Austrian law", "disputes: Vienna"],
        ),
        ("law", "The parties comply with the laws on export.", []),
        (
            "parties",
            (
                "This is made between Fernhill, Inc., a Delaware corporation (the “Company”), "
                "and Jo Barley (“Consultant”), as of today."
            ),
            ["Fernhill, Inc. (Company)", "Jo Barley (Consultant)"],
        ),
        (
            "parties",
            "A contract by and between Oak Street Mills Ltd and Pine & Sons GmbH.",
            ["Oak Street Mills Ltd", "Pine & Sons GmbH"],
        ),
        ("parties", "A choice between red and blue goods (the “Goods”) is to be made.", []),
    ],
)
def test_a_sentence_says(kind: Kind, text: str, expected: list[str]) -> None:
    """One term each; a sentence about something else says nothing."""
    assert expected == values(text, kind)


def test_the_sample_is_read_truly() -> None:
    """Every term of it, with clause and words."""
    terms = terms_of(TEXT)

    read = {term.kind: [finding.value for finding in term.findings] for term in terms.terms}
    assert {
        "parties": ["Alder Harbour Works Ltd (Customer)", "Brightwater Analytics GmbH (Provider)"],
        "dates": ["dated: 2025-03-03", "effective: 2025-04-01"],
        "term": ["24 months"],
        "renewal": ["renews by itself for 12 months unless stopped 90 days before"],
        "notice": ["90 days (to stop a renewal)", "60 days (to terminate)"],
        "termination": [
            "for cause, either party, 30 days to remedy",
            "for convenience, the Customer only",
        ],
        "amounts": ["EUR 4,800", "EUR 12,500"],
        "payment": ["within 45 days", "0.5% per month on late payments"],
        "liability": [
            "indirect losses are excluded",
            "capped at the fees paid in the twelve (12) months before the claim",
            "carve-outs from the limits",
        ],
        "confidentiality": ["an obligation without a stated time", "for 3 years"],
        "law": ["law of England and Wales", "disputes: London"],
    } == read
    (term,) = terms.of("term").findings
    assert "clause 2.1, paragraph 7, under “2. TERM AND RENEWAL”" == term.place
    assert term.quote.startswith("2.1 This Agreement commences on 1 April 2025 and continues")


def test_the_word_sample_is_read_truly() -> None:
    """Parties from a cover table, a bare dollar, and what it does not say."""
    terms = terms_of(DOCX)

    assert ["Quillfern Software B.V. (Licensor)", "Marrow & Daughters, Inc. (Licensee)"] == [
        finding.value for finding in terms.of("parties").findings
    ]
    assert {"USD"} == {finding.currency for finding in terms.of("amounts").findings}
    assert any("“$” was read as USD" in note for note in terms.notes)
    assert [] == terms.of("confidentiality").findings
    assert list(LABELS) == [term.kind for term in terms.terms]


def test_the_same_term_is_listed_once() -> None:
    """Its first place counts."""
    text = "1. Fees. The fee is EUR 500.\n\n2. More. Once more, the fee is EUR 500."

    (finding,) = found(text, "amounts")

    assert "1" == finding.place.partition(",")[0].removeprefix("clause ")


def test_what_is_not_shown_is_counted() -> None:
    """A price list is no contract, but it happens."""
    terms = extract(parse("\n\n".join(f"The fee is EUR {at}." for at in range(100, 140)).encode()))

    assert 20 == len(terms.of("amounts").findings)
    assert "Amounts: the first 20 of 40 are shown." in terms.notes


def test_another_language_is_told() -> None:
    """Better a warning than an empty table."""
    german = "Der Vertrag wird zwischen den Parteien geschlossen und gilt für zwei Jahre. " * 10

    assert any(
        "does not read like English" in note for note in extract(parse(german.encode())).notes
    )
    assert not any("English, so" in note for note in terms_of(TEXT).notes)


@pytest.mark.parametrize("part", ["A. B. C. ", "the fees amounts ", "(“", "1 may ", "not exceed "])
def test_no_text_makes_the_rules_slow(part: str) -> None:
    """What backtracks without bounds would take hours here."""
    extract(parse(f"These are the words. {part * 20_000}".encode()))
