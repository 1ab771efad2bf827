"""What is said of requests that are wrong: every fault at once, each with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onward.app.service import Service

from tests.store.conftest import caller, issue
from tests.store.runs import RUN_ID, Journey

TABLE = Path(__file__).parents[1] / "data" / "bad_requests.json"
ROWS: list[dict[str, Any]] = json.loads(TABLE.read_text())


def test_every_fault_is_named_in_the_words_that_callers_know(
    service: Service, made: Journey
) -> None:
    """Messages are read by people and matched by their programs: they change on purpose only."""
    assert made.run_id == RUN_ID
    anybody = caller(service, issue(service, "acme", "operator", "submitter"))
    for row in ROWS:
        body = json.dumps(row["body"]).encode() if "body" in row else None
        reply = anybody.send(row["method"], row["path"], body, query=row.get("query"))
        assert reply.status == 422, row
        said = [[fault["pointer"], fault["message"]] for fault in reply.body["errors"]]
        assert (row["code"], sorted(row["errors"])) == (reply.body["code"], sorted(said)), row
        detail = reply.body["detail"]
        assert any(m in detail for _, m in row["errors"]) or "object" in detail, row


def test_the_table_names_no_row_twice() -> None:
    """A row that is there twice hides that another one is missing."""
    calls = [json.dumps([r["method"], r["path"], r.get("query"), r.get("body", "-")]) for r in ROWS]
    assert len(calls) == len(set(calls))
