"""What files that people upload really are, and whether an Office package is safe to open.

Decided before anything parses them. What is refused is an `InvalidInput` whose message tells a
person what the file seems to be and what to do about it.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass
from posixpath import normpath
from typing import IO, Final, Self
from urllib.parse import unquote

from onward.sdk import InvalidInput

MIB: Final = 1024 * 1024
MAX_PARTS: Final = 10_000
# Real parts shrink 5 to 40 times; deflate cannot do more than 1,032.
MAX_RATIO: Final = 250
RATIO_APPLIES_FROM: Final = 16 * MIB

# What archives and markup raise that other programs accept or wrote badly.
UNREADABLE: Final = (
    LookupError,
    ValueError,
    OverflowError,
    NotImplementedError,
    EOFError,
    OSError,
    zlib.error,
    zipfile.BadZipFile,
)

_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SPACES: Final = "\t\r\n\f"
_HEAD: Final = 4096

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
    ("xl/workbook.xml", "an Excel workbook (.xlsx)"),
    ("word/document.xml", "a Word document (.docx)"),
    ("ppt/presentation.xml", "a PowerPoint presentation (.pptx)"),
    ("xl/workbook.bin", "a binary workbook (.xlsb)"),
    ("Index/Document.iwa", "an Apple Numbers, Pages or Keynote document"),
    ("META-INF/MANIFEST.MF", "a Java archive"),
    ("AndroidManifest.xml", "an Android app"),
)

# A stream in the directory of a compound file (MS-CFB: names are UTF-16LE) → what the file is.
ENCRYPTED: Final = "encrypted"
OLD_WORKBOOK: Final = "xls"
OLD_DOCUMENT: Final = "doc"
OLD_OTHER: Final = "old"
_STREAMS: Final = (
    ("EncryptedPackage", ENCRYPTED),
    ("Workbook", OLD_WORKBOOK),
    ("Book", OLD_WORKBOOK),
    ("WordDocument", OLD_DOCUMENT),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The kind of package that a workflow reads, with its limits in bytes.

    `held` bounds what is kept in memory: all parts but those whose names begin with `streamed`.
    """

    noun: str
    extension: str
    program: str
    unpacked: int
    held: int
    streamed: tuple[str, ...]

    @property
    def named(self) -> str:
        """As in "not an .xlsx workbook"."""
        article = "an" if self.extension.startswith(".x") else "a"
        return f"{article} {self.extension} {self.noun}"

    @property
    def save_as(self) -> str:
        """What to do with a file of another kind."""
        return f"Open it in {self.program} or a program like it and save it as {self.extension}."


class Package:
    """An open zip archive whose parts are found as Open Packaging Conventions name them.

    Names match without regard to case (ECMA-376-2, 6.2.2.3), with or without a leading slash; a
    backslash parts folders as in archives that old versions of .NET wrote.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._parts: dict[str, zipfile.ZipInfo] = {}
        for part in archive.infolist():
            name = part_name(part.filename)
            other = self._parts.setdefault(name, part)
            if (other.CRC, other.file_size) != (part.CRC, part.file_size):
                raise InvalidInput(
                    f"The file holds two different parts named {name!r}: which of them counts "
                    "cannot be told. Save it anew with the program that it comes from."
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._archive.close()

    @property
    def names(self) -> list[str]:
        """The normal names of all parts."""
        return list(self._parts)

    def __contains__(self, name: str) -> bool:
        return part_name(name) in self._parts

    def open(self, name: str) -> IO[bytes]:
        """A part's bytes as a stream; KeyError when there is no such part."""
        try:
            return self._archive.open(self._parts[part_name(name)])
        except KeyError:
            raise KeyError(f"there is no part named {name!r} in the file") from None


def part_name(name: str) -> str:
    """The normal form of a part's name, or of a relationship's target from the root."""
    return normpath(name.replace("\\", "/").lstrip("/")).lower()


def resolved(base: str, target: str) -> str:
    """The part that a relationship of part `base` points to; targets may be percent-encoded."""
    path = unquote(target).replace("\\", "/")
    folder = "" if path.startswith("/") else base.rpartition("/")[0] + "/"
    return part_name(f"/{folder}{path}")


def is_package(body: bytes) -> bool:
    """Whether the bytes begin like a zip archive."""
    return body.startswith(b"PK")


def refuse_empty(body: bytes) -> None:
    """Raise InvalidInput for no bytes at all."""
    if not body:
        raise InvalidInput("The file is empty (0 bytes). Upload it again, or export it anew.")


def signature(body: bytes) -> str | None:
    """What a file is by its first bytes; None when they are none of the known ones."""
    return next((what for mark, what in _SIGNATURES if body.startswith(mark)), None)


def old_office(body: bytes) -> str | None:
    """Which kind of compound file this is; None when it is none."""
    if not body.startswith(_OLE):
        return None
    found = (kind for stream, kind in _STREAMS if stream.encode("utf-16-le") in body)
    return next(found, OLD_OTHER)


def text_head(body: bytes) -> str | None:
    """The beginning of a text file without leading white space; None when it is no text."""
    head = body[:_HEAD]
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = head.decode(encoding, errors="replace").lstrip()
    odd = sum(1 for sign in text if sign == "\ufffd" or (sign < " " and sign not in _SPACES))
    return None if not text or odd > len(text) // 50 else text


def is_web_page(text: str) -> bool:
    """Whether the beginning of a text is HTML."""
    lowered = text.lower()
    return "<html" in lowered or "<table" in lowered


def open_package(body: bytes, wanted: Wanted) -> Package:
    """A zip archive whose parts are within the limits.

    Raises:
        InvalidInput: it is damaged, has a password, or would exhaust memory.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(body))
        _check_parts(archive, wanted)
        return Package(archive)
    except UNREADABLE as error:
        raise InvalidInput(
            f"The file begins like {wanted.named} but is damaged or cut off: its contents "
            f"cannot be read ({error}). Download or export it again."
        ) from error


def refuse_foreign(package: Package, own: str, wanted: Wanted) -> None:
    """Raise InvalidInput for a package of another kind; `own` is the part of the wanted one."""
    for part, what in _PACKAGES:
        if part in package and part != own:
            raise InvalidInput(f"This is {what}, not {wanted.named}. {wanted.save_as}")
    if "mimetype" in package:
        with package.open("mimetype") as source:
            if b"opendocument" in source.read(200):
                raise InvalidInput(
                    f"This is an OpenDocument file (.ods, .odt …), not {wanted.named}. "
                    f"{wanted.save_as}"
                )


def _check_parts(archive: zipfile.ZipFile, wanted: Wanted) -> None:
    """Judge by the declared sizes: the zip module never unpacks a part beyond its declared size."""
    parts = archive.infolist()
    if len(parts) > MAX_PARTS:
        raise InvalidInput(
            f"The file holds {len(parts):,} parts; a {wanted.noun} of up to {MAX_PARTS:,} can be "
            "read."
        )
    if any(part.flag_bits & 1 for part in parts):
        raise InvalidInput(
            f"This zip archive has a password. Unpack it and upload the {wanted.noun}."
        )
    total = sum(part.file_size for part in parts)
    streamed = wanted.streamed
    held = sum(p.file_size for p in parts if not part_name(p.filename).startswith(streamed))
    if total > wanted.unpacked or held > wanted.held:
        raise InvalidInput(
            f"The {wanted.noun} would unpack to {total // MIB:,} MiB, {held // MIB:,} of them to "
            f"be held in memory; up to {wanted.unpacked // MIB:,} and {wanted.held // MIB:,} can "
            f"be read. Split it into smaller {wanted.noun}s."
        )
    for part in parts:
        ratio = part.file_size // max(1, part.compress_size)
        if part.file_size > RATIO_APPLIES_FROM and ratio > MAX_RATIO:
            raise InvalidInput(
                f"The part {part.filename!r} would unpack to {ratio:,} times its size, like a file "
                "made to exhaust memory (a zip bomb). It was not opened. Save it anew from "
                f"{wanted.program}."
            )
