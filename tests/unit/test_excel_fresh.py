"""Workbooks as offices make them, none from a report: each is read right, or told why not."""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from onward.sdk import InvalidInput
from openpyxl import Workbook

from tests.unit.workbooks import (
    figures,
    inspected,
    planned,
    reported,
    rewritten,
    saved,
    strict,
    workbook,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from documents.workbook.models import TableReport

_ = None


def sheet(body: bytes, change: Callable[[bytes], bytes], part: str = "sheet1") -> bytes:
    return rewritten(body, lambda name, old: change(old) if part in name else old)


def only(body: bytes) -> TableReport:
    (report,) = reported(body)
    return report


def test_czech_subtotals_of_towns_and_regions_with_blank_rows() -> None:
    """Two levels, a blank row after each region, blank cells, and a mean at the end."""
    report = only(
        workbook(
            Tržby=[
                ["Kraj", "Město", "Prodejna", "Tržby", "Kusy"],
                ["Morava", "Brno", "Veveří", 1250.5, 12],
                [_, _, "Lesná", 980, _],
                [_, "Brno celkem", _, 2230.5, 12],
                [_, "Zlín", "Jižní Svahy", 410, 7],
                [_, _, "Malenovice", 395, 5],
                [_, "Zlín celkem", _, 805, 12],
                ["Morava celkem", _, _, 3035.5, 24],
                [],
                ["Čechy", "Plzeň", "Bory", 777.25, 9],
                [_, _, "Doubravka", 500, 4],
                [_, "Plzeň celkem", _, 1277.25, 13],
                ["Čechy celkem", _, _, 1277.25, 13],
                [],
                ["Celkový součet", _, _, 4312.75, 37],
                ["Průměr", _, _, 718.79, 7.4],
            ]
        )
    )

    assert (6, 4312.75, 37) == (report.rows, report.columns[3].sum, report.columns[4].sum)
    assert 1 == report.columns[4].missing
    assert "The totals in rows 4, 7, 8, 12, 13, 15 are not data and were left out." in report.notes
    assert "The means and other figures in row 16 are not data and were left out." in report.notes


@pytest.mark.parametrize(
    "label", ["სულ", "ჯამი", "სულ ჯამი", "Ընդամենը", "مجموع", "ยอดรวมทั้งสิ้น", "Nomvula"]
)
def test_a_georgian_total_is_told_by_its_numbers(label: str) -> None:
    """Of two columns, in scripts that no list of words covers."""
    rows = [["თბილისი", 1275, 31.5], ["ბათუმი", 640, 12.25], ["ქუთაისი", 415, 8]]

    report = only(workbook(S=[["ქალაქი", "თანხა", "წონა"], *rows, [label, 2330, 51.75]]))

    assert (3, 2330, 51.75) == (report.rows, report.columns[1].sum, report.columns[2].sum)


def test_strict_workbook_with_dates_in_iso_notation() -> None:
    """Cells of type d, as Strict writes them, beside dates that are numbers under a format."""
    book = workbook(
        S=[["Day", "Paid", "Amount"], *([dt.date(2024, 2, n), _, n] for n in (27, 28, 29))]
    )

    def iso(old: bytes) -> bytes:
        days = iter((b"2024-03-01", b"2024-03-02T06:30:00", b"2024-03-03T00:00:00Z"))
        cell = b'<c r="B%d" t="d"><v>%s</v></c><c r="C%d"'
        return re.sub(rb'<c r="C([2-4])"', lambda m: cell % (int(m[1]), next(days), int(m[1])), old)

    found = figures(only(rewritten(sheet(book, iso), strict)))

    assert ("date", _, "2024-02-27", "2024-02-29", 0) == found["Day"]
    assert ("date", _, "2024-03-01", "2024-03-03", 0) == found["Paid"]
    assert ("integer", 84, 27, 29, 0) == found["Amount"]


def test_sheets_whose_names_differ_by_case_are_two() -> None:
    """Excel forbids it and other programs write it; each step reads its own sheet."""
    rows = {"Data": [["K", "V"], ["a", 1], ["b", 2]], "DATA": [["K", "V"], ["a", 10], ["b", 20]]}
    book = workbook(**rows)
    book = sheet(book, lambda old: old.replace(b'name="DATA1"', b'name="DATA"'), "xl/workbook.xml")

    assert ["Data", "DATA"] == [each.name for each in inspected(book).sheets]
    assert [3, 30] == [report.columns[1].sum for report in reported(book)]
    assert 2 == len(planned(inspected(book)).jobs)


def test_parts_whose_names_differ_by_case_are_refused() -> None:
    """One of them would be read twice, and the other never."""
    target = io.BytesIO(workbook(A=[["K", "V"], ["a", 1]], B=[["K", "V"], ["a", 2]]))
    with zipfile.ZipFile(target, "a") as made:
        made.writestr("xl/worksheets/SHEET2.xml", made.read("xl/worksheets/sheet1.xml"))

    with pytest.raises(
        InvalidInput, match=r"two different parts named 'xl/worksheets/sheet2\.xml'"
    ):
        inspected(target.getvalue())


def test_a_hidden_row_is_counted_and_told() -> None:
    """A filter hides rows of a list that are data; the reader who sees fewer is told."""
    book = Workbook()
    page = book.worksheets[0]
    for row in (["Item", "Amount"], ["a", 10], ["b", 20], ["c", 12], ["Total", 42]):
        page.append(row)
    page.row_dimensions[3].hidden = True

    body = saved(book)

    assert (3, 42) == (only(body).rows, only(body).columns[1].sum)
    assert ["1 row is hidden in the workbook, and counted here like the others."] == (
        inspected(body).sheets[0].notes
    )


@pytest.mark.parametrize("total", ["42", 42, 42.0], ids=["text", "number", "fraction"])
def test_numbers_that_are_texts_have_a_total_that_is_one(total: Any) -> None:
    """As exports write them; the total is a text too, or a formula's number."""
    rows = [["a", "10"], ["b", "20"], ["c", "12"]]

    report = only(workbook(S=[["Item", "Amount"], *rows, ["Summe", total]]))

    assert (3, 42) == (report.rows, report.columns[1].sum)
    assert "Amount: 3 cells hold a number stored as text; read as a number." in report.notes


def test_a_header_that_comes_again_with_each_printed_page() -> None:
    """And in which two columns have one name; each page ends with what it carries over."""
    head = ["Date", "Amount", "Amount"]
    rows = [[dt.date(2024, 5, n), n * 10, n] for n in range(1, 7)]
    carried = ["Carried over", 60, 6]

    report = only(workbook(S=[head, *rows[:3], carried, head, *rows[3:], ["Total", 210, 21]]))

    assert ["Date", "Amount", "Amount (2)"] == [column.name for column in report.columns]
    assert (6, 210, 21) == (report.rows, report.columns[1].sum, report.columns[2].sum)
    assert "The header is repeated in row 6; not counted as data." in report.notes


@pytest.mark.parametrize("epoch", [b"", b' date1904="1"'])
def test_negative_lengths_of_time_over_a_day(epoch: bytes) -> None:
    """Overtime accounts: minus 30 hours and a half, in either date system."""
    hours = [dt.timedelta(hours=8), dt.timedelta(hours=40)]
    book = workbook(S=[["Name", "Balance"], *([f"p{n}", hours[n % 2]] for n in range(4))])
    book = sheet(
        book,
        lambda old: old.replace(b"<workbookPr ", b"<workbookPr" + epoch + b" "),
        "workbook.xml",
    )
    book = sheet(
        book, lambda old: re.sub(rb'(<c r="B2"[^>]*>)<v>[^<]*', rb"\1<v>-1.2708333333333333", old)
    )

    assert ("time", _, "-30:30:00", "40:00:00", 0) == figures(only(book))["Balance"]


@pytest.mark.parametrize(
    ("hours", "longest"), [([8, 30, 2], "30:00:00"), ([8, -30, 2], "08:00:00")]
)
def test_a_total_of_lengths_of_time_is_not_the_longest(hours: list[int], longest: str) -> None:
    """Nor is their mean one of them; beside numbers, too."""
    lengths = [dt.timedelta(hours=each) for each in hours]
    total = sum(lengths, dt.timedelta())
    rows = [[name, each, 5] for name, each in zip("abc", lengths, strict=True)]
    ends = [["Gesamt", total, 15], ["Mittelwert", total / 3, 5]]

    beside = only(workbook(S=[["Name", "Zeit", "Tage"], *rows, *ends]))
    alone = only(workbook(S=[["Name", "Zeit"], *(row[:2] for row in [*rows, *ends])]))

    assert (3, 15) == (beside.rows, beside.columns[2].sum)
    assert [("time", longest)] * 2 == [
        (r.columns[1].type, r.columns[1].max) for r in (beside, alone)
    ]
    assert 3 == alone.rows


def test_true_zeros_of_one_sheet_beside_results_of_another() -> None:
    """The workbook asks to be calculated, and has a calculation chain: 0 is still a result."""
    book = workbook(
        Zeros=[["K", "V"], ["a", "=1-1"], ["b", "=2-2"]],
        Others=[["K", "V"], ["a", "=1+1"], ["b", 3]],
    )
    book = sheet(
        book,
        lambda old: re.sub(rb"<calcPr[^>]*/>", b'<calcPr fullCalcOnLoad="1"/>', old),
        "workbook.xml",
    )
    book = sheet(book, lambda old: re.sub(rb"</f><v ?/>|</f><v></v>", b"</f><v>0</v>", old))
    book = sheet(
        book, lambda old: re.sub(rb"</f><v ?/>|</f><v></v>", b"</f><v>2</v>", old), "sheet2"
    )
    target = io.BytesIO(book)
    with zipfile.ZipFile(target, "a") as made:
        made.writestr("xl/calcChain.xml", b'<calcChain xmlns="x"><c r="B2" i="1"/></calcChain>')

    zeros, others = reported(target.getvalue())

    assert ("integer", 0, 0, 0, 0) == figures(zeros)["V"]
    assert ("integer", 5, 2, 3, 0) == figures(others)["V"]


def test_backslashes_in_the_zip_and_odd_targets_in_the_relationships() -> None:
    """Old .NET zips; targets from the root, percent-encoded, with dots and in another case."""
    book = workbook(Výkaz=[["K", "V"], ["a", 4], ["b", 5]])
    book = sheet(
        book,
        lambda old: old.replace(
            b'"/xl/worksheets/sheet1.xml"', b'".\\..\\XL/work%73heets/Sheet1.xml"'
        ),
        "workbook.xml.rels",
    )
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as source, zipfile.ZipFile(target, "w") as made:
        for name in source.namelist():
            made.writestr(name.replace("/", "\\"), source.read(name))

    assert ("integer", 9, 4, 5, 0) == figures(only(target.getvalue()))["V"]


@pytest.mark.parametrize(
    ("code", "kind", "display"),
    [
        ('#,##0.00" Kč";[Red]-#,##0.00" Kč"', "number", "plain"),
        ('"day "0.0', "number", "plain"),
        ("[$-409]#,##0.0", "number", "plain"),
        (r"0.0\h", "number", "plain"),
        ("[h]:mm:ss", "time", "plain"),
        ("[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", "date", "plain"),
        ("0.0%;[Red]-0.0%", "number", "percent"),
        ("_-* #,##0.00\\ _h_-;-* #,##0.00\\ _d", "number", "plain"),
    ],
)
def test_formats_that_only_look_like_dates(code: str, kind: str, display: str) -> None:
    """Units in quotes, behind a backslash or as an indent are no hours and days."""
    book = Workbook()
    page = book.worksheets[0]
    for row in (["K", "V"], ["a", 1.5], ["b", 2.25]):
        page.append(row)
    for cell in page["B"][1:]:
        cell.number_format = code

    column = only(saved(book)).columns[1]

    assert (kind, display) == (column.type, column.display)
    assert column.sum == (3.75 if kind == "number" else None)
