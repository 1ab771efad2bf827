"""Whether some bytes are a workbook that is safe to open, decided before anything parses them.

Everything refused here is an `InvalidInput` that tells a person what the file seems to be and what
to do about it.
"""

from __future__ import annotations

import zipfile
from typing import Final

from onward.sdk import InvalidInput

from workflows.opening import (
    ENCRYPTED,
    MIB,
    OLD_WORKBOOK,
    Wanted,
    is_package,
    is_web_page,
    old_office,
    open_package,
    refuse_empty,
    refuse_foreign,
    signature,
    text_head,
)

# 100,000 rows × 10 columns unpack to about 45 MiB. Sheets are streamed, pictures and macros not
# read at all; the other parts are held in memory, so they get less.
WORKBOOK: Final = Wanted(
    noun="workbook",
    extension=".xlsx",
    program="Excel",
    unpacked=1024 * MIB,
    held=128 * MIB,
    streamed=("xl/worksheets/", "xl/media/", "xl/vbaProject", "xl/embeddings/", "xl/pivot"),
)

# Namespaces of ISO 29500 Strict; a reader of the usual ones would find no cells at all.
_STRICT: Final = b"http://purl.oclc.org/ooxml/spreadsheetml/main"
_PART: Final = "xl/workbook.xml"


def check_container(body: bytes) -> None:
    """Refuse what is not an Office Open XML workbook or would not fit into memory.

    Raises:
        InvalidInput: says what the file seems to be and what to do.
    """
    refuse_empty(body)
    if not is_package(body):
        raise InvalidInput(_describe_foreign(body))
    with open_package(body, WORKBOOK) as archive:
        refuse_foreign(archive, _PART, WORKBOOK)
        _check_kind(archive)


def _describe_foreign(body: bytes) -> str:
    old = old_office(body)
    if old == ENCRYPTED:
        return (
            "The workbook is protected with a password, so nothing in it can be read. "
            "Remove the password in Excel (File, Info, Protect Workbook) and upload it again."
        )
    if old == OLD_WORKBOOK:
        return f"This is a workbook in the old .xls format. {WORKBOOK.save_as}"
    if old:
        return (
            "This is an old Office document (.doc, .ppt, .msg or similar), not an .xlsx workbook."
        )
    what = signature(body)
    if what:
        return f"This is {what}, not an Excel workbook. Upload an .xlsx file."
    return _describe_text(body)


def _describe_text(body: bytes) -> str:
    text = text_head(body)
    if text is None:
        return "This is not an Excel workbook, and its format is not one that is known here."
    if is_web_page(text):
        return f"This is a web page, although some sites name such files .xls. {WORKBOOK.save_as}"
    if "urn:schemas-microsoft-com:office:spreadsheet" in text.lower():
        return f"This is an XML spreadsheet of 2003, not an .xlsx workbook. {WORKBOOK.save_as}"
    known = {"<": "an XML file", "{": "a JSON file", "[": "a JSON file"}.get(text[0])
    return f"This is {known or _kind_of_lines(text)}, not an Excel workbook. {WORKBOOK.save_as}"


def _kind_of_lines(text: str) -> str:
    lines = [line for line in text.splitlines() if line][:5]
    for separator, name in ((",", "commas"), (";", "semicolons"), ("\t", "tabs")):
        if all(separator in line for line in lines):
            return f"a text file with values separated by {name} (CSV)"
    return "a text file"


def _check_kind(archive: zipfile.ZipFile) -> None:
    names = set(archive.namelist())
    if "[Content_Types].xml" not in names:
        inside = next(
            (name for name in sorted(names) if name.lower().endswith((".xlsx", ".xls", ".csv"))),
            None,
        )
        hint = f" It contains {inside!r}: unpack it and upload that." if inside else ""
        raise InvalidInput(f"This is a zip archive without a workbook in it.{hint}")
    if _PART in names and _STRICT in archive.read(_PART):
        raise InvalidInput(
            "The workbook is in the rare Strict Open XML format, which cannot be read here. "
            "Save it in Excel as an ordinary Excel workbook (.xlsx).",
        )
