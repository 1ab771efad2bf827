"""The report for people: complete, escaped, and free of anything from elsewhere."""

from __future__ import annotations

import datetime as dt
import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from documents.page.chart import draw, scale
from documents.page.figures import compact, figure
from documents.workbook.models import AnalysisPlan, ChartData, ChartPoint, ColumnFacts
from workflows.excel_report.planner import choose_chart
from workflows.excel_report.report import render
from workflows.excel_report.summary import build_summary, encode

from tests.unit.workbooks import inspected, planned, reported, workbook

EVIL = '<script>alert("x")</script>&\''


class Balance(HTMLParser):
    """Fails on a tag that is closed in the wrong order; collects names and addresses."""

    VOID = frozenset({"meta", "rect", "line", "circle", "polyline"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "srcset")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert tag == self.open.pop()


def html_of(title: str = "Title", **sheets: list[list[Any]]) -> str:
    body = workbook(**sheets)
    inspection = inspected(body)
    return render(title, "book.xlsx", inspection, planned(inspection), reported(body))


def points(values: list[float]) -> list[ChartPoint]:
    return [ChartPoint(label=f"p{at}", value=value) for at, value in enumerate(values)]


def chart(kind: Any, values: list[float], **changed: Any) -> ChartData:
    data = ChartData(kind=kind, caption="C", value_name="v", label_name="l", points=points(values))
    return data.model_copy(update=changed)


def test_the_page_is_well_formed_and_self_contained() -> None:
    """No script, no address but its own anchors, every tag closed."""
    page = html_of(One=[["a", "b"], ["x", 1], ["y", 2]], Two=[["c"], [1.5], [2.5]], Three=[])

    balance = Balance()
    balance.feed(page)

    assert [] == balance.open
    assert {"script", "link", "img", "iframe"}.isdisjoint(balance.seen)
    assert all(link.startswith("#s") for link in balance.links)
    assert "url(" not in page
    assert "@import" not in page
    assert "The analyses were planned by fixed rules; no language model was used." in page


def test_everything_from_the_workbook_is_escaped() -> None:
    """Names, values, labels, notes and the title."""
    rows = [[EVIL, "n"], [EVIL, 1], ["b", 2], ["c", EVIL], [], [f"Source: {EVIL}"]]

    page = html_of(EVIL, **{"<s>&": rows})

    assert "<script" not in page
    assert "<s>&" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize(
    "data",
    [
        chart("bars", [3, 0, 12.5]),
        chart("bars", [-3, 4]),
        chart("bars", [0, 0]),
        chart("bars", [0.25, 1], percent=True),
        chart("line", [5, 5]),
        chart("line", [7]),
        chart(
            "line",
            [1, 2, 9],
            points=[ChartPoint(label=f"2024-01-0{day}", value=day) for day in (1, 2, 9)],
        ),
        chart(
            "histogram",
            [],
            points=[
                ChartPoint(label="-10", value=3),
                ChartPoint(label="0", value=1),
                ChartPoint(label="10", value=0),
            ],
        ),
    ],
    ids=[
        "bars",
        "negative bars",
        "bars of nothing",
        "percentages",
        "a flat line",
        "a single point",
        "dates",
        "a histogram",
    ],
)
def test_charts_are_well_formed_accessible_and_within_their_frame(data: ChartData) -> None:
    """A title and a description are there; nothing is drawn outside."""
    drawing = ET.fromstring(draw(data, "k"))

    _, _, width, height = map(float, drawing.attrib["viewBox"].split())
    assert ["title", "desc"] == [child.tag for child in list(drawing)[:2]]
    assert "k-t k-d" == drawing.attrib["aria-labelledby"]
    for shape in drawing.iter("rect"):
        x, y, w, h = (float(shape.attrib[name]) for name in ("x", "y", "width", "height"))
        assert x >= 0 <= y
        assert x + w <= width
        assert y + h <= height
        assert h >= 0
    for text in drawing.iter("text"):
        assert 0 <= float(text.attrib["x"]) <= width
        assert 0 <= float(text.attrib["y"]) <= height


@pytest.mark.parametrize(
    ("values", "zero", "expected"),
    [
        ([0, 327_707], True, [0, 100_000, 200_000, 300_000, 400_000]),
        ([-3, 4], True, [-4, -2, 0, 2, 4]),
        ([41, 95], False, [40, 60, 80, 100]),
        ([5, 5], True, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_scales_have_round_ticks_around_all_values(
    values: list[float], zero: bool, expected: list[float]
) -> None:
    """The axis begins at or below the least value and ends at or above the greatest."""
    assert expected == scale(values, zero=zero)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([("Name", "text"), ("Age", "integer")], ("bars", 1, 0, "mean")),
        ([("feed", "text"), ("id", "integer"), ("Sales", "number")], ("bars", 2, 0, "sum")),
        ([("Date", "date"), ("Units", "integer"), ("Revenue", "number")], ("line", 2, 0, "sum")),
        ([("Year", "integer"), ("Rate", "number")], ("line", 1, 0, "mean")),
        (
            [("lat", "number"), ("long", "number"), ("depth", "integer")],
            ("histogram", 2, None, "mean"),
        ),
        ([("Name", "text"), ("Born", "date")], None),
    ],
)
def test_the_chart_follows_from_the_columns(
    columns: list[tuple[str, Any]], expected: tuple[Any, ...] | None
) -> None:
    """A line along a leading date or year, bars by the first text, else a histogram."""
    plan = choose_chart([ColumnFacts(name=name, type=kind) for name, kind in columns])

    found = plan and (
        plan.kind,
        plan.value,
        plan.label,
        plan.combine if plan.kind != "histogram" else "mean",
    )
    assert expected == found


def test_bars_show_the_largest_and_say_so() -> None:
    """A chart never hides that something is not in it."""
    rows = [["Town", "Votes"], *([f"t{at}", at] for at in range(40))]

    (report,) = reported(workbook(Sheet=rows))

    assert report.chart is not None
    assert "Votes by Town: the 15 largest of 40" == report.chart.caption
    assert [39, 38] == [point.value for point in report.chart.points[:2]]


def test_bars_combine_rows_of_the_same_label() -> None:
    """Amounts are added, other numbers averaged; the caption tells which."""
    rows = [["Feed", "Weight"], ["a", 1], ["a", 2], ["b", 5]]

    (report,) = reported(workbook(Sheet=rows))

    assert report.chart is not None
    assert "Mean Weight by Feed" == report.chart.caption
    assert [("b", 5), ("a", 1.5)] == [(p.label, p.value) for p in report.chart.points]


def test_many_dates_are_gathered_into_months() -> None:
    """Sums stay sums."""
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=3 * at) for at in range(50)]

    (report,) = reported(workbook(Sheet=[["Date", "Sales"], *([day, 2] for day in days)]))

    assert report.chart is not None
    assert ["2024-01", "2024-02"] == [point.label for point in report.chart.points[:2]]
    assert 100 == sum(point.value for point in report.chart.points)


def test_histograms_count_every_value_once() -> None:
    """Intervals have round limits; 0.3 falls into the one that begins there."""
    (report,) = reported(workbook(Sheet=[["v"], *([at / 10] for at in range(10))]))

    assert report.chart is not None
    assert 10 == sum(point.value for point in report.chart.points)
    assert all(re.fullmatch(r"-?[\d.]+", point.label) for point in report.chart.points)


@pytest.mark.parametrize(
    ("value", "percent", "expected"),
    [
        (None, False, "–"),
        (1234567, False, "1,234,567"),
        (642.9, False, "642.9"),
        (0.1 + 0.2, False, "0.3"),
        (1234567.891, False, "1,234,567.891"),
        (2 / 3, False, "0.6666666667"),
        (0.6608695652173913, True, "66.09%"),
        (1e-9, False, "1e-09"),
        ("2024-02-29", False, "2024-02-29"),
    ],
)
def test_figures_are_printed_for_people(value: Any, percent: bool, expected: str) -> None:
    """Thousands separated, no binary residue."""
    assert expected == figure(value, percent=percent)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0"), (400_000, "400k"), (2.5e6, "2.5M"), (1500, "1,500"), (-0.2, "-0.2")],
)
def test_axes_are_labelled_briefly(value: float, expected: str) -> None:
    """An axis has room for a few signs."""
    assert expected == compact(value)


def test_the_summary_has_the_documented_shape() -> None:
    """Programs depend on it; the same workbook gives the same bytes."""
    body = workbook(Sheet=[["a", "b"], ["x", 1], ["y", 2.5], ["z", None]], Empty=[])
    inspection = inspected(body)
    plan = AnalysisPlan.model_validate(planned(inspection).model_dump())

    summary = build_summary("T", inspection, plan, reported(body))

    text = {"name": "a", "type": "text", "sum": None, "min": None, "max": None, "mean": None}
    number = {"name": "b", "type": "number", "sum": 3.5, "min": 1, "max": 2.5, "mean": 1.75}
    columns = [text | {"missing": 0}, number | {"missing": 1}]
    table = {"range": "A1:B4", "rows": 3, "columns": columns, "notes": []}
    assert {
        "title": "T",
        "planner": "rules",
        "sheets": [
            {"name": "Sheet", "tables": [table], "notes": []},
            {"name": "Empty", "tables": [], "notes": ["The sheet is empty."]},
        ],
        "notes": ["The analyses were planned by fixed rules; no language model was used."],
    } == summary
    assert summary == json.loads(encode(summary))
