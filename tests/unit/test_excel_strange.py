"""Strange but honest workbooks are read truly; those made to exhaust a worker are refused."""

from __future__ import annotations

import datetime as dt
import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from documents.contract.parsing import parse
from onward.sdk import InvalidInput

from tests.unit.contracts import docx
from tests.unit.workbooks import figures, inspected, reported, rewritten, workbook

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
ROWS = [["Region", "Amount"], ["North", 10], ["South", 20]]
MEASURED = """
import resource, sys
from onward.sdk import InvalidInput
from tests.unit.workbooks import inspected
resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))
resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
try:
    inspected(sys.stdin.buffer.read())
except InvalidInput as refused:
    print(refused)
"""


def renamed(body: bytes, change: Callable[[str], str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as source, zipfile.ZipFile(target, "w") as changed:
        for part in source.namelist():
            changed.writestr(change(part), source.read(part))
    return target.getvalue()


def rewritten_part(body: bytes, part: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(body)) as source:
        return source.read(part)


def edited(body: bytes, pattern: bytes, to: bytes, part: str = "") -> bytes:
    return rewritten(body, lambda name, old: re.sub(pattern, to, old) if part in name else old)


@pytest.mark.parametrize("change", [str.upper, str.lower, lambda name: name.replace("/", "\\")])
def test_part_names_match_as_the_standard_says(change: Callable[[str], str]) -> None:
    """Without regard to case, and with backslashes, in workbooks and documents."""
    (report,) = reported(renamed(workbook(Sheet=ROWS), change))
    words = "This contract has enough words to be one."

    assert ("integer", 30, 10, 20, 0) == figures(report)["Amount"]
    assert [words] == [block.text for block in parse(renamed(docx(words), change)).blocks]


def test_a_sheet_that_is_not_in_the_file_is_not_passed_over() -> None:
    """It would look empty."""
    body = rewritten(workbook(A=ROWS, B=ROWS), lambda n, old: None if "sheet2" in n else old)

    with pytest.raises(InvalidInput, match="“B” is listed in the workbook but not in the file"):
        inspected(body)


def test_two_sheets_of_one_name_are_told_apart() -> None:
    """Each with its own rows."""
    body = workbook(A=ROWS, B=[["Region", "Amount"], ["East", 5], ["West", 6]])
    twins = edited(body, b'name="B"', b'name="A"', "xl/workbook.xml")

    assert [30, 11] == [report.columns[1].sum for report in reported(twins)]
    assert ["A", "A (2)"] == [sheet.name for sheet in inspected(twins).sheets]


@pytest.mark.parametrize("name", ["Unknown", "None", "N/A", "-", "Null"])
def test_a_column_may_have_a_name_that_means_nothing(name: str) -> None:
    """Judged by its column."""
    (report,) = reported(workbook(Sheet=[["Region", "Male", name], ["N", 1, 2], ["S", 4, 5]]))

    assert ["Region", "Male", name] == [column.name for column in report.columns]
    assert 7 == report.columns[2].sum


def test_lower_case_references_are_read() -> None:
    """As some programs write them."""

    def lower(part: str, old: bytes) -> bytes:
        found = re.compile(rb'r="[A-Z]\d"')
        return found.sub(lambda m: m[0].lower(), old) if "sheet1" in part else old

    assert 30 == reported(rewritten(workbook(Sheet=ROWS), lower))[0].columns[1].sum


def test_formats_of_conditional_formatting_are_not_those_of_cells() -> None:
    """Their ids are a space of their own."""
    dxfs = b'<dxfs count="1"><dxf><numFmt numFmtId="0" formatCode="yyyy"/></dxf></dxfs>'
    body = edited(workbook(Sheet=ROWS), rb"</styleSheet>", dxfs + b"</styleSheet>", "styles")

    assert dxfs in rewritten_part(body, "xl/styles.xml")
    assert ("integer", 30, 10, 20, 0) == figures(reported(body)[0])["Amount"]


@pytest.mark.parametrize(("epoch", "others"), [(b"", 0), (b' date1904="1"', 0)])
def test_negative_times_are_lengths_of_time(epoch: bytes, others: int) -> None:
    """Of either date system."""
    book = workbook(Sheet=[["Day", "Balance"], ["a", dt.time(6)], ["b", dt.time(12)]])
    body = edited(book, rb"<workbookPr ", b"<workbookPr" + epoch + b" ", "xl/workbook.xml")
    negative = edited(body, rb"<v>0.25</v>", b"<v>-0.5</v>", "sheet1")

    assert ("time", None, "-12:00:00", "12:00:00", others) == figures(reported(negative)[0])[
        "Balance"
    ]


@pytest.mark.parametrize("asks", [b"", b' fullCalcOnLoad="1"'])
def test_a_true_zero_of_a_formula_is_a_value(asks: bytes) -> None:
    """Whether or not the workbook asks to be calculated, beside other results."""
    formulas = workbook(Sheet=[["Item", "Difference"], ["a", "=1+1"], ["b", "=1-1"], ["c", "=1-4"]])
    values = iter((b"2", b"0", b"-3"))

    def stored(part: str, old: bytes) -> bytes:
        old = re.sub(rb"<calcPr[^>]*/>", b"<calcPr" + asks + b"/>", old)
        return re.sub(rb"</f><v ?/>|</f><v></v>", lambda _: b"</f><v>%s</v>" % next(values), old)

    assert ("integer", -1, -3, 2, 0) == figures(reported(rewritten(formulas, stored))[0])[
        "Difference"
    ]


@pytest.mark.parametrize(
    "sheet",
    [
        b'<row r="1"><c r="A1" t="inlineStr"><is>' + b"<r/>" * 3_000_000,
        b'<row r="1"><c r="A1" t="inlineStr"><is><t>' + b"x" * 12_000_000,
        b'<row r="1"><c r="' + b"A" * 12_000_000,
        b'<row r="1">' + b"<c><v>1</v></c>" * 900_000,
        b"<x>" * 3_000_000,
    ],
    ids=["runs", "text", "attribute", "cells", "depth"],
)
def test_what_would_exhaust_a_worker_is_refused(sheet: bytes) -> None:
    """Within five seconds of its processor and 512 MiB of address space."""
    body = rewritten(
        workbook(Sheet=ROWS),
        lambda n, old: old[: old.index(b"<row")] + sheet if "sheet1" in n else old,
    )
    path = f"{ROOT}:{ROOT / 'shared'}:{ROOT / 'functions'}"

    done = subprocess.run(
        [sys.executable, "-c", MEASURED],
        input=body,
        env={"PYTHONPATH": path},
        capture_output=True,
        check=False,
    )

    assert (0, b"") == (done.returncode, done.stderr[-500:])
    assert done.stdout
