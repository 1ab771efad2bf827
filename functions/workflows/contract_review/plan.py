"""The workflow `contract-review`."""

from __future__ import annotations

from documents.contract.models import ReviewRequest
from onward.sdk import Step, Workflow, ref

from workflows.contract_review.tools import (
    compose_review,
    extract_terms,
    merge_reviews,
    parse_contract,
    publish_review,
    rate_terms,
)


def _review(seat: int, stance: str) -> Step:
    """One reviewer; optional, for the others' reviews are worth having without this one."""
    return Step(
        f"review-{stance}",
        rate_terms,
        {"terms": ref("steps.extract"), "stance": stance, "seat": seat},
        optional=True,
    )


contract_review = Workflow(
    "contract-review",
    version=1,
    input=ReviewRequest,
    steps=[
        Step("parse", parse_contract, {"file": ref("input.file")}),
        Step("extract", extract_terms, {"parsed": ref("steps.parse")}),
        _review(0, "balanced"),
        _review(1, "risk-averse"),
        _review(2, "commercial"),
        Step(
            "merge",
            merge_reviews,
            {
                "reviews": [
                    ref("steps.review-balanced"),
                    ref("steps.review-risk-averse"),
                    ref("steps.review-commercial"),
                ],
            },
        ),
        Step(
            "compose",
            compose_review,
            {
                "file": ref("input.file"),
                "title": ref("input.title"),
                "parsed": ref("steps.parse"),
                "terms": ref("steps.extract"),
                "merged": ref("steps.merge"),
            },
        ),
        Step("publish", publish_review, {"composed": ref("steps.compose")}),
    ],
)
