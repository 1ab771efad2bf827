"""The workbook's report planned by a model: its choices are followed, its mistakes named."""

from __future__ import annotations

from typing import Any

import pytest
from documents.workbook.models import AnalysisPlan, Inspection, PlanRequest
from onward.aws.models import BedrockModel
from onward.sdk import Fatal
from onward.sdk.catalogue import load_catalogue
from onward.sdk.testing import context

from tests.unit.bedrock import Bedrock, says
from tests.unit.test_excel_steps import SAMPLE, Run
from tests.unit.workbooks import FILE, inspected, workbook

GOODS: list[list[Any]] = [["Item", "Price", "Since"], ["Tent", 99.5, 2019], ["Stove", 42.0, 2021]]
TOWNS: list[list[Any]] = [["Town", "Size"], ["Ulm", 126], ["Bern", 134]]
COUNT = "def run(data):\n    return {'insights': [{'title': 'Rows', 'text': str(data['rows'])}]}"
BARS = {"kind": "bars", "value": "Price", "label": "Item", "combine": "mean"}


def planned(table: int, chart: Any = None, **changed: Any) -> dict[str, Any]:
    return {"table": table, "first": [], "chart": chart, "why": "It matters."} | changed


def look(step_id: str, table: int = 1, code: str = COUNT, **changed: Any) -> dict[str, Any]:
    return {"id": step_id, "tool": "run_analysis", "table": table, "code": code} | changed


def answer(*steps: dict[str, Any]) -> Any:
    return says({"tables": [planned(1), planned(2)], "steps": list(steps)})


def plan(inspection: Inspection | None = None) -> tuple[AnalysisPlan, Any]:
    ctx = context(models=[BedrockModel("some.model")])
    found = inspection or inspected(workbook(Goods=GOODS, Towns=TOWNS))
    made: AnalysisPlan = load_catalogue().tools["plan_analysis"](
        ctx, PlanRequest(file=FILE, inspection=found)
    )
    return made, ctx


def test_the_models_plan_is_followed(bedrock: Bedrock) -> None:
    """One job a table, columns by name, and the model is named."""
    tables = [planned(2), planned(1, BARS, first=["Price", "Item"], why="Prices vary.")]
    bedrock.script = [says({"tables": tables})]

    made, ctx = plan()

    goods, towns = made.jobs
    assert ("Goods", "Towns") == (goods.table.sheet, towns.table.sheet)
    assert goods.chart
    assert ("bars", 1, 0, "mean") == (
        goods.chart.kind,
        goods.chart.value,
        goods.chart.label,
        goods.chart.combine,
    )
    assert ["Look first at Price, Item: Prices vary."] == goods.remarks
    assert (None, ["It matters."]) == (towns.chart, towns.remarks)
    assert "some.model" == made.planner
    assert 20 == ctx.spent.output_tokens


def test_the_model_sees_names_and_types_but_no_values(bedrock: Bedrock) -> None:
    """What is in the cells stays here."""
    bedrock.script = [says({"tables": [planned(1), planned(2)]})]

    plan()

    assert '[["Item", "text"], ["Price", "number"], ["Since", "integer"]]' in bedrock.prompt(0)
    assert not any(value in bedrock.prompt(0) for value in ("Tent", "99.5", "Ulm", "126"))


@pytest.mark.parametrize(
    ("tables", "fault"),
    [
        ([planned(1)], "not planned: table 2"),
        ([planned(1), planned(2), planned(2)], "planned more than once: table 2"),
        ([planned(1), planned(2), planned(7)], "there is no table 7; there are 1 to 2"),
        ([planned(1, first=["Colour"]), planned(2)], "table 1: no column 'Colour'; there are Item"),
        (
            [planned(1, BARS | {"value": "Item", "label": "Since"}), planned(2)],
            "table 1: 'Item' holds text, and a chart's value is a number",
        ),
        (
            [planned(1, BARS | {"label": None}), planned(2)],
            "table 1: bars and lines have a label, a histogram has none",
        ),
        (
            [planned(1, BARS | {"kind": "histogram"}), planned(2)],
            "table 1: bars and lines have a label, a histogram has none",
        ),
        (
            [planned(1, BARS | {"label": "Price"}), planned(2)],
            "table 1: label and value are the same column",
        ),
        (
            [planned(1, BARS | {"kind": "line"}), planned(2)],
            "table 1: 'Item' holds text, and a line goes along dates or numbers",
        ),
        ([planned(1, first=["Item"] * 5), planned(2)], "tables.0.first: List should have at most"),
    ],
)
def test_a_mistaken_plan_is_repaired_or_fails_naming_what_is_wrong(
    bedrock: Bedrock, tables: list[Any], fault: str
) -> None:
    """The rules do not step in: whoever set a model would not notice that it plans nonsense."""
    good = {"tables": [planned(1, BARS), planned(2)]}
    bedrock.script = [says({"tables": tables}), says(good), *[says({"tables": tables})] * 2]

    assert 2 == len(plan()[0].jobs)
    assert fault in bedrock.prompt(1)
    with pytest.raises(Fatal) as failed:
        plan()
    assert fault in str(failed.value)


def test_all_faults_are_named_at_once(bedrock: Bedrock) -> None:
    """One repair has to be enough."""
    bedrock.script = [says({"tables": [planned(1, first=["X"]), planned(9)]})] * 2

    with pytest.raises(Fatal, match=r"no table 9.*not planned: table 2.*table 1: no column 'X'"):
        plan()


def test_a_workbook_without_tables_costs_nothing(bedrock: Bedrock) -> None:
    """There is nothing to ask."""
    made, ctx = plan(Inspection(sheets=[]))

    assert ([], [], 0) == (made.jobs, bedrock.asked, ctx.spent.total)


def test_tables_beyond_those_asked_about_are_planned_by_rules(
    bedrock: Bedrock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the report says so."""
    monkeypatch.setattr("workflows.excel_report.model_planner.ASKED_TABLES", 1)
    bedrock.script = [says({"tables": [planned(1)]})]

    made, _ = plan()

    assert [None, "bars"] == [job.chart and job.chart.kind for job in made.jobs]
    assert "It was asked about the first 1 tables; rules planned the rest." in made.notes


def test_the_report_shows_who_planned_and_why(bedrock: Bedrock) -> None:
    """The same figures as by rules, with the model's remark."""
    names = ["Orders", "Visits", "Stock", "Suppliers"]
    bedrock.script = [
        says({"tables": [planned(at, why=f"See {n}.") for at, n in enumerate(names, start=1)]})
    ]
    run = Run(models=[BedrockModel("some.model")])

    published = run.report(SAMPLE)

    page = run.read(published["report"]).decode()
    assert "The language model some.model chose the charts" in page
    assert "See Orders." in page
    assert "no language model was used" not in page
    assert (4, 83) == (published["tables"], published["rows"])


def test_the_models_steps_become_steps_of_the_run(bedrock: Bedrock) -> None:
    """Its code is run on the sample of its table, after the steps that it names."""
    bedrock.script = [answer(look("look-a"), look("look-b", 2, after=["look-a"]))]

    made, _ = plan()

    steps = {step.id: step for step in made.steps}
    assert ["analyse-1", "analyse-2", "look-a", "look-b"] == list(steps)
    given = steps["look-b"].input
    assert {"$ref": "steps.analyse-2.sample"} == given["sample"]
    assert {"look-a": {"$ref": "steps.look-a.insights"}} == given["earlier"]
    assert [True, True] == [job.sample for job in made.jobs]
    assert [False, False, True, True] == [step.optional for step in made.steps]


@pytest.mark.parametrize(
    ("steps", "faults"),
    [
        (
            [
                look("look-a", after=["look-b"]),
                look("look-b", after=["look-a"]),
                look("look-c", tool="browse"),
            ],
            ["cycle: look-a → look-b → look-a", "unknown tool 'browse'"],
        ),
        ([look("look-a", tool="publish_report")], ["unknown tool 'publish_report'"]),
        ([look("look-a", after=["look-z"])], ["there is no step 'look-z'"]),
        ([look("look-a"), look("look-a")], ["duplicate step id 'look-a'"]),
        ([look("look-a", 3)], ["look-a: there is no table 3; there are 1 to 2"]),
        ([look("look-a", code="def run(")], ["look-a: the code is not Python: '(' was never"]),
        ([look("look-a", code="x = 1")], ["look-a: the code does not define run(data)"]),
        ([look("plan")], ["steps.0.id: String should match pattern"]),
    ],
)
def test_mistaken_steps_are_repaired_or_fail_naming_what_is_wrong(
    bedrock: Bedrock, steps: list[Any], faults: list[str]
) -> None:
    """As a plan, with the planner's own tools and no others."""
    bedrock.script = [answer(*steps), answer(), answer(*steps), answer(*steps)]

    plan()
    with pytest.raises(Fatal) as failed:
        plan()

    for fault in faults:
        assert fault in bedrock.prompt(1)
        assert fault in str(failed.value)


def test_the_report_marks_what_code_of_the_model_computed(bedrock: Bedrock) -> None:
    """With the code itself; code that fails is told, and the figures stand."""
    tables = [planned(at) for at in range(1, 5)]
    evil = "def run(data):\n    return {'insights': [{'title': '<b>1</b>', 'text': '<i>2</i>'}]}"
    steps = [look("look-evil", code=evil), look("look-bad", 2, "def run(data):\n    return 1 / 0")]
    bedrock.script = [says({"tables": tables, "steps": steps})]
    run = Run(models=[BedrockModel("some.model")])

    published = run.report(SAMPLE)

    page = run.read(published["report"]).decode()
    assert "code that the language model some.model wrote; nobody has read it" in page
    assert "<pre>def run(data):" in page
    assert "&lt;b&gt;1&lt;/b&gt;" in page
    assert "<i>" not in page
    assert "Step look-bad of the run says why." in page
    assert b"31250.54" in run.read(published["summary"])
