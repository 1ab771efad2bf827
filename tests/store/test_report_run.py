"""The workbook's report as a run: its planner adds the steps, whoever plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from onward.app.payloads.artifacts import TenantArtifacts
from onward.domain.answers import ModelAnswer
from onward.domain.model import RunStatus, StepStatus, Usage
from onward.sdk import Artifact
from onward.sdk.catalogue import load_catalogue
from onward.sdk.testing import sandbox
from workflows.excel_report.plan import excel_report

from tests.store import runs
from tests.store.driver import Driver

SAMPLE = Path(__file__).parents[1] / "data" / "sample.xlsx"
OURS = {"inspect", "plan", "compose", "publish"}
ADDED = {f"analyse-{n}" for n in range(1, 5)} | {"code-1", "code-2"}
SPECS = load_catalogue().specs


class Planner:
    """A model that plans every table, and adds the same steps each time it is asked."""

    name = "some.model"

    def __init__(self, *steps: dict[str, Any]) -> None:
        self.steps = list(steps)
        self.prompts: list[str] = []

    def ask(self, _system: str, prompt: str, _schema: Any, _seconds: float) -> ModelAnswer:
        self.prompts.append(prompt)
        tables = [{"table": n, "why": "It matters."} for n in range(1, 5)]
        return ModelAnswer({"tables": tables, "steps": self.steps}, Usage(100, 20))


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch, store: Any, reader: Any, blobs: Any, time: Any) -> Any:
    """Run the workflow on the sample, to its end."""
    monkeypatch.setattr(runs, "TOOLS", SPECS)
    file = TenantArtifacts(blobs).put("sample.xlsx", SAMPLE.read_bytes(), "")
    text = json.dumps(excel_report.document())
    text = text.replace('{"$ref": "input.file"}', file.model_dump_json())
    plan = json.loads(text.replace('{"$ref": "input.title"}', "null"))

    def of(**worker: Any) -> runs.Journey:
        made = runs.journey(store, reader, blobs, time, plan)
        Driver(made.drive, made.run_id, tools=SPECS, **worker).execute()
        return made

    return of


def step_rows(made: runs.Journey) -> dict[str, Any]:
    return {row.step_id: row for row in made.drive.reader.steps(made.run_id)}


def summary(made: runs.Journey, blobs: Any) -> dict[str, Any]:
    result = json.loads(step_rows(made)["publish"].output.text)
    body = TenantArtifacts(blobs).get(Artifact.model_validate(result["summary"]))
    document: dict[str, Any] = json.loads(body)
    return document


def look(step_id: str, **changed: Any) -> dict[str, Any]:
    code = "def run(data):\n    return {'insights': [{'title': 'T', 'text': 'x'}]}"
    return {"id": step_id, "tool": "run_analysis", "table": 1, "code": code} | changed


def test_the_planner_adds_an_analysis_and_code_for_each_table(report: Any, blobs: Any) -> None:
    """Each is a checkpoint of its own; two small tables have nothing for code to say."""
    made = report(sandbox=sandbox)

    rows = step_rows(made)
    assert RunStatus.SUCCEEDED is made.run.status
    assert OURS | ADDED == rows.keys()
    assert {StepStatus.SUCCEEDED} == {row.status for row in rows.values()}
    orders = summary(made, blobs)["sheets"][0]["tables"][0]
    assert (64, 2) == (orders["rows"], len(orders["insights"]))


def test_the_figures_do_not_depend_on_code(report: Any, blobs: Any) -> None:
    """No sandbox, no insights; the report is there all the same and says what is missing."""
    made = report()

    rows = step_rows(made)
    assert RunStatus.SUCCEEDED is made.run.status
    assert {"code-1", "code-2"} == {s for s in rows if rows[s].status is StepStatus.SKIPPED}
    orders = summary(made, blobs)["sheets"][0]["tables"][0]
    assert 31250.54 == next(c["sum"] for c in orders["columns"] if c["name"] == "Revenue")
    assert "The code that the rules ordered beside these figures failed" in orders["notes"][-1]


def test_a_models_steps_run_after_those_they_build_on(report: Any, blobs: Any) -> None:
    """The second one is given what the first one found."""
    code = "def run(d):\n    return {'insights': d['earlier']['look-a']}"
    planner = Planner(look("look-b", code=code, after=["look-a"]), look("look-a"))

    made = report(sandbox=sandbox, models=[planner])

    orders = summary(made, blobs)["sheets"][0]["tables"][0]
    assert [("T", "x", "some.model")] * 2 == [
        (found["title"], found["text"], found["by"]) for found in orders["insights"]
    ]
    assert (100, 20) == (made.run.usage.input_tokens, made.run.usage.output_tokens)


def test_a_models_plan_with_a_cycle_and_an_unknown_tool_fails_naming_both(report: Any) -> None:
    """After one repair, which was shown both; what it cost is counted, nothing is added."""
    planner = Planner(
        look("look-a", after=["look-b"]),
        look("look-b", after=["look-a"]),
        look("look-c", tool="browse"),
    )

    made = report(sandbox=sandbox, models=[planner])

    failing = made.run.failing
    assert RunStatus.FAILED is made.run.status
    assert ("plan", 2) == (failing.step_id, len(planner.prompts))
    for said in (failing.failure.message, planner.prompts[1]):
        assert "cycle: look-a → look-b → look-a" in said
        assert "unknown tool 'browse'" in said
    assert 200 == made.run.usage.input_tokens
    assert {"0"} == {planned.key.split("#")[0] for planned in made.drive.reader.plan(made.run_id)}
