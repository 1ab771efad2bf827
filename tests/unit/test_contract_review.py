"""Three reviews side by side: by rules or by models, merged, shown and published."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from documents.contract.merging import merge
from documents.contract.models import (
    LABELS,
    SEVERITIES,
    Finding,
    Kind,
    Review,
    Severity,
    Term,
    Terms,
)
from documents.contract.reviewing import review_by_rules
from onward.domain.plan import compile_plan
from onward.sdk import InvalidInput
from onward.sdk.catalogue import load_catalogue
from workflows.contract_review.plan import contract_review

from tests.unit.contracts import DOCX, STANCES, TEXT, Run, docx, terms_of
from tests.unit.test_excel_report import Balance

ROOT = Path(__file__).parents[2]
EVIL = '<script>alert("x")</script>&'


def rated(stance: Any, **given: Severity) -> Review:
    """A review that rates everything fine but what is given."""
    ratings = [
        {"kind": kind, "severity": given.get(kind, "fine"), "reason": f"{stance} on {kind}"}
        for kind in LABELS
    ]
    return Review.model_validate(
        {"reviewer": f"test:{stance}", "stance": stance, "ratings": ratings}
    )


def severities(terms: Terms, kind: Kind) -> list[str]:
    """What the three sets of rules say of one term."""
    reviews = [review_by_rules(terms, stance) for stance in STANCES]  # type: ignore[arg-type]
    return [
        next(rating.severity for rating in review.ratings if rating.kind == kind)
        for review in reviews
    ]


def term(kind: Kind, **finding: Any) -> Terms:
    """A contract of which one term is known."""
    found = Finding.model_validate({"value": "v", "quote": "q", "place": "p"} | finding)
    return Terms(terms=[Term(kind=kind, findings=[found])])


@pytest.mark.parametrize(
    ("kind", "finding", "expected"),
    [
        ("liability", {"tags": ["unlimited"]}, ["concern", "serious", "serious"]),
        ("liability", {"tags": ["capped"]}, ["fine", "concern", "fine"]),
        ("payment", {"tags": ["due"], "days": 30}, ["fine", "note", "fine"]),
        ("payment", {"tags": ["due"], "days": 90}, ["concern", "note", "serious"]),
        ("renewal", {"tags": ["automatic"], "days": 90}, ["note", "serious", "concern"]),
        ("renewal", {"tags": ["none"]}, ["fine", "fine", "note"]),
        ("notice", {"tags": ["termination"], "days": 14}, ["fine", "concern", "fine"]),
        ("notice", {"tags": ["termination"], "days": 180}, ["note", "concern", "serious"]),
        ("term", {"tags": ["fixed"], "days": 1460}, ["fine", "concern", "serious"]),
        ("term", {"tags": ["endless"]}, ["note", "serious", "fine"]),
        ("termination", {"tags": ["cause", "either"]}, ["fine", "fine", "concern"]),
        ("termination", {"tags": ["convenience", "one-sided"]}, ["concern", "serious", "note"]),
        ("amounts", {"amount": 2e6, "currency": "EUR"}, ["fine", "serious", "fine"]),
        ("confidentiality", {"tags": ["timed"], "days": 3650}, ["note", "fine", "note"]),
        ("law", {"tags": ["law"]}, ["fine", "note", "fine"]),
        ("parties", {}, ["concern", "serious", "fine"]),
        ("dates", {"tags": ["dated"]}, ["fine", "concern", "note"]),
    ],
)
def test_the_rules_differ_by_what_they_ask(
    kind: Kind, finding: dict[str, Any], expected: list[str]
) -> None:
    """Custom, the worst case, and money: balanced, risk-averse, commercial."""
    assert expected == severities(term(kind, **finding), kind)


@pytest.mark.parametrize("kind", LABELS)
def test_silence_is_rated_too(kind: Kind) -> None:
    """A contract that says nothing at all is worst for whoever fears the worst."""
    balanced, cautious, commercial = severities(Terms(terms=[]), kind)

    grave = [SEVERITIES.index(severity) for severity in (balanced, cautious, commercial)]
    assert max(grave) > 0
    assert max(grave) == grave[1] or kind in ("amounts", "payment", "renewal")


def test_reviews_by_rules_say_so() -> None:
    """Nobody takes them for a model's."""
    reviews = Run().reviews(terms_of(TEXT).model_dump())

    assert ["rules:balanced", "rules:risk-averse", "rules:commercial"] == [
        review["reviewer"] for review in reviews
    ]


@pytest.mark.parametrize(
    ("votes", "severity", "agreement", "dissent"),
    [
        (("note", "note", "note"), "note", "unanimous", []),
        (("fine", "serious", "fine"), "fine", "majority", ["risk-averse"]),
        (("concern", "serious", "serious"), "serious", "majority", ["balanced"]),
        (("note", "serious", "fine"), "note", "split", ["risk-averse", "commercial"]),
    ],
)
def test_most_reviewers_decide_and_dissenters_are_named(
    votes: tuple[Severity, ...], severity: str, agreement: str, dissent: list[str]
) -> None:
    """Where no two agree, the middle one counts."""
    reviews = [rated(stance, term=vote) for stance, vote in zip(STANCES, votes, strict=True)]

    judgement = next(j for j in merge(reviews).judgements if j.kind == "term")

    assert (severity, agreement, dissent) == (
        judgement.severity,
        judgement.agreement,
        judgement.dissent,
    )


def test_overall_is_the_gravest_judgement() -> None:
    """One term that must not stay as it is spoils the rest; a lone dissent does not."""
    concern, lone = rated("balanced", law="concern"), rated("commercial", term="serious")

    merged = merge([concern, rated("risk-averse", law="concern"), lone])

    assert "concern" == merged.overall


def test_two_reviews_are_better_than_none() -> None:
    """Who gave none is told; of two that differ the graver counts."""
    merged = merge([rated("balanced", law="note"), None, rated("commercial", law="serious")])

    (law,) = (j for j in merged.judgements if j.kind == "law")
    assert ("serious", "split") == (law.severity, law.agreement)
    assert "1 of 3 reviewers gave no review." in merged.notes
    assert {"single"} == {j.agreement for j in merge([None, rated("balanced"), None]).judgements}
    with pytest.raises(InvalidInput, match="None of the reviewers"):
        merge([None, None, None])


def test_the_result_has_references_and_headline_numbers() -> None:
    """What a client shows without opening a document; a repeat is the first publication."""
    run = Run()

    result = run.review(TEXT)

    assert {"overall": "concern", "terms": 11, "found": 11} == {
        name: result[name] for name in ("overall", "terms", "found")
    }
    assert 11 == result["unanimous"] + result["disputed"]
    assert result == run.review(TEXT)


def test_the_document_for_programs() -> None:
    """Every term with its quotes, votes and dissent; the rules' inner tags are left out."""
    run = Run()
    result = run.review(DOCX, "Quillfern")

    document = run.data(result)

    assert "Quillfern" == document["title"]
    liability = next(t for t in document["terms"] if t["kind"] == "liability")
    assert "clause 4.1, paragraph 13, under “4. Liability”" == liability["findings"][0]["place"]
    assert ["balanced"] == liability["judgement"]["dissent"]
    assert "tags" not in liability["findings"][0]
    assert document["headline"].items() <= result.items()
    assert any("No language model was used" in note for note in document["notes"])


def test_the_page_is_well_formed_and_self_contained() -> None:
    """No script, no address but its own anchors, every tag closed; quotes and dissent shown."""
    run = Run()
    page = run.read(run.review(DOCX)["review"]).decode()

    balance = Balance()
    balance.feed(page)

    assert [] == balance.open
    assert {"script", "link", "img", "iframe"}.isdisjoint(balance.seen)
    assert {f"#{kind}" for kind in LABELS} == set(balance.links)
    for text in ("url(", "@import"):
        assert text not in page
    for text in (
        "is unlimited.",
        "balanced dissents",
        "rules:risk-averse",
        "rules stand in for",
        "no legal advice",
    ):
        assert text in page


def test_everything_from_the_contract_is_escaped(tmp_path: Path) -> None:
    """Names, quotes, headings and the title."""
    path = tmp_path / "evil.docx"
    text = EVIL.replace("&", "&amp;").replace("<", "&lt;")
    head = f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
    path.write_bytes(docx(head, f"Customer: {EVIL} Mills", f"The price of {EVIL} is EUR 5 net 30."))
    run = Run()

    page = run.read(run.review(path, EVIL)["review"]).decode()

    assert "<script" not in page
    assert page.count("&lt;script&gt;") > 3


def test_the_plan_is_valid_and_reviews_run_side_by_side() -> None:
    """Each review needs the terms only, and may fail alone."""
    plan = compile_plan(contract_review.document(), load_catalogue().specs)
    steps = {step.step_id: step for step in plan.steps}

    for stance in STANCES:
        assert ("0#extract",) == steps[f"review-{stance}"].needs
        assert steps[f"review-{stance}"].optional


def test_tools_import_nothing_heavy() -> None:
    """The worker imports them on its cold path, whatever step it runs."""
    code = (
        "import sys, workflows.contract_review.tools as _; "
        "print(*(m for m in sys.modules if m.startswith(('xml', 'documents.contract.'))))"
    )
    path = {"PYTHONPATH": f"{ROOT / 'shared'}:{ROOT / 'functions'}"}

    done = subprocess.run([sys.executable, "-c", code], env=path, capture_output=True, check=True)

    assert ["documents.contract.models"] == done.stdout.decode().split()
