"""Tables are found where people put them, and what is left out is said."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import pytest
from documents.workbook.models import SheetFacts, TableFacts
from openpyxl import Workbook
from openpyxl.worksheet.table import Table

from tests.unit.workbooks import figures, inspected, reported, rewritten, saved, workbook

PEOPLE = [["Name", "Age"], ["Ann", 41], ["Bob", 37], ["Cy", 58]]
_ = None


def sheet_of(rows: list[list[Any]]) -> SheetFacts:
    return inspected(workbook(Sheet=rows)).sheets[0]


def table_of(rows: list[list[Any]]) -> TableFacts:
    (table,) = sheet_of(rows).tables
    return table


def names(table: TableFacts) -> list[str]:
    return [column.name for column in table.columns]


@pytest.mark.parametrize(
    ("rows", "place", "count", "columns"),
    [
        (PEOPLE, "A1:B4", 3, ["Name", "Age"]),
        ([["People of the house"], [], *PEOPLE], "A3:B6", 3, ["Name", "Age"]),
        ([["People of the house"], *PEOPLE], "A2:B5", 3, ["Name", "Age"]),
        ([*PEOPLE, [], ["Source: the register"]], "A1:B4", 3, ["Name", "Age"]),
        ([*PEOPLE, ["Source: the register"]], "A1:B4", 3, ["Name", "Age"]),
        ([[], [], *([_, _, *row] for row in PEOPLE)], "C3:D6", 3, ["Name", "Age"]),
        ([PEOPLE[0], [], *PEOPLE[1:]], "A1:B5", 3, ["Name", "Age"]),
        ([*PEOPLE[:3], [], *PEOPLE[3:]], "A1:B5", 3, ["Name", "Age"]),
        ([*PEOPLE[:3], PEOPLE[0], *PEOPLE[3:]], "A1:B5", 3, ["Name", "Age"]),
        ([["Age"], [41], [37]], "A1:A3", 2, ["Age"]),
        ([["a", 1], ["b", 2], ["c", 3]], "A1:B3", 3, ["Column A", "Column B"]),
        ([["x", "x", _], [1, 2, 3]], "A1:C2", 1, ["x", "x (2)", "Column C"]),
        ([["Land", 2019, 2020], ["A", 5, 6], ["B", 7, 8]], "A1:C3", 2, ["Land", "2019", "2020"]),
        (
            [["Year", 2023, _], ["Name", "Age", "Size"], ["Ann", 4, 5], ["Bob", 6, 7]],
            "A2:C4",
            2,
            ["Name", "Age", "Size"],
        ),
        (
            [["name", "death", "weight"], ["(born)", "(about)", "(in g)"], ["C", 2007, 0.9]],
            "A1:C3",
            1,
            ["name (born)", "death (about)", "weight (in g)"],
        ),
        (
            [["Name", "Size"], [_, "cm"], ["Ann", 170], ["Bob", 180]],
            "A1:B4",
            2,
            ["Name", "Size / cm"],
        ),
        (
            [["Name", _, "Age"], ["Ann", _, 4], ["Bob", _, 5]],
            "A1:C3",
            2,
            ["Name", "Column B", "Age"],
        ),
        ([["Name", "Age"], ["Ann", 41], ["Bob", "soon"], ["Cy", 3]], "A1:B4", 3, ["Name", "Age"]),
        ([["Name", "Age"], ["Ann", 41], ["Bob", 3], ["Cy", "NA"]], "A1:B4", 3, ["Name", "Age"]),
        (
            [["Term", "Meaning"], ["DLQ", "dead letters"], ["TTL", "life"]],
            "A1:B3",
            2,
            ["Term", "Meaning"],
        ),
    ],
)
def test_a_table_is_found(
    rows: list[list[Any]], place: str, count: int, columns: list[str]
) -> None:
    """Range, number of data rows and column names."""
    table = table_of(rows)

    assert (place, count, columns) == (table.range, table.rows, names(table))


def test_prose_around_a_table_is_left_out_and_quoted() -> None:
    """As in deaths.xlsx: scattered remarks, directly above and below."""
    head = ["Name", "Job", "Age", "Kids"]
    people = [["Ann", "cook", 41, True], ["Bob", "smith", 37, False], ["Cy", "poet", 58, True]]
    above = [["Lots of people"], ["cannot", "resist", _, "writing"]]
    below = [["Some"], [_, "also like to"], [_, _, "write", "down"], [_, _, _, "here"]]

    sheet = sheet_of([*above, head, *people, *below])

    (table,) = sheet.tables
    assert ("A3:D6", 3) == (table.range, table.rows)
    assert "9 cells outside the tables: A1 “Lots of people”" in sheet.notes[0]


def test_several_tables_of_a_sheet_are_told_apart() -> None:
    """Stacked with and without a blank row, and side by side with another height."""
    other = [["Item", "Price", "Stock"], ["Tent", 99.5, 3], ["Stove", 42.0, 8]]
    left = [*PEOPLE, [], *other, ["Town", "Size", "Height"], ["Ulm", 126, 478], ["Bern", 134, 540]]
    right = [[_, "Code", "Sum"], [_, "x", 1], [_, "y", 2]]
    rows = [
        [*row, *[_] * (3 - len(row)), *(right[at] if at < len(right) else [])]
        for at, row in enumerate(left)
    ]

    tables = sheet_of(rows).tables

    assert ["A1:B4", "E1:F3", "A6:C8", "A9:C11"] == [table.range for table in tables]
    assert [3, 2, 2, 2] == [table.rows for table in tables]


def test_merged_cells_name_all_their_columns() -> None:
    """A group header above the names."""
    book = Workbook()
    sheet = book.worksheets[0]
    for row in ([_, "2023", _, "2024", _], ["Shop", "In", "Out", "In", "Out"], ["A", 1, 2, 3, 4]):
        sheet.append(row)
    sheet.merge_cells("B1:C1")
    sheet.merge_cells("D1:E1")

    (table,) = inspected(saved(book)).sheets[0].tables

    assert ["Shop", "2023 / In", "2023 / Out", "2024 / In", "2024 / Out"] == names(table)
    assert 1 == table.rows


@pytest.mark.parametrize(
    ("groups", "own", "merges", "expected"),
    [
        (["Sex", _], [_, "Unknown", "N/A"], ["B1:C1"], ["Sex / Unknown", "Sex / N/A"]),
        (["Sex", _], [_, "Male", "Unknown"], ["B1:C1"], ["Sex / Male", "Sex / Unknown"]),
        (["Sex", _], [_, "N/A", "N/A"], ["B1:C1", "A1:A2"], ["Sex / N/A", "Sex / N/A (2)"]),
        (["None", _], [_, "-", "?"], ["B1:C1"], ["None / -", "None / ?"]),
        (["Sales", _], ["Mid", "N/A", "N/A"], ["B1:C1"], ["Sales", "Sales (2)"]),
        (["Sales", "Cost"], ["Mid", "N/A", "Unknown"], [], ["Sales", "Cost"]),
    ],
)
def test_names_below_a_merged_cell_may_mean_nothing(
    groups: list[Any], own: list[Any], merges: list[str], expected: list[str]
) -> None:
    """They name what the group does not; a row of missing values stays one of data."""
    book = Workbook()
    sheet = book.worksheets[0]
    for row in (["Region", *groups], own, ["N", 1, 2], ["S", 4, 5], ["E", 7, 8]):
        sheet.append(row)
    for merge in merges:
        sheet.merge_cells(merge)

    (report,) = reported(saved(book))

    assert ["Region", *expected] == [column.name for column in report.columns]
    assert [12, 15] == [column.sum for column in report.columns[1:]]
    assert report.rows == (4 if own[0] else 3)


def test_an_amount_in_brackets_is_no_unit() -> None:
    """It is how bookkeepers write one below zero: the row stays, and names nothing."""
    table = table_of([["Item", "Amount"], ["a", "(120)"], ["b", 300], ["c", 10]])
    unit = table_of([["Item", "Mass"], [_, "(kg/m2)"], ["b", 300], ["c", 10]])

    assert (["Item", "Amount"], 3) == (names(table), table.rows)
    assert (["Item", "Mass (kg/m2)"], 2) == (names(unit), unit.rows)


def test_a_declared_table_counts_its_rows_without_totals_and_blanks() -> None:
    """The workbook says where it is; remarks that touch it are not part of it."""
    book = Workbook()
    sheet = book.worksheets[0]
    for row in (["remark"], ["Item", "Price"], ["Tent", 9], [], ["Stove", 4], ["Total", 13], ["!"]):
        sheet.append(row)
    table = Table(displayName="Prices", ref="A2:B6", totalsRowCount=1)
    sheet.add_table(table)

    (found,) = inspected(saved(book)).sheets[0].tables

    assert (2, ["Item", "Price"]) == (found.rows, names(found))
    assert ("A2:B5", [2]) == (found.range, found.headers)


def test_a_row_of_totals_is_not_added_up() -> None:
    """It would double every sum."""
    rows = [["Shop", "Sold", "Rate"], ["A", 3, 0.5], ["B", 4, 0.7], ["Total", 7, 0.6]]

    (report,) = reported(workbook(Sheet=rows))

    assert (2, 7) == (report.rows, figures(report)["Sold"][1])
    assert "The totals in row 4 are not data and were left out." in report.notes


def test_a_row_that_is_only_called_total_stays() -> None:
    """Its number is not the sum of the rows above."""
    (report,) = reported(workbook(Sheet=[["Town", "Size"], ["A", 3], ["B", 4], ["Total", 9]]))

    assert (3, 16) == (report.rows, figures(report)["Size"][1])


def test_hidden_sheets_and_chart_sheets_are_left_out_and_named() -> None:
    """What somebody hid does not belong in a report that others read."""
    book = Workbook()
    for row in PEOPLE:
        book.worksheets[0].append(row)
    book.create_sheet("Salaries").append(["secret", 1])
    book.worksheets[1].sheet_state = "hidden"
    book.create_chartsheet("Curve")

    found = inspected(saved(book))

    assert ["Sheet"] == [sheet.name for sheet in found.sheets]
    assert [
        "The chart sheet “Curve” was left out: it has no cells of its own.",
        "The hidden sheet “Salaries” was left out.",
    ] == found.notes


def test_formulas_without_stored_results_give_no_sum() -> None:
    """Reading them as blank would be a wrong number."""
    rows = [["Item", "Net", "Gross"], ["A", 1, "=B2*2"], ["B", 2, "=B3*2"]]

    (report,) = reported(workbook(Sheet=rows))

    assert ("empty", None, None, None, 2) == figures(report)["Gross"]
    assert any("not stored in the file" in note for note in report.notes)


def test_zeros_that_wait_for_recalculation_are_no_results() -> None:
    """Some writers store 0 for every formula and ask Excel to calculate on opening."""

    def zeros(_part: str, old: bytes) -> bytes:
        return re.sub(rb"(</f>)<v ?/>|(</f>)<v></v>", rb"</f><v>0</v>", old)

    body = workbook(Sheet=[["Item", "Gross"], ["A", 5], ["B", "=B2*2"]])
    (report,) = reported(rewritten(body, zeros))

    assert ("integer", None, None, None, 1) == figures(report)["Gross"]


def test_dates_of_both_epochs() -> None:
    """Workbooks from old Macs count from 1904."""
    book = Workbook()
    sheet = book.worksheets[0]
    for row in (["Day", "Value"], [dt.date(2024, 2, 29), 1], [dt.date(2024, 3, 1), 2]):
        sheet.append(row)
    body = saved(book)

    def of_1904(_part: str, old: bytes) -> bytes:
        return old.replace(b"<workbookPr ", b'<workbookPr date1904="1" ')

    (windows,), (mac,) = reported(body), reported(rewritten(body, of_1904))

    assert ("date", None, "2024-02-29", "2024-03-01", 0) == figures(windows)["Day"]
    assert ("date", None, "2028-03-01", "2028-03-02", 0) == figures(mac)["Day"]


def test_other_scripts_and_markup_survive() -> None:
    """Names are kept as they are."""
    table = table_of([["名前", "<b>Größe</b>"], ["あ", 1], ["い", 2]])

    assert ["名前", "<b>Größe</b>"] == names(table)


def test_a_very_wide_table() -> None:
    """Hundreds of columns are read like ten."""
    wide = [[f"c{at}" for at in range(900)], list(range(900)), list(range(900))]

    assert (900, "A1:AHP3") == (len(table_of(wide).columns), table_of(wide).range)


def test_two_blank_columns_part_tables_of_the_same_height() -> None:
    """Each has labels and numbers of its own."""
    rows = [[*row, _, _, *row] for row in PEOPLE]

    assert ["A1:B4", "E1:F4"] == [table.range for table in sheet_of(rows).tables]
