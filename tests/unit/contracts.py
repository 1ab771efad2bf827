"""Contracts for tests, and the steps of contract-review run by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from documents.contract.extraction import extract
from documents.contract.parsing import parse
from onward.sdk import Artifact
from onward.sdk.catalogue import load_catalogue
from onward.sdk.testing import MemoryArtifacts, context

from tests.data.make_contracts import paragraph, word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from documents.contract.models import Finding, Kind, Terms
    from onward.sdk import Model

DATA = Path(__file__).parents[1] / "data"
TEXT = DATA / "contract.txt"
DOCX = DATA / "contract.docx"
STANCES = ("balanced", "risk-averse", "commercial")
NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx(*content: str, namespace: str = NAMESPACE) -> bytes:
    """A Word document of these paragraphs, given as text or as XML."""
    body = "".join(part if part.startswith("<") else paragraph(part) for part in content)
    return word(f'<w:document xmlns:w="{namespace}"><w:body>{body}</w:body></w:document>')


def found(text: str, kind: Kind) -> list[Finding]:
    """What is found of one term in a text."""
    return extract(parse(text.encode())).of(kind).findings


def values(text: str, kind: Kind) -> list[str]:
    """The same, values only."""
    return [finding.value for finding in found(text, kind)]


def terms_of(path: Path) -> Terms:
    """The terms of a file."""
    return extract(parse(path.read_bytes()))


@dataclass
class Run:
    """The workflow's steps by hand: each tool gets what the plan would hand it, as JSON."""

    models: Sequence[Model] = ()
    artifacts: MemoryArtifacts = field(default_factory=MemoryArtifacts)

    def step(self, name: str, **request: Any) -> Any:
        ctx = context(step_id=name, models=self.models)
        ctx.artifacts = self.artifacts
        tool = load_catalogue().tools[name]
        return tool.round_trip(tool(ctx, tool.input_model.model_validate(request)))

    def reviews(self, terms: Any) -> list[Any]:
        return [
            self.step("rate_terms", terms=terms, stance=stance, seat=seat)
            for seat, stance in enumerate(STANCES)
        ]

    def review(self, path: Path, title: str | None = None) -> dict[str, Any]:
        file = self.artifacts.put(path.name, path.read_bytes(), "").model_dump()
        parsed = self.step("parse_contract", file=file)
        terms = self.step("extract_terms", parsed=parsed)
        merged = self.step("merge_reviews", reviews=self.reviews(terms))
        composed = self.step(
            "compose_review", file=file, title=title, parsed=parsed, terms=terms, merged=merged
        )
        published: dict[str, Any] = self.step("publish_review", composed=composed)
        return published

    def read(self, artifact: dict[str, Any]) -> bytes:
        return self.artifacts.get(Artifact.model_validate(artifact))

    def data(self, published: dict[str, Any]) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.read(published["data"]))
        return document
