"""Files made to exhaust a worker: each step refuses them by name, or reads them within bounds.

In a process of its own: 512 MiB of address space, and five seconds of processor for each of the
steps that read a workbook.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from documents.contract.parsing import parse
from onward.sdk import InvalidInput

from tests.unit.contracts import docx
from tests.unit.workbooks import rewritten, workbook

ROOT = Path(__file__).parents[2]
BOUNDED = """
import resource, sys
from documents.workbook.analysis import analyse
from documents.workbook.sample import Sample
from documents.workbook.workbook import open_workbook
from onward.sdk import InvalidInput
from tests.unit.workbooks import inspected, planned
body = sys.stdin.buffer.read()

def seconds(more):
    used = resource.getrusage(resource.RUSAGE_SELF)
    now = int(used.ru_utime + used.ru_stime)
    resource.setrlimit(resource.RLIMIT_CPU, (now + more, resource.RLIM_INFINITY))

resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))
try:
    seconds(5)
    found = inspected(body)
    seconds(5)
    for job in planned(found).jobs[:1]:
        with open_workbook(body) as book:
            report = analyse(book, job, Sample(job.table) if job.sample else None)
        print(report.rows, [column.sum for column in report.columns][:2])
    print(*[note for sheet in found.sheets for note in sheet.notes], *found.notes)
except InvalidInput as refused:
    print("refused:", refused)
"""
MAIN = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
LIST = b"".join(b'<row r="%d"><c><v>%d</v></c><c><v>2</v></c></row>' % (n, n) for n in range(1, 60))


def bounded(body: bytes) -> str:
    """What both steps say of a workbook."""
    path = f"{ROOT}:{ROOT / 'shared'}:{ROOT / 'functions'}"
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED],
        input=body,
        env={"PYTHONPATH": path},
        capture_output=True,
        check=False,
    )
    assert (0, b"") == (done.returncode, done.stderr[-800:])
    return done.stdout.decode()


def made(data: bytes, behind: bytes = b"", strings: bytes = b"", styles: bytes = b"") -> bytes:
    """A workbook of one sheet with this data; openpyxl's asks to be calculated when opened."""

    def change(name: str, old: bytes) -> bytes:
        if "sheet1" in name:
            head, _, rest = old.partition(b"<sheetData>")
            rest = rest.partition(b"</sheetData>")[2]
            return head + b"<sheetData>" + data + b"</sheetData>" + behind + rest
        return styles if styles and "styles" in name else old

    target = io.BytesIO(rewritten(workbook(S=[["a"]]), change))
    if strings:
        with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(
                "xl/sharedStrings.xml", b"<sst %s>%s</sst>" % (MAIN, strings), compresslevel=1
            )
    return target.getvalue()


def row(number: int, cells: bytes) -> bytes:
    return b'<row r="%d">%s</row>' % (number, cells)


def texts(count: int, signs: int) -> bytes:
    """Shared texts of so many signs that differ, and shrink no more than texts do."""
    some = [(b"%d " % (at * 7919) * signs)[:signs] for at in range(count)]
    return b"".join(b"<si><t>%s</t></si>" % text for text in some)


def test_a_long_number_format() -> None:
    """Judged in one pass, however many brackets it opens and styles use it."""
    used = b'<xf numFmtId="0"/>' + b'<xf numFmtId="164"/>' * 60
    styles = b"<styleSheet %s><numFmts><numFmt numFmtId='164' formatCode='%s'/></numFmts>" % (
        MAIN,
        b"[" * 60_000,
    )
    styles += b"<cellXfs>%s</cellXfs></styleSheet>" % used
    data = row(1, b'<c t="inlineStr"><is><t>n</t></is></c>') + row(2, b'<c s="1"><v>7</v></c>')

    assert "1 [7]" in bounded(made(data, styles=styles))


def test_a_long_shared_text_of_many_cells() -> None:
    """It is cut once to what a cell can hold; the report says so."""
    data = b"".join(row(n, b'<c t="s"><v>0</v></c>' * 10) for n in range(1, 2_001))

    said = bounded(made(data, strings=texts(1, 4_000_000)))

    assert "1 text of more than 32,767 signs: the rest was left out." in said


@pytest.mark.parametrize("runs", [b"<r/>", b"<rPh/>", b"<x/>"])
def test_an_inflated_cell(runs: bytes) -> None:
    """A gigabyte of elements is not held."""
    data = b'<row r="1"><c r="A1" t="inlineStr"><is>' + runs * 2_000_000

    assert "“S” is damaged" in bounded(made(data))


def test_a_wide_sheet_of_long_texts() -> None:
    """As many columns as there are, each with a text as long as a cell can hold."""
    cells = b"".join(b'<c t="s"><v>%d</v></c>' % (at % 20) for at in range(16_384))
    data = b"".join(row(n, cells) for n in range(1, 9))

    assert "8 [None, None]" in bounded(made(data, strings=texts(20, 32_000)))


def test_more_merged_ranges_than_any_sheet_has() -> None:
    """The first ones are looked at, and the sheet is read no further."""
    merges = b"".join(b'<mergeCell ref="A%d:C%d"/>' % (n % 5 + 1, n) for n in range(1, 990_001))

    said = bounded(made(LIST, b"<mergeCells>%s</mergeCells>" % merges))

    assert "59 [1770, 118]" in said
    assert "Of its merged ranges the first 100,000 were looked at." in said


def test_empty_texts_by_the_million() -> None:
    """A table of texts has each only once."""
    said = bounded(made(LIST, strings=b"<si><t/></si>" * 1_200_000))

    assert "up to text 100" in said
    assert "most shared texts are empty" in said


@pytest.mark.parametrize(
    "data",
    [
        b"".join(row(n, b"<c/>" * 1_000) for n in range(1, 4_001)),
        b"".join(b'<row r="%d" hidden="1"/>' % n for n in range(1, 1_048_577)),
        b"".join(row(n, b'<c t="inlineStr"><is><t></t></is></c>' * 120) for n in range(1, 10_001)),
    ],
    ids=["cells", "rows", "texts"],
)
def test_blanks_by_the_million(data: bytes) -> None:
    """Refused with the row up to which it was read."""
    assert re.search(r"refused: .*[Uu]p to row [1-9]\d+ .*holds more .*than", bounded(made(data)))


@pytest.mark.parametrize("formula", [b"A1-A1", b"SUM(A1:A2)/9", b"$A$1+$A$2"])
def test_zeros_of_hundreds_of_thousands_of_formulas(formula: bytes) -> None:
    """The workbook asks to be calculated: whether zeros are results is not looked for for ever."""
    cell = b"<c><f>%s</f><v>0</v></c>" % formula
    data = b"".join(row(n, cell * 3) for n in range(1, 40_001))

    assert "40000 [None, None]" in bounded(made(data))


def test_a_document_with_backslashes_in_its_zip() -> None:
    """And in its relationships, as old .NET wrote them."""
    words = "This contract has enough words to be one."
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(docx(words))) as source, zipfile.ZipFile(target, "w") as other:
        for name in source.namelist():
            body = source.read(name).replace(b'Target="word/', b'Target="\\word\\')
            other.writestr(name.replace("/", "\\"), body)

    assert [words] == [block.text for block in parse(target.getvalue()).blocks]


@pytest.mark.parametrize(
    ("part", "content", "reason"),
    [
        ("word/document.xml", b" " * 40_000_000, "zip bomb"),
        ("word/styles.xml", b"", "would unpack to"),
        ("word/document.xml", b"<p><t>word </t></p>" * 310_000, "more than 300,000 paragraphs"),
        ("word/document.xml", b"<x>" * 60_000, "nested elements"),
    ],
    ids=["bomb", "held", "paragraphs", "depth"],
)
def test_an_oversize_document_is_refused(part: str, content: bytes, reason: str) -> None:
    """By what it would unpack to, or by what it turns out to hold; the message says which."""

    def change(name: str, old: bytes) -> bytes:
        if name != part:
            return old
        return old[: old.index(b"<w:body>") + 8] + content if b"<w:body>" in old else content

    body = rewritten(docx("This contract has enough words to be one."), change)
    if reason == "would unpack to":
        target = io.BytesIO(body)
        with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as archive:
            for at in range(4):
                archive.writestr(f"word/custom{at}.xml", b" " * 15_000_000)
        body = target.getvalue()

    with pytest.raises(InvalidInput, match=reason):
        parse(body)
