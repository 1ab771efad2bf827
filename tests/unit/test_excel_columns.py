"""Sums are exact and types are honest."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from typing import Any

import pytest
from documents.workbook.cells import NOT_CALCULATED, CellError, as_text, kind_of
from documents.workbook.columns import Column, Tally
from documents.workbook.models import ColumnReport
from hypothesis import given
from hypothesis import strategies as st


def moment(*parts: int) -> dt.datetime:
    """Workbooks know no time zones."""
    return dt.datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


def column(*values: Any) -> tuple[ColumnReport, list[str]]:
    made = Column("c")
    for value in values:
        made.add(value)
    return made.report(len(values), percent=False)


def figures(*values: Any) -> tuple[Any, ...]:
    report, _ = column(*values)
    return report.type, report.sum, report.min, report.max, report.missing


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1, 2, 3), ("integer", 6, 1, 3, 0)),
        ((1292.0, 1311.0), ("integer", 2603, 1292, 1311, 0)),
        ((0.1, 0.2), ("number", 0.3, 0.1, 0.2, 0)),
        ((0.1,) * 10, ("number", 1.0, 0.1, 0.1, 0)),
        ((1, 0.5, None), ("number", 1.5, 0.5, 1, 1)),
        ((2**60, 1), ("integer", 2**60 + 1, 1, 2**60, 0)),
        ((1e300, 1.0, -1e300), ("number", 1.0, -1e300, 1e300, 0)),
        ((True, False, None), ("boolean", None, None, None, 1)),
        (("a", "NA", " "), ("text", None, None, None, 1)),
        ((1, "NA", "n/a", "-"), ("integer", 1, 1, 1, 3)),
        ((1, CellError("#DIV/0!")), ("integer", 1, 1, 1, 1)),
        (("12", "3.5"), ("number", 15.5, 3.5, 12, 0)),
        (("1,234.50", 2), ("number", 1236.5, 2, 1234.5, 0)),
        (("1,234", "x"), ("text", None, None, None, 0)),
        (("00123", "00456"), ("text", None, None, None, 0)),
        ((1, "two"), ("mixed", None, None, None, 0)),
        ((*range(1, 20), "?!"), ("mixed", 190, 1, 19, 0)),
        ((5, NOT_CALCULATED), ("integer", None, None, None, 1)),
        ((None, None), ("empty", None, None, None, 2)),
        (
            (moment(2016, 1, 10), moment(2016, 12, 27)),
            ("date", None, "2016-01-10", "2016-12-27", 0),
        ),
        (
            (moment(2016, 1, 10, 9, 30), moment(2016, 1, 10)),
            ("date", None, "2016-01-10", "2016-01-10T09:30:00", 0),
        ),
        ((dt.time(8, 5), dt.timedelta(hours=30)), ("time", None, "08:05:00", "30:00:00", 0)),
        (
            (dt.timedelta(hours=120, minutes=15), dt.timedelta(hours=99, minutes=30)),
            ("time", None, "99:30:00", "120:15:00", 0),
        ),
        (
            (dt.timedelta(hours=-2), dt.timedelta(hours=-10), dt.time(1, 0, 0, 5)),
            ("time", None, "-10:00:00", "01:00:00.000005", 0),
        ),
        ((moment(2016, 1, 10), "soon"), ("mixed", None, None, None, 0)),
    ],
)
def test_figures(values: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    """Type, sum, min, max and missing of a column."""
    assert expected == figures(*values)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32) | st.integers()))
def test_the_sum_is_the_nearest_double_to_the_exact_one(values: list[float]) -> None:
    """As if every number were added in the decimal notation that the workbook holds."""
    tally = Tally()
    for value in values:
        tally.add(value)

    exact = sum((Fraction(repr(value)) for value in values), Fraction(0))
    if any(isinstance(value, float) for value in values):
        assert math.isclose(float(exact), tally.sum, rel_tol=1e-15, abs_tol=1e-300)
    else:
        assert exact == tally.sum


@given(st.lists(st.decimals(-(10**6), 10**6, places=2).map(float), min_size=1))
def test_amounts_of_money_add_up_to_the_cent(values: list[float]) -> None:
    """No binary residue, however many cents are added."""
    tally = Tally()
    for value in values:
        tally.add(value)

    assert round(sum(round(value * 100) for value in values) / 100, 2) == tally.sum


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1, "NA"), "1 cell holds “NA”; counted as missing."),
        ((1, CellError("#N/A")), "1 cell holds an error value; counted as missing."),
        (("1", "2"), "2 cells hold a number stored as text; read as a number."),
        ((1, "two"), "holds 1 number, 1 text such as “two”; not summed."),
        (
            (*range(19), "x"),
            "holds 19 numbers, 1 text such as “x”; the figures cover the numbers only.",
        ),
        ((1, NOT_CALCULATED), "1 cell holds a formula whose result is not stored in the file"),
    ],
)
def test_what_was_guessed_or_left_out_is_said(values: tuple[Any, ...], expected: str) -> None:
    """Nothing is skipped in silence."""
    _, notes = column(*values)

    assert any(note.startswith(expected) for note in notes)


def test_a_text_column_shows_its_most_frequent_value() -> None:
    """People look for it."""
    report, _ = column("a", "b", "b")

    assert "2 different; most often “b” (2×)" == report.detail


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, "1"),
        (0.1, "0.1"),
        (True, "true"),
        (None, ""),
        ("  two\n words ", "two words"),
        (dt.date(2024, 2, 29), "2024-02-29"),
        (dt.timedelta(seconds=-90), "-00:01:30"),
    ],
)
def test_values_read_as_a_person_would_write_them(value: Any, expected: str) -> None:
    """Dates as ISO 8601, whole numbers without a point, white space once."""
    assert expected == as_text(value)


def test_kinds() -> None:
    """One letter a cell, from its type and, for texts, from what they stand for."""
    values = [None, " ", 1, 1.5, 1e20, math.inf, True, "x", "12", "-", CellError("#REF!")]

    assert "..innebtxme" == "".join(kind_of(value) for value in values)
