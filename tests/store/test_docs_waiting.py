"""The refund agent of docs/waiting.md as printed: approved, edited, refused, and left alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from onward.sdk.catalogue import Catalogue, load_catalogue

from tests.store.conftest import caller, issue
from tests.store.driver import Driver

if TYPE_CHECKING:
    from onward.app.service import Service

PAGE = Path(__file__).resolve().parents[2] / "docs" / "waiting.md"
COMPLAINT = {"order_id": "o-1", "price": "40.00", "text": "it came late"}


@pytest.fixture
def refunds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    """The example in a folder of its own, as a user would put it."""
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(example.splitlines()) < 60
    folder = tmp_path / "docs_workflows" / "refund_agent"
    folder.mkdir(parents=True)
    (folder / "plan.py").write_text(example)
    monkeypatch.syspath_prepend(tmp_path)
    return load_catalogue("docs_workflows")


@pytest.mark.parametrize(
    ("decision", "status", "letter"),
    [
        ({"decision": "approve"}, "succeeded", "o-1: 20.000 EUR"),
        (
            {"decision": "approve", "edited_input": {"amount": "10.00"}},
            "succeeded",
            "o-1: 10.00 EUR",
        ),
        ({"decision": "reject", "comment": "no receipt"}, "succeeded", "o-1: sorry"),
        (None, "succeeded", "o-1: sorry"),
    ],
    ids=["approved", "edited", "rejected", "timed out"],
)
def test_the_refund_agent_does_what_people_decide(
    service: Service,
    refunds: Catalogue,
    decision: dict[str, Any] | None,
    status: str,
    letter: str,
) -> None:
    """Its letter says what was really paid."""
    here = replace(service, catalogue=lambda: refunds)
    submitter = caller(here, issue(here, "acme", "submitter"))
    run_id = submitter.post("/runs", {"workflow": "refund-agent", "input": COMPLAINT}).body[
        "run_id"
    ]
    # Its driver parks for a day at most: a week is seven of them, and nobody comes.
    driver = Driver(here.drive, run_id, tools=refunds.specs, parks=1 if decision else 10)
    driver.execute()
    finance = caller(here, issue(here, "acme", "approver:finance"))
    if decision is not None:
        (proposed,) = finance.get("/approvals").body["approvals"]
        assert {"order_id": "o-1", "amount": "20.000"} == proposed["input"]
        body = decision | {"action_version": proposed["action_version"]}
        assert 200 == finance.post(f"/runs/{run_id}/approvals/pay", body).status
        driver.follow(driver.settle(1), 1)
    run = submitter.get(f"/runs/{run_id}").body
    assert (status, letter) == (run["status"], run["result"])
