"""The steps of `contract-review`. What reads and rates is imported where it is used."""

from __future__ import annotations

from typing import Final

from documents.contract.models import (
    Composed,
    ComposeRequest,
    Document,
    ExtractRequest,
    Merged,
    MergeRequest,
    Parsed,
    ParseRequest,
    Published,
    PublishRequest,
    RateRequest,
    Review,
    Terms,
)
from onward.sdk import StepContext, tool

HTML: Final = "text/html; charset=utf-8"
JSON: Final = "application/json"


@tool(effect="read", timeout=60)
def parse_contract(ctx: StepContext, request: ParseRequest) -> Parsed:
    """Read the text of a .docx or text file in paragraphs; the checkpoint points to them."""
    from documents.contract.parsing import parse

    ctx.progress(0.0, f"opening {request.file.name}")
    document = parse(ctx.get_artifact(request.file))
    return Parsed(
        body=ctx.put_artifact("document.json", document.model_dump_json().encode(), JSON),
        paragraphs=len(document.blocks),
        characters=sum(len(block.text) for block in document.blocks),
    )


@tool(effect="read", timeout=60)
def extract_terms(ctx: StepContext, request: ExtractRequest) -> Terms:
    """Find the key terms by rules, each with its words and their place."""
    from documents.contract.extraction import extract

    body = ctx.get_artifact(request.parsed.body)
    return extract(Document.model_validate_json(body))


@tool(effect="read", timeout=120)
def rate_terms(ctx: StepContext, request: RateRequest) -> Review:
    """Rate each term from one point of view: by a model where one is set, else by rules."""
    from documents.contract.reviewing import review_by_model, review_by_rules

    if not ctx.models:
        return review_by_rules(request.terms, request.stance)
    model = ctx.models[request.seat % len(ctx.models)]
    ctx.progress(0.0, f"asking {model.name}")
    return review_by_model(ctx, model, request.terms, request.stance)


@tool(effect="read", timeout=30)
def merge_reviews(_ctx: StepContext, request: MergeRequest) -> Merged:
    """Lay the reviews side by side: where they agree, where not, and who dissents."""
    from documents.contract.merging import merge

    return merge(request.reviews)


@tool(effect="read", timeout=30)
def compose_review(ctx: StepContext, request: ComposeRequest) -> Composed:
    """Write the review for people and the same for programs."""
    from workflows.contract_review.report import Report

    report = Report.of(request)
    return Composed(
        html=ctx.put_artifact("review.html", report.html().encode(), HTML),
        data=ctx.put_artifact("review.json", report.data(), JSON),
        headline=report.headline,
    )


@tool(effect="write", idempotency="native", timeout=30)
def publish_review(ctx: StepContext, request: PublishRequest) -> Published:
    """Publish both documents; a repeat finds what the first attempt published."""
    composed = request.composed
    return Published(
        review=ctx.publish_artifact("review.html", ctx.get_artifact(composed.html), HTML),
        data=ctx.publish_artifact("review.json", ctx.get_artifact(composed.data), JSON),
        **composed.headline.model_dump(),
    )
