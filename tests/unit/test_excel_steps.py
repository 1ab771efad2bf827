"""The steps of excel-report, run one after the other over real contexts and real workbooks."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from onward.domain.template import references, resolve
from onward.sdk import Artifact, InvalidInput, Model, StepError
from onward.sdk.catalogue import load_catalogue
from onward.sdk.testing import MemoryArtifacts, context
from openpyxl import load_workbook
from openpyxl.utils.cell import range_boundaries

from tests.unit.workbooks import inspected, rewritten, workbook

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "tests" / "data" / "sample.xlsx"
SHARED = ROOT.parent / "shared" / "data"

shared_data = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared workbooks are not here")


@dataclass
class Run:
    """The workflow's steps by hand: each tool gets what the plan would hand it, as JSON."""

    artifacts: MemoryArtifacts = field(default_factory=MemoryArtifacts)
    models: Sequence[Model] = ()

    def step(self, name: str, **request: Any) -> Any:
        ctx = context(models=self.models)
        ctx.artifacts = self.artifacts
        tool = load_catalogue().tools[name]
        return tool.round_trip(tool(ctx, tool.input_model.model_validate(request)))

    def upload(self, path: Path) -> dict[str, Any]:
        return self.artifacts.put(path.name, path.read_bytes(), "").model_dump()

    def report(self, path: Path, title: str | None = None) -> dict[str, Any]:
        file = self.upload(path)
        inspection = self.step("inspect_workbook", file=file)
        plan = self.step("plan_analysis", file=file, inspection=inspection)
        composed = self.step(
            "compose_report",
            file=file,
            title=title,
            inspection=inspection,
            plan=plan,
            added=self.added(plan),
        )
        published: dict[str, Any] = self.step("publish_report", composed=composed)
        return published

    def added(self, plan: dict[str, Any]) -> dict[str, Any]:
        """What the planner's steps return, in the order of their needs; null for one that fails."""
        outputs: dict[str, Any] = {"step": plan}
        waiting = {step["id"]: step for step in plan["steps"]}
        while waiting:
            step = next(step for step in waiting.values() if not needs(step) & waiting.keys())
            del waiting[step["id"]]
            scope = {"steps": outputs}
            if step["for_each"]:
                items = [scope | {"item": item} for item in resolve(step["for_each"], scope)]
                outputs[step["id"]] = [self.attempt(step, scope) for scope in items]
            else:
                outputs[step["id"]] = self.attempt(step, scope)
        return {step["id"]: outputs[step["id"]] for step in plan["steps"]}

    def attempt(self, step: dict[str, Any], scope: dict[str, Any]) -> Any:
        try:
            return self.step(step["tool"], **resolve(step["input"], scope))
        except StepError:
            if not step["optional"]:
                raise
            return None

    def read(self, artifact: dict[str, Any]) -> bytes:
        return self.artifacts.get(Artifact.model_validate(artifact))

    def summary(self, path: Path) -> dict[str, Any]:
        summary: dict[str, Any] = json.loads(self.read(self.report(path)["summary"]))
        return summary


def needs(step: dict[str, Any]) -> set[str | None]:
    return {reference.step for reference in references([step["input"], step["for_each"]])}


def rows(summary: dict[str, Any]) -> dict[str, list[int]]:
    return {s["name"]: [table["rows"] for table in s["tables"]] for s in summary["sheets"]}


def sums(summary: dict[str, Any], sheet: str, table: int = 0) -> dict[str, Any]:
    (found,) = (s for s in summary["sheets"] if s["name"] == sheet)
    return {c["name"]: c["sum"] for c in found["tables"][table]["columns"]}


def test_the_sample_is_reported_truly() -> None:
    """The workbook that a newcomer sees first."""
    summary = Run().summary(SAMPLE)

    assert {"Orders": [64], "Shop visits": [12], "Stock": [4, 3]} == rows(summary)
    orders = sums(summary, "Orders")
    assert (328, 31250.54, None) == (orders["Units"], orders["Revenue"], orders["Region"])
    assert {"Month": None, "Harbour": 5358, "Old town": 3725, "Station": 5502} == sums(
        summary, "Shop visits"
    )


def test_a_repeated_publication_is_the_first_one() -> None:
    """The step is a write: the key makes a resend harmless."""
    run = Run()
    first = run.report(SAMPLE)
    held = len(run.artifacts.held)

    assert first == run.report(SAMPLE)
    assert held == len(run.artifacts.held)


def test_the_title_is_the_callers_or_the_files() -> None:
    """Either is what the page is called."""
    named, unnamed = Run(), Run()

    titled = named.read(named.report(SAMPLE, "Quarter & year")["report"])
    untitled = unnamed.read(unnamed.report(SAMPLE)["report"])

    assert b"<h1>Quarter &amp; year</h1>" in titled
    assert b"<h1>sample.xlsx</h1>" in untitled


def test_a_file_that_is_no_workbook_fails_for_good() -> None:
    """Trying again would not help."""
    with pytest.raises(InvalidInput, match="a text file"):
        Run().report(Path(__file__))


def test_time_that_runs_out_is_said() -> None:
    """Better a reason than a process that is ended."""
    ctx = context(clock=lambda: 0.0)
    ctx.deadline = 1.0
    long = workbook(Long=[[number] for number in range(2_500)])
    tool = load_catalogue().tools["inspect_workbook"]
    request = tool.input_model.model_validate({"file": ctx.put_artifact("long.xlsx", long)})

    with pytest.raises(InvalidInput, match="too large to be read within this step's time"):
        tool(ctx, request)


def test_tools_import_nothing_heavy() -> None:
    """The worker imports them on its cold path, whatever step it runs."""
    code = (
        "import sys, workflows.excel_report.tools as _; "
        "print(*(m for m in sys.modules if m.startswith(('xml', 'documents.workbook.'))))"
    )
    path = {"PYTHONPATH": f"{ROOT / 'shared'}:{ROOT / 'functions'}"}

    done = subprocess.run([sys.executable, "-c", code], env=path, capture_output=True, check=True)

    named = ["insights", "models"]
    assert [f"documents.workbook.{name}" for name in named] == sorted(done.stdout.decode().split())


@shared_data
def test_datasets() -> None:
    """Three plain tables from R."""
    summary = Run().summary(SHARED / "datasets.xlsx")

    assert {"mtcars": [32], "chickwts": [71], "quakes": [1000]} == rows(summary)
    mtcars = sums(summary, "mtcars")
    assert (642.9, 198, 7383.1, 4694) == tuple(
        mtcars[name] for name in ("mpg", "cyl", "disp", "hp")
    )
    assert {"weight": 18553, "feed": None} == sums(summary, "chickwts")
    assert {
        "lat": -20642.75,
        "long": 179462.02,
        "depth": 311371,
        "mag": 4620.4,
        "stations": 33418,
    } == (sums(summary, "quakes"))


@shared_data
def test_deaths() -> None:
    """Ten and ten people; the prose around them is left out."""
    summary = Run().summary(SHARED / "deaths.xlsx")

    assert {"arts": [10], "other": [10]} == rows(summary)
    assert (729, 754) == (sums(summary, "arts")["Age"], sums(summary, "other")["Age"])
    assert all("outside the tables" in sheet["notes"][0] for sheet in summary["sheets"])


@shared_data
def test_deaths_without_declared_tables() -> None:
    """The prose is told apart by its looks alone."""

    def undeclared(part: str, old: bytes) -> bytes | None:
        if part.startswith(("xl/tables/", "xl/worksheets/_rels/")):
            return None
        return re.sub(rb"<tableParts.*?</tableParts>|<Override[^>]*/tables/[^>]*/>", b"", old)

    found = inspected(rewritten((SHARED / "deaths.xlsx").read_bytes(), undeclared))

    assert [("A5:F15", 10)] * 2 == [(t.range, t.rows) for s in found.sheets for t in s.tables]


@shared_data
def test_clippy() -> None:
    """A column of everything, and a header of two rows."""
    summary = Run().summary(SHARED / "clippy.xlsx")

    assert {"list-column": [4], "two-row-header": [1]} == rows(summary)
    assert {
        "name (at birth)": None,
        "species (office supply type)": None,
        "death (date is approximate)": None,
        "weight (in grams)": 0.9,
    } == sums(summary, "two-row-header")


@shared_data
def test_turnout() -> None:
    """Numbers beside “NA”, percentages, and a sheet of links."""
    summary = Run().summary(SHARED / "off-year-turnout-2023.xlsx")

    assert {
        "Virginia": [134],
        "Kentucky": [120],
        "Ohio": [88],
        "Pennsylvania": [67],
        "New Jersey": [21],
        "Sources": [],
    } == rows(summary)
    virginia = sums(summary, "Virginia")
    assert (2544563, 3297513, 1452680) == tuple(virginia[f"{y} votes"] for y in (2023, 2021, 2011))
    assert 5639.4 == virginia["age_median_estimate_18to22"]


@shared_data
@pytest.mark.parametrize("name", ["datasets", "deaths", "clippy", "off-year-turnout-2023"])
def test_every_sum_is_what_another_reader_adds_up(name: str) -> None:
    """All columns of numbers, by openpyxl and decimal arithmetic, from the cells of the ranges."""
    path = SHARED / f"{name}.xlsx"
    book = load_workbook(path, data_only=True)
    compared = 0

    for sheet in Run().summary(path)["sheets"]:
        for table in sheet["tables"]:
            left, top, right, bottom = range_boundaries(table["range"])
            columns = book[sheet["name"]].iter_cols(left, right, top + 1, bottom, values_only=True)
            for column, cells in zip(table["columns"], columns, strict=True):
                numbers = [Decimal(repr(cell)) for cell in cells if type(cell) in (int, float)]
                if column["type"] in ("integer", "number"):
                    compared += 1
                    assert float(sum(numbers)) == column["sum"]

    assert compared
