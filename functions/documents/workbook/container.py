"""Whether some bytes are a workbook that is safe to open, decided before anything parses them.

Everything refused here is an `InvalidInput` that tells a person what the file seems to be and what
to do about it.
"""

from __future__ import annotations

from typing import Final

from onward.sdk import InvalidInput

from documents.office.opening import (
    ENCRYPTED,
    MIB,
    OLD_WORKBOOK,
    UNREADABLE,
    Package,
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
from documents.office.relations import main_part

# 100,000 rows × 10 columns unpack to about 45 MiB. Sheets are streamed, pictures and macros not
# read at all; the other parts are held in memory, so they get less.
WORKBOOK: Final = Wanted(
    noun="workbook",
    extension=".xlsx",
    program="Excel",
    unpacked=1024 * MIB,
    held=128 * MIB,
    streamed=("xl/worksheets/", "xl/media/", "xl/vbaproject", "xl/embeddings/", "xl/pivot"),
)

_PART: Final = "xl/workbook.xml"


def open_container(body: bytes) -> tuple[Package, str]:
    """The package of a workbook and the name of its main part.

    Refuses what is not an Office Open XML workbook or would not fit into memory.

    Raises:
        InvalidInput: says what the file seems to be and what to do.
    """
    refuse_empty(body)
    if not is_package(body):
        raise InvalidInput(_describe_foreign(body))
    package = open_package(body, WORKBOOK)
    refuse_foreign(package, _PART, WORKBOOK)
    return package, _main_part(package)


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


def _main_part(package: Package) -> str:
    try:
        part = main_part(package, _PART)
    except UNREADABLE as error:
        raise InvalidInput(
            f"The workbook is damaged: what it consists of cannot be read ({error}). "
            "Open it in Excel, save it as a new .xlsx workbook and upload that."
        ) from error
    if part is not None:
        return part
    if "[Content_Types].xml" in package:
        raise InvalidInput("The workbook is damaged: the part that lists its sheets is missing.")
    books = (".xlsx", ".xls", ".csv")
    inside = next((name for name in sorted(package.names) if name.endswith(books)), None)
    hint = f" It contains {inside!r}: unpack it and upload that." if inside else ""
    raise InvalidInput(f"This is a zip archive without a workbook in it.{hint}")
