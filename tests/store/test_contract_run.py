"""The contract review as a run: claimed, carried out and committed step by step."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from onward.app.payloads.artifacts import TenantArtifacts
from onward.domain.model import RunStatus, StepStatus
from onward.sdk import Artifact
from onward.sdk.catalogue import load_catalogue
from workflows.contract_review.plan import contract_review

from tests.store import runs
from tests.store.driver import Driver

CONTRACT = Path(__file__).parents[1] / "data" / "contract.txt"
REVIEWS = ("review-balanced", "review-risk-averse", "review-commercial")


@pytest.fixture
def review(monkeypatch: pytest.MonkeyPatch, store: Any, reader: Any, blobs: Any, time: Any) -> Any:
    """Run the workflow to its end, with changes to its plan."""
    monkeypatch.setattr(runs, "TOOLS", load_catalogue().specs)
    file = TenantArtifacts(blobs).put("contract.txt", CONTRACT.read_bytes(), "text/plain")

    def of(change: Any = lambda text: text) -> runs.Journey:
        text = json.dumps(contract_review.document())
        text = text.replace('{"$ref": "input.file"}', file.model_dump_json())
        plan = json.loads(change(text.replace('{"$ref": "input.title"}', "null")))
        made = runs.journey(store, reader, blobs, time, plan)
        ids = itertools.count()
        made.drive.new_id = lambda: f"commit-{next(ids)}"  # progress is a commit of its own
        Driver(made.drive, made.run_id).execute()
        return made

    return of


def rows(made: runs.Journey, *step_ids: str) -> Any:
    return made.drive.reader.rows(made.run_id, steps=list(step_ids)).steps


def published(made: runs.Journey, blobs: Any) -> dict[str, Any]:
    result = json.loads(rows(made, "publish")["publish"].output.text)
    body = TenantArtifacts(blobs).get(Artifact.model_validate(result["data"]))
    document: dict[str, Any] = json.loads(body)
    return document


def test_the_reviews_are_attempts_of_their_own(review: Any, blobs: Any) -> None:
    """Three steps beside each other, one result, one published write."""
    made = review()

    assert RunStatus.SUCCEEDED == made.run.status
    assert {StepStatus.SUCCEEDED} == {row.status for row in rows(made, *REVIEWS).values()}
    assert 3 == len(published(made, blobs)["reviewers"])


def test_a_reviewer_that_fails_is_left_out_and_told(review: Any, blobs: Any) -> None:
    """The run succeeds on what the others say."""
    made = review(lambda text: text.replace('"stance": "commercial"', '"stance": "nobody"'))

    assert RunStatus.SUCCEEDED == made.run.status
    assert StepStatus.SKIPPED == rows(made, REVIEWS[2])[REVIEWS[2]].status
    document = published(made, blobs)
    assert ["rules:balanced", "rules:risk-averse"] == document["reviewers"]
    assert "1 of 3 reviewers gave no review." in document["notes"]


def test_without_any_review_the_run_fails(review: Any) -> None:
    """An empty review would look like a clean contract."""
    made = review(lambda text: text.replace('"seat": ', '"seat": -1'))

    assert RunStatus.FAILED == made.run.status
    assert "None of the reviewers" in rows(made, "merge")["merge"].error.message
