"""Numbers at the ends of what a workbook can hold: the report is made, and is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from documents.page.chart import draw, scale
from documents.workbook.models import ChartData

from tests.unit.test_excel_steps import Run
from tests.unit.workbooks import reported, rewritten, workbook

MOST = 1.797e308


def drawn(*rows: list[Any]) -> ChartData | None:
    """The chart of a sheet with these rows, which can be drawn."""
    (report,) = reported(workbook(Sheet=rows))
    if report.chart is not None:
        drawing = ET.fromstring(draw(report.chart, "k"))
        numbers = " ".join(" ".join(shape.attrib.values()) for shape in drawing.iter())
        assert not re.search(r"\b(nan|inf)\b", numbers)
    return report.chart


@pytest.mark.parametrize(
    "rows",
    [
        [["Town", "Votes"], ["a", MOST], ["a", MOST], ["b", 1]],
        [["Town", "Votes"], ["a", MOST], ["b", -MOST]],
        [["Town", "Votes"], ["a", 5e-324], ["b", 0]],
        [["Year", "Rate"], [2020, 5e-324], [2021, 1e-323]],
        [["Year", "Rate"], [2020, 1.0], [2021, 1.0000000000000002]],
        [["Year", "Rate"], [-MOST, 1.0], [MOST, 2.0], [0, 3.0]],
        [["Size"], *([sign * MOST] for sign in (1, -1, 1, -1))],
        [["Size"], *([at * 5e-324] for at in range(9))],
        [["Size"], *([1e300 * at] for at in range(9))],
        [["Town", "Votes", "Rate"], ["a", 5e307, MOST], ["b", 7e307, -MOST], ["c", 12e307, 1]],
        [["Town", "Votes", "Rate"], ["a", 10**299, 0.5], ["b", 10**299, 1e200], ["c", 2e299, 1e99]],
    ],
    ids=[
        "sum beyond",
        "span beyond",
        "smallest bar",
        "smallest line",
        "neighbours",
        "years beyond",
        "histogram beyond",
        "smallest histogram",
        "wide histogram",
        "rates beyond",
        "whole numbers beyond",
    ],
)
def test_a_report_is_made_whatever_the_numbers(rows: list[list[Any]], tmp_path: Path) -> None:
    """From the upload to the published pages; what is drawn has a place."""
    path = tmp_path / "book.xlsx"
    path.write_bytes(workbook(Sheet=rows))

    run = Run()
    page = run.read(run.report(path)["report"]).decode()

    assert not re.search(r'"(nan|inf)"', page)
    drawn(*rows)


def test_a_sum_that_no_number_holds_is_told() -> None:
    """A reader sees why there is none beside a least and a greatest."""
    (report,) = reported(workbook(Sheet=[["Town", "Votes"], ["a", MOST], ["a", MOST]]))

    votes = report.columns[1]
    assert (None, MOST, MOST, MOST) == (votes.sum, votes.min, votes.max, votes.mean)
    assert ["Votes: has a sum that is larger than a number can be."] == report.notes


def test_a_point_that_no_number_holds_is_left_out_and_told() -> None:
    """The other points stay; a chart never hides that something is not in it."""
    chart = drawn(["Town", "Votes"], ["a", MOST], ["a", MOST], ["b", 1], ["c", 2])

    assert chart is not None
    assert {"b": 1, "c": 2} == {point.label: point.value for point in chart.points}
    assert "Sum of Votes by Town, without 1 value too large to be drawn" == chart.caption


@pytest.mark.parametrize("digits", [300, 5_000])
def test_whole_numbers_of_any_length_are_read(digits: int) -> None:
    """No workbook of Excel has them, and a long one is no number to anybody."""
    body = workbook(Sheet=[["Town", "Votes"], ["a", 1], ["b", 424_242]])
    long = b"9" * digits

    (report,) = reported(rewritten(body, lambda _, part: part.replace(b"424242", long)))

    votes = report.columns[1]
    known = int(long) if digits <= 300 else None
    assert ((known or 0) + 1, 0 if known else 1) == (votes.sum, votes.missing)


@pytest.mark.parametrize("value", [MOST, 5e-324])
def test_there_is_no_chart_without_a_scale(value: float) -> None:
    """Neither beyond the largest number nor below the smallest are there round limits."""
    assert drawn(["Town", "Votes"], ["a", value], ["b", -value]) is None
    assert drawn(["Size"], *([value * sign] for sign in (1, -1, 1, -1))) is None


@pytest.mark.parametrize("step", [1e-9, 0.0025, 1, 1e7, 1e280])
@pytest.mark.parametrize("base", [0, 1_234_567])
def test_intervals_have_labels_of_their_own(base: float, step: float) -> None:
    """However close to each other the limits are, and however far from zero."""
    chart = drawn(["Size"], *([base + step * at] for at in range(400)))

    assert chart is not None
    labels = [point.label for point in chart.points]
    assert len(labels) == len(set(labels))
    assert 400 == sum(point.value for point in chart.points)


def test_labels_say_where_intervals_begin() -> None:
    """Limits a quarter apart are not rounded to tenths."""
    chart = drawn(["Size"], *([at / 16] for at in range(16)))

    assert chart is not None
    assert ["0", "0.25", "0.5", "0.75", "1"] == [point.label for point in chart.points]


def test_what_differs_by_binary_residue_is_a_flat_line() -> None:
    """Ticks between neighbouring numbers would all have one name."""
    assert [0, 0.5, 1, 1.5] == scale([1.0, 1.0000000000000002], zero=False)


def test_code_is_ordered_for_columns_that_are_in_the_sample(tmp_path: Path) -> None:
    """A table may be wider than what code is given, and its money may stand at the end."""
    names = [*(f"w{at}" for at in range(200)), "Revenue"]
    path = tmp_path / "wide.xlsx"
    path.write_bytes(workbook(Sheet=[names, *([*range(row, row + 201)] for row in range(12))]))

    run = Run()
    page = run.read(run.report(path)["report"]).decode()

    assert "It was given all 12 rows, without 1 more column." in page
