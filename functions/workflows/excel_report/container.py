"""Whether some bytes are a workbook that is safe to open, decided before anything parses them.

Everything refused here is an `InvalidInput` that tells a person what the file seems to be and what
to do about it.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Final

from onward.sdk import InvalidInput

MIB: Final = 1024 * 1024
# 100,000 rows × 10 columns unpack to about 45 MiB. Sheets are streamed; the other parts are held in
# memory, so they get less.
MAX_UNPACKED: Final = 1024 * MIB
MAX_HELD: Final = 128 * MIB
MAX_PARTS: Final = 10_000
# Real sheets shrink 5 to 40 times; deflate cannot do more than 1,032.
MAX_RATIO: Final = 250
RATIO_APPLIES_FROM: Final = 16 * MIB

_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SPACES: Final = "\t\r\n\f"
_SAVE_AS: Final = "Open it in a spreadsheet program and save it as .xlsx."

# Namespaces of ISO 29500 Strict; a reader of the usual ones would find no cells at all.
_STRICT: Final = b"http://purl.oclc.org/ooxml/spreadsheetml/main"

# First bytes → what such a file is.
_SIGNATURES: Final = (
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"{\\rtf", "an RTF document"),
)

# A part that only one kind of package has → what that package is.
_PACKAGES: Final = (
    ("word/document.xml", "a Word document (.docx)"),
    ("ppt/presentation.xml", "a PowerPoint presentation (.pptx)"),
    ("xl/workbook.bin", "a binary workbook (.xlsb)"),
    ("Index/Document.iwa", "an Apple Numbers, Pages or Keynote document"),
    ("META-INF/MANIFEST.MF", "a Java archive"),
    ("AndroidManifest.xml", "an Android app"),
)


def check_container(body: bytes) -> None:
    """Refuse what is not an Office Open XML workbook or would not fit into memory.

    Raises:
        InvalidInput: says what the file seems to be and what to do.
    """
    if not body:
        raise InvalidInput("The file is empty (0 bytes). Upload it again, or export it anew.")
    if not body.startswith(b"PK"):
        raise InvalidInput(_describe_foreign(body))
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            _check_parts(archive)
            _check_kind(archive)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        ValueError,
        NotImplementedError,
    ) as error:
        raise InvalidInput(
            "The file begins like an .xlsx workbook but is damaged or cut off: its table of "
            f"contents cannot be read ({error}). Download or export it again."
        ) from error


def _describe_foreign(body: bytes) -> str:
    if body.startswith(_OLE):
        return _describe_ole(body)
    for signature, what in _SIGNATURES:
        if body.startswith(signature):
            return f"This is {what}, not an Excel workbook. Upload an .xlsx file."
    return _describe_text(body)


def _describe_ole(body: bytes) -> str:
    """Name the kind by the streams in the container's directory (MS-CFB: names are UTF-16LE)."""

    def holds(stream: str) -> bool:
        return stream.encode("utf-16-le") in body

    if holds("EncryptedPackage"):
        return (
            "The workbook is protected with a password, so nothing in it can be read. "
            "Remove the password in Excel (File, Info, Protect Workbook) and upload it again."
        )
    if holds("Workbook") or holds("Book"):
        return f"This is a workbook in the old .xls format. {_SAVE_AS}"
    return "This is an old Office document (.doc, .ppt, .msg or similar), not an .xlsx workbook."


def _describe_text(body: bytes) -> str:
    head = body[:4096]
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = head.decode(encoding, errors="replace").lstrip()
    odd = sum(1 for sign in text if sign == "\ufffd" or (sign < " " and sign not in _SPACES))
    if not text or odd > len(text) // 50:
        return "This is not an Excel workbook, and its format is not one that is known here."
    lowered = text.lower()
    if "<html" in lowered or "<table" in lowered:
        return f"This is a web page, although some sites name such files .xls. {_SAVE_AS}"
    if "urn:schemas-microsoft-com:office:spreadsheet" in lowered:
        return f"This is an XML spreadsheet of 2003, not an .xlsx workbook. {_SAVE_AS}"
    known = {"<": "an XML file", "{": "a JSON file", "[": "a JSON file"}.get(text[0])
    return f"This is {known or _kind_of_lines(text)}, not an Excel workbook. {_SAVE_AS}"


def _kind_of_lines(text: str) -> str:
    lines = [line for line in text.splitlines() if line][:5]
    for separator, name in ((",", "commas"), (";", "semicolons"), ("\t", "tabs")):
        if all(separator in line for line in lines):
            return f"a text file with values separated by {name} (CSV)"
    return "a text file"


def _check_parts(archive: zipfile.ZipFile) -> None:
    """Judge by the declared sizes: the zip module never unpacks a part beyond its declared size."""
    parts = archive.infolist()
    if len(parts) > MAX_PARTS:
        raise InvalidInput(
            f"The file holds {len(parts):,} parts; a workbook of up to {MAX_PARTS:,} can be read."
        )
    if any(part.flag_bits & 1 for part in parts):
        raise InvalidInput("This zip archive has a password. Unpack it and upload the workbook.")
    total = sum(part.file_size for part in parts)
    held = sum(part.file_size for part in parts if not _is_streamed(part.filename))
    if total > MAX_UNPACKED or held > MAX_HELD:
        raise InvalidInput(
            f"The workbook would unpack to {total // MIB:,} MiB, {held // MIB:,} of them beside "
            f"its sheets; up to {MAX_UNPACKED // MIB:,} and {MAX_HELD // MIB:,} can be read. "
            "Split it into smaller workbooks."
        )
    for part in parts:
        ratio = part.file_size // max(1, part.compress_size)
        if part.file_size > RATIO_APPLIES_FROM and ratio > MAX_RATIO:
            raise InvalidInput(
                f"The part {part.filename!r} would unpack to {ratio:,} times its size, like a file "
                "made to exhaust memory (a zip bomb). It was not opened. Save it anew from Excel."
            )


def _is_streamed(name: str) -> bool:
    """Sheets are read row by row, pictures and macros not at all."""
    return name.startswith(
        ("xl/worksheets/", "xl/media/", "xl/vbaProject", "xl/embeddings/", "xl/pivot")
    )


def _check_kind(archive: zipfile.ZipFile) -> None:
    names = set(archive.namelist())
    for part, what in _PACKAGES:
        if part in names:
            raise InvalidInput(f"This is {what}, not an .xlsx workbook. {_SAVE_AS}")
    if "mimetype" in names and b"opendocument" in archive.read("mimetype")[:200]:
        raise InvalidInput(
            f"This is an OpenDocument file (.ods, .odt …), not an .xlsx workbook. {_SAVE_AS}"
        )
    if "[Content_Types].xml" not in names:
        inside = next(
            (name for name in sorted(names) if name.lower().endswith((".xlsx", ".xls", ".csv"))),
            None,
        )
        hint = f" It contains {inside!r}: unpack it and upload that." if inside else ""
        raise InvalidInput(f"This is a zip archive without a workbook in it.{hint}")
    if "xl/workbook.xml" in names and _STRICT in archive.read("xl/workbook.xml"):
        raise InvalidInput(
            "The workbook is in the rare Strict Open XML format, which cannot be read here. "
            "Save it in Excel as an ordinary Excel workbook (.xlsx).",
        )
