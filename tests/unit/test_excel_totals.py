"""Totals are told by numbers, formulas and missing names, and the report says which rows."""

from __future__ import annotations

import random
from typing import Any

import pytest
from documents.workbook.formulas import looks_above
from documents.workbook.models import TableReport

from tests.unit.workbooks import reported, workbook

_ = None
SHOPS = [["a", 10], ["b", 20], ["c", 12]]
BIG = [["a", 1270], ["b", 815], ["c", 2044], ["d", 391]]


def report_of(*rows: list[Any], head: list[str] | None = None) -> TableReport:
    (report,) = reported(workbook(Sheet=[head or ["Item", "Amount"], *rows]))
    return report


def summed(report: TableReport, column: int = -1) -> tuple[int, Any]:
    return report.rows, report.columns[column].sum


@pytest.mark.parametrize(
    "label",
    [
        "Total",
        "Somme",
        "Totaal",
        "Grand-Total:",
        "Celkem",
        "Zusammen",
        "Iš viso",
        "合計",
        "कुल",
        "σύνολο",
        "Σ",
        "North Total",
        "Zbroj svega",
        "Alles bij elkaar",
        "Wszystko",
        "Hépp",
        None,
    ],
)
def test_a_last_row_of_sums_is_a_total_whatever_it_is_called(label: str | None) -> None:
    """In any language, or without a label."""
    report = report_of(*SHOPS, [label, 42])

    assert (3, 42) == summed(report)
    assert ["The totals in row 5 are not data and were left out."] == report.notes


def test_all_columns_of_a_row_without_a_label_are_sums() -> None:
    """As in the finding."""
    report = report_of(["a", 1, 10], ["b", 2, 20], ["c", 3, 12], [_, 6, 42], head=["I", "Q", "A"])

    assert (3, 42) == summed(report)
    assert 6 == report.columns[1].sum


def test_a_mean_below_a_total_is_no_data() -> None:
    """Nor is one without a total."""
    below = report_of(*SHOPS, ["Total", 42], ["Average", 14])
    alone = report_of(*SHOPS, ["Durchschnitt", 14])

    assert (3, 42) == summed(below) == summed(alone)
    assert "The means and other figures in row 6 are not data and were left out." in below.notes


@pytest.mark.parametrize(
    ("first", "second", "last"),
    [
        ("North Total", "South Total", "Grand Total"),
        ("Subtotal", "Subtotal", "Total"),
        ("Nord Ergebnis", "Süd Ergebnis", "Gesamtergebnis"),
        ("Pohja", "Lõuna", "Kõik"),
        (_, _, _),
    ],
)
def test_subtotals_of_groups_are_no_data(first: Any, second: Any, last: Any) -> None:
    """With names that say so, with names of another language, and without any."""
    report = report_of(
        ["North", "A", 10],
        ["North", "B", 20],
        [first, _, 30],
        ["South", "C", 5],
        ["South", "D", 7],
        [second, _, 12],
        [last, _, 42],
        head=["Region", "City", "Amount"],
    )

    assert (4, 42) == summed(report)
    assert ["The totals in rows 4, 7, 8 are not data and were left out."] == report.notes


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["A x 125", "A", "B y 340", "B", "all"], (2, 465)),
        (["A x 125", "A", "B y 340", "B z 12", "B", "all"], (3, 477)),
        (["A x 125", "A", "B y 340", "B z 12", "B"], (3, 477)),
        (["B y 340", "B z 12", "B", "A x 125", "A"], (3, 477)),
        ([row for n in range(50) for row in (f"{n} x {125 + n}", f"{n}")], (100, 14_950)),
        ([*(r for n in range(50) for r in (f"{n} x {125 + n}", f"{n}")), "all"], (50, 7475)),
    ],
    ids=["each of one", "one of one", "without all", "one at the end", "may be chance", "many"],
)
def test_a_group_of_one_row_has_a_subtotal_too(
    rows: list[str], expected: tuple[int, float]
) -> None:
    """In a language of its own, told by the town that it lacks and the totals that cover it."""
    group, total, table = 0.0, 0.0, []
    for row in rows:
        area, *data = row.split()
        if data:
            town, amount = data[0], float(data[1])
            group, total = group + amount, total + amount
            table.append([area, town, amount])
        else:
            table.append([f"{area} kokonaan", _, total if area == "all" else group])
            group = 0

    report = report_of(*table, head=["Area", "Town", "Amount"])

    assert expected == summed(report)
    assert report.notes


def test_a_row_without_a_year_may_be_a_total() -> None:
    """What all rows of data begin with is a label too."""
    report = report_of([2021, 100], [2022, 250], [2023, 70], [_, 420], head=["Year", "Amount"])

    assert (3, 420) == summed(report)


def test_subtotals_are_told_by_their_formulas_whatever_they_show() -> None:
    """Even where the file does not hold their results: the sums of the data stay."""
    report = report_of(
        ["A", 1],
        ["B", 2],
        ["x", "=SUBTOTAL(9,B2:B3)"],
        ["C", 4],
        ["y", "=SUM(B5)"],
        ["z", "=B4+B6"],
    )

    assert (3, 7) == summed(report)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("SUM(B2:B6)", "sum"),
        ("SUBTOTAL(109,$B$2:$B$6)", "sum"),
        ("AGGREGATE(9,5,B2:B6)", "sum"),
        ("ROUND(SUM(B2:B6),2)", "sum"),
        ("B4+B6", "sum"),
        ("SUBTOTAL(1,B2:B6)", "other"),
        ("AVERAGE(B2:B6)", "other"),
        ("SUM(A7:A7)", ""),
        ("SUM(B2:B7)", ""),
        ("SUM(C2:C6)", ""),
        ("SUM(Other!B2:B6)", ""),
        ("B6+A7", ""),
        ("B6", ""),
        ("B6+1", ""),
        ("SUM(B2:B6)/3", ""),
        ("SUM(" * 500, ""),
    ],
)
def test_what_a_formula_in_b7_says_of_the_cells_above(formula: str, expected: str) -> None:
    """Sums over a row, balances and copies are data."""
    assert expected == looks_above(formula, "B", 7)


@pytest.mark.parametrize(
    "rows",
    [
        [["a", 1], ["b", 2], ["c", 3]],
        [["a", 3], ["b", 4], ["Total", 9]],
        [["a", 5], ["b", 5], ["c", 5]],
        [["a", 7], ["b", 7]],
        [["a", 0], ["b", 0], ["c", 0], ["d", 0]],
        [["a", 5], ["b", 0], ["c", 5]],
        [["a", 100], ["b", 200], ["c", 300]],
        [[f"r{at}", at * 2_500] for at in range(12)],
        [["Max", 41], ["Mia", 30], ["Mini", 30], ["Max", 41]],
        [["a", 12], ["b", 30], ["Total Wine", 17], ["c", 8]],
    ],
)
def test_rows_that_are_sums_by_chance_are_data(rows: list[list[Any]]) -> None:
    """Few rows, constant and empty columns, sequences, and names that mean something else."""
    assert (len(rows), sum(row[1] for row in rows)) == summed(report_of(*rows))


def test_a_running_balance_is_data() -> None:
    """Each balance is a sum of the amounts above, in another column."""
    amounts = [120, -30, 45, 200, -75, 60]
    rows = [[f"day {at}", n, sum(amounts[: at + 1])] for at, n in enumerate(amounts)]

    assert (6, sum(amounts)) == summed(report_of(*rows, head=["Day", "Amount", "Balance"]), 1)


def test_what_may_be_chance_is_said() -> None:
    """Either way: the reader sees which row it is."""
    short = report_of(["a", 1], ["b", 4], ["c", 3], ["d", 8])
    chance = report_of(["a", 10], ["b", 20], ["c", 30], ["d", 7], ["e", 9])
    called = report_of(["a", 3], ["b", 4], ["Total", 9])

    assert (4, 16) == summed(short)
    assert (5, 76) == summed(chance)
    assert (
        "The numbers in row 4 are the sums of rows above, which may be chance: " in chance.notes[0]
    )
    assert "What is called a total in row 4 does not hold the sums" in called.notes[0]


def test_a_total_that_covers_it_makes_a_doubtful_row_data() -> None:
    """30 may be 10 + 20, but 76 has it among the rows."""
    report = report_of(["a", 10], ["b", 20], ["c", 30], ["d", 7], ["e", 9], ["Total", 76])

    assert (5, 76) == summed(report)
    assert ["The totals in row 7 are not data and were left out."] == report.notes


def test_a_total_above_its_rows_is_no_data() -> None:
    """Statistics often begin with it."""
    report = report_of(["All towns", 4520], *BIG)
    named = report_of(["Total", 42], *SHOPS)

    assert (4, 4520) == summed(report)
    assert (3, 42) == summed(named)
    assert ["The totals in row 2 are not data and were left out."] == report.notes


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("columns", [1, 3])
def test_generated_tables_with_totals(seed: int, columns: int) -> None:
    """Groups of any size, nested or flat, some with cents: the sums are those of the data."""
    chance = random.Random(seed)
    cents = 100 if seed % 3 == 0 else 1
    sums, rows, count, level = [0] * columns, [], 0, []
    for group in range(chance.randint(2, 5)):
        part = [0] * columns
        for at in range(chance.randint(2, 6)):
            numbers = [chance.randint(100, 99_999) for _ in range(columns)]
            part = [a + b for a, b in zip(part, numbers, strict=True)]
            rows.append([f"g{group}", f"r{at}", *(n / cents for n in numbers)])
            count += 1
        sums = [a + b for a, b in zip(sums, part, strict=True)]
        level.append(len(rows))
        rows.append([f"Skupina {group}", _, *(n / cents for n in part)])
        if seed % 2:
            rows.append([])
    rows.append(["Konec", _, *(n / cents for n in sums)])

    report = report_of(*rows, head=["Group", "Row", *(f"n{at}" for at in range(columns))])

    assert count == report.rows
    assert [n / cents for n in sums] == [column.sum for column in report.columns[2:]]


@pytest.mark.parametrize("seed", range(60))
def test_generated_tables_without_totals(seed: int) -> None:
    """No row of random data is taken for a total, small numbers and few rows included."""
    chance = random.Random(seed)
    most = chance.choice([3, 9, 100, 10_000])
    columns = chance.randint(1, 3)
    rows = [
        [f"r{at}", *(chance.randint(-most if seed % 4 == 0 else 0, most) for _ in range(columns))]
        for at in range(chance.choice([1, 2, 3, 30, 300]))
    ]

    report = report_of(*rows, head=["Row", *(f"n{at}" for at in range(columns))])

    assert len(rows) == report.rows
    assert [sum(row[at] for row in rows) for at in range(1, columns + 1)] == [
        column.sum for column in report.columns[1:]
    ]
