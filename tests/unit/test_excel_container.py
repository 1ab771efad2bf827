"""A file that is no workbook fails with a reason that a person understands."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from documents.workbook import container
from documents.workbook.workbook import open_workbook
from onward.sdk import InvalidInput

from tests.unit.workbooks import archive, figures, inspected, reported, rewritten, strict, workbook

if TYPE_CHECKING:
    from pathlib import Path

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)
SMALL = {"Sheet": [["a", "b"], [1, 2], [3, 4]]}
STRINGS = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>'
)


def reason(body: bytes) -> str:
    with pytest.raises(InvalidInput) as refused, open_workbook(body):
        pass
    return str(refused.value)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", "The file is empty (0 bytes)"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), "protected with a password"),
        (OLE + "Workbook".encode("utf-16-le"), "old .xls format"),
        (OLE + "Book".encode("utf-16-le"), "old .xls format"),
        (OLE + "WordDocument".encode("utf-16-le"), "an old Office document"),
        (b"%PDF-1.7\n", "a PDF document"),
        (b"\x89PNG\r\n", "a PNG picture"),
        (b"name,age\nAnn,3\n", "values separated by commas (CSV)"),
        (b"\xef\xbb\xbfname;age\nAnn;3\n", "values separated by semicolons (CSV)"),
        ("name\tage\nÄnn\t3\n".encode("utf-16"), "values separated by tabs (CSV)"),
        (b'{"rows": []}', "a JSON file"),
        (b"<html><table></table></html>", "a web page"),
        (b"<?xml version='1.0'?><Workbook/>", "an XML file"),
        (b"Dear all,\nplease find attached", "a text file"),
        (bytes(range(256)) * 4, "not one that is known here"),
        (archive(word__document=b""), "a zip archive without a workbook"),
        (archive(**{"word/document.xml": b""}), "a Word document (.docx)"),
        (archive(**{"xl/workbook.bin": b""}), "a binary workbook (.xlsb)"),
        (archive(mimetype=b"application/vnd.oasis.opendocument.spreadsheet"), "OpenDocument"),
        (archive(**{"july/sales.xlsx": b""}), "It contains 'july/sales.xlsx'"),
        (archive(**{"[Content_Types].xml": b"<Types/>"}), "The workbook is damaged"),
    ],
)
def test_what_is_no_workbook_is_named(body: bytes, expected: str) -> None:
    """The message says what the file seems to be."""
    assert expected in reason(body)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
def test_a_truncated_workbook_is_called_cut_off(share: float) -> None:
    """Wherever the download broke off."""
    body = workbook(**SMALL)

    assert "damaged or cut off" in reason(body[: int(len(body) * share)])


def test_a_damaged_sheet_is_named() -> None:
    """A part whose bytes do not match their checksum is no sheet to count."""
    body = bytearray(workbook(**SMALL))
    with zipfile.ZipFile(io.BytesIO(bytes(body))) as made:
        part = made.getinfo("xl/worksheets/sheet1.xml")
    body[part.header_offset + 80] ^= 0xFF

    with pytest.raises(InvalidInput, match="damaged"):
        inspected(bytes(body))


def test_a_part_that_unpacks_to_many_times_its_size_is_not_opened() -> None:
    """A zip bomb is refused by its declared size, before anything is unpacked."""
    body = rewritten(
        workbook(**SMALL), lambda part, old: b" " * 20_000_000 if "sheet1" in part else old
    )

    assert "zip bomb" in reason(body)


def test_a_workbook_too_large_for_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that are held in memory have a limit of their own."""
    small = replace(container.WORKBOOK, held=100)
    monkeypatch.setattr(container, "WORKBOOK", small)

    assert "Split it into smaller workbooks" in reason(workbook(**SMALL))


@pytest.mark.parametrize(
    "part",
    [
        "xl/worksheets/sheet1.xml",
        "xl/sharedStrings.xml",
        "xl/workbook.xml",
        "xl/styles.xml",
        "_rels/.rels",
        "xl/_rels/workbook.xml.rels",
    ],
)
def test_entity_bombs_are_refused(part: str) -> None:
    """No part of a workbook declares entities; they are never expanded."""

    def plant(name: str, old: bytes) -> bytes:
        return BOMB + old[old.index(b"<", old.startswith(b"<?xml")) :] if name == part else old

    with pytest.raises(InvalidInput, match="cannot be read"):
        inspected(rewritten(with_shared_strings(), plant))


def with_shared_strings() -> bytes:
    """As Excel writes it: A1 refers to a table of strings."""
    part = b'<Override PartName="/xl/sharedStrings.xml" ContentType="' + STRINGS.encode() + b'"/>'

    def share(name: str, old: bytes) -> bytes:
        old = old.replace(b"</Types>", part + b"</Types>")
        return old.replace(b't="inlineStr"><is><t>a</t></is>', b't="s"><v>0</v>')

    target = io.BytesIO(rewritten(workbook(**SMALL), share))
    with zipfile.ZipFile(target, "a") as made:
        made.writestr(
            "xl/sharedStrings.xml",
            '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
            '<si><r><t>sha</t></r><r><t>red</t></r><rPh sb="0" eb="1"><t>never</t></rPh></si>'
            "</sst>",
        )
    return target.getvalue()


def test_shared_strings_are_read_without_their_phonetic_guides() -> None:
    """Rich text is put together from its runs."""
    columns = inspected(with_shared_strings()).sheets[0].tables[0].columns

    assert ["shared", "b"] == [column.name for column in columns]


def test_strict_open_xml_is_read() -> None:
    """The namespaces of ISO 29500 Strict differ in nothing else."""
    (report,) = reported(rewritten(workbook(**SMALL), strict))

    assert {"a": ("integer", 4, 1, 3, 0), "b": ("integer", 6, 2, 4, 0)} == figures(report)


def test_rows_out_of_order_are_refused() -> None:
    """A reader that skips them would report a wrong sum."""

    def swapped(part: str, old: bytes) -> bytes:
        return old.replace(b'<row r="3"', b'<row r="1"') if "sheet1" in part else old

    with pytest.raises(InvalidInput, match=r"Row 1 .* comes after row 2"):
        inspected(rewritten(workbook(**SMALL), swapped))


def test_an_empty_workbook_is_called_empty() -> None:
    """There is nothing to report on."""
    with pytest.raises(InvalidInput, match="The workbook is empty"):
        inspected(workbook(First=[], Second=[[None]]))


def test_the_tick_ends_a_reading_that_takes_too_long() -> None:
    """It is called while rows stream by."""
    calls: list[int] = []

    def give_up() -> None:
        calls.append(1)
        if len(calls) > 3:
            raise InvalidInput("too long")

    body = workbook(Long=[[number] for number in range(12_500)])
    with open_workbook(body, tick=give_up) as book, pytest.raises(InvalidInput, match="too long"):
        list(book.rows(book.sheets[0]))


def test_the_name_of_the_file_does_not_matter(tmp_path: Path) -> None:
    """Only the bytes are looked at."""
    path = tmp_path / "report.csv"
    path.write_bytes(workbook(**SMALL))

    assert 1 == len(inspected(path.read_bytes()).sheets[0].tables)
