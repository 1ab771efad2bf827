"""Code beside the figures: what it is given, what it may return, what the rules order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from documents.workbook import sample
from documents.workbook.analysis import analyse
from documents.workbook.insights import insights_of
from documents.workbook.models import AnalysisPlan, Job
from documents.workbook.sample import Sample
from documents.workbook.workbook import open_workbook
from onward.sdk import InvalidInput
from onward.sdk.testing import sandbox
from workflows.excel_report import extension

from tests.unit.test_excel_steps import SAMPLE, Run
from tests.unit.workbooks import FILE, inspected, planned, workbook

PAIRS = [["height", "weight"], *([at, 3 * at + 1] for at in range(20))]


def sampled(body: bytes) -> dict[str, Any]:
    """What code is given of the first table."""
    (job, *_) = planned(inspected(body)).jobs
    kept = Sample(job.table)
    with open_workbook(body) as book:
        analyse(book, job, kept)
    found: dict[str, Any] = json.loads(kept.encode())
    return found


def values(document: dict[str, Any]) -> dict[str, list[Any]]:
    return {column["name"]: column["values"] for column in document["columns"]}


def code_of(plan: AnalysisPlan, step: str) -> str:
    (found,) = (s.input["code"] for s in plan.steps if s.id == step)
    return str(found)


def test_code_is_given_the_values_that_the_figures_cover() -> None:
    """Totals are left out; markers and errors are null; numbers stored as text are numbers."""
    rows = [["Town", "Size"], ["Ulm", 1.5], ["Bern", "2"], ["Graz", "n/a"], ["Total", 3.5]]

    found = values(sampled(workbook(Sheet=rows)))

    assert {"Town": ["Ulm", "Bern", "Graz"], "Size": [1.5, 2, None]} == found


def test_a_large_table_is_sampled_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every nth row from the first one on, as many as fit."""
    monkeypatch.setattr(sample, "MOST_ROWS", 6)

    found = sampled(workbook(Sheet=PAIRS))

    assert (20, 4, [0, 4, 8, 12, 16]) == (found["rows"], found["every"], values(found)["height"])


def test_a_sample_is_bounded_in_bytes_and_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the cells hold."""
    monkeypatch.setattr(sample, "MOST_BYTES", 5_000)
    monkeypatch.setattr(sample, "MOST_COLUMNS", 1)
    rows = [["text", "n"], *(["ü" * 900, at] for at in range(50))]

    found = sampled(workbook(Sheet=rows))

    assert 1 == found["hidden_columns"] == len(found["columns"])
    assert len(json.dumps(found["columns"])) < 6_000
    assert {200} == set(map(len, values(found)["text"]))


def test_the_rules_order_quartiles_and_correlations() -> None:
    """Computed in a real child process, from the text that the plan holds."""
    body = workbook(Sheet=PAIRS)

    found = insights_of(sandbox(code_of(planned(inspected(body)), "code-1"), sampled(body)))

    middle, together = found
    assert [["height", 4.75, 9.5, 14.25, 0], ["weight", 15.25, 29.5, 43.75, 0]] == middle.rows
    assert [["height", "weight", 1]] == together.rows


@pytest.mark.parametrize(
    "rows",
    [
        [["name", "town"], ["a", "b"], ["c", "d"]],
        [["n"], [1], [2]],
        [["code", "id"], *([at, at] for at in range(20))],
    ],
    ids=["no numbers", "few rows", "numbers that name things"],
)
def test_the_rules_order_no_code_where_it_would_say_nothing(rows: Any) -> None:
    """A step that finds nothing costs as much as one that does."""
    plan = planned(inspected(workbook(Sheet=rows)))

    assert ["analyse-1"] == [step.id for step in plan.steps]
    assert not plan.jobs[0].sample


@pytest.mark.parametrize(
    ("returned", "fault"),
    [
        (None, "Input should be a valid dictionary"),
        ({"insights": [{"title": "T"}]}, "there is neither text nor rows"),
        (
            {"insights": [{"title": "T", "columns": ["a"], "rows": [[1, 2]]}]},
            "each row has as many cells as there are columns, 1",
        ),
        ({"insights": [{"title": "T", "text": "x" * 501}]}, "at most 500 characters"),
        ({"insights": [{"title": "T", "text": "x"}] * 7}, "at most 6 items"),
        ({"insights": [], "more": 1}, "more: Extra inputs"),
        (
            {"insights": [{"title": "T", "columns": ["a"], "rows": [["x" * 201]]}]},
            "at most 200 characters",
        ),
    ],
)
def test_what_code_returns_is_bounded(returned: Any, fault: str) -> None:
    """It is to be shown to people."""
    with pytest.raises(InvalidInput, match=fault):
        insights_of(returned)


def test_insights_are_shown_in_the_summary_too() -> None:
    """Beside the figures, never among them."""
    summary = Run().summary(SAMPLE)

    orders = summary["sheets"][0]["tables"][0]
    assert {"range", "rows", "columns", "notes", "insights"} == orders.keys()
    assert {("rules", 64)} == {(i["by"], i["rows_read"]) for i in orders["insights"]}
    assert "insights" not in summary["sheets"][2]["tables"][0]


def test_the_report_says_when_code_saw_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader must not take a sample for all."""
    monkeypatch.setattr(sample, "MOST_ROWS", 32)
    run = Run()

    page = run.read(run.report(SAMPLE)["report"]).decode()

    assert "It was given a sample of 32 of 64 rows, evenly spread." in page
    assert "It was given all 12 rows." in page


def test_any_number_of_tables_fits_into_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those beyond the first two hundred share a step, in their order."""
    monkeypatch.setattr(extension, "MOST_SINGLE", 2)
    sheets: dict[str, Sequence[Any]] = {f"S{at}": [["n"], *[[at]] * 3] for at in range(5)}
    body = workbook(**sheets)
    run = Run()
    file = run.artifacts.put("five.xlsx", body, "").model_dump()
    plan = run.step("plan_analysis", file=file, inspection=inspected(body).model_dump())

    added = run.added(plan)

    assert ["analyse-1", "analyse-2", "analyse-rest"] == list(added)
    assert ["S2", "S3", "S4"] == [analysis["sheet"] for analysis in added["analyse-rest"]]
    assert "Code was run on the first 2 tables only." in plan["notes"]


def test_tables_beyond_two_hundred_are_in_the_report(tmp_path: Path) -> None:
    """From the upload to the summary, with nothing left out."""
    sheets: dict[str, Sequence[Any]] = {f"S{at}": [["n"], [at], [1]] for at in range(205)}
    path = tmp_path / "many.xlsx"
    path.write_bytes(workbook(**sheets))

    summary = Run().summary(path)

    assert [at + 1 for at in range(205)] == [
        sheet["tables"][0]["columns"][0]["sum"] for sheet in summary["sheets"]
    ]


def test_a_plan_of_many_tables_stays_below_a_runs_limit() -> None:
    """Five hundred steps, the workflow's own included."""
    body = workbook(Sheet=PAIRS)
    (job,) = planned(inspected(body)).jobs
    jobs: list[Job] = [job] * 1_000
    codes = [extension.Code(f"code-{at}", at, "rules", "") for at in range(208)]

    plan = extension.extend(extension.Draft("rules", jobs, codes), "plan", FILE)

    assert len(plan.steps) + 4 <= 500
    assert 1_000 == len(plan.jobs) + len(plan.rest)
