"""Opening a workbook and streaming its rows.

openpyxl reads the package: its parts, sheets and shared strings. Rows are streamed here because its
read-only sheets give None both for a blank cell and for a formula without a stored result, silently
drop rows that are out of order, and read a sheet twice if it does not state its dimensions.
"""

from __future__ import annotations

import io
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element, ParseError

from defusedxml.ElementTree import fromstring, iterparse
from onward.sdk import InvalidInput
from openpyxl.packaging.relationship import get_dependents, get_rels_path
from openpyxl.reader.excel import ExcelReader
from openpyxl.utils.cell import range_boundaries
from openpyxl.utils.escape import unescape
from openpyxl.xml.constants import SHEET_MAIN_NS, STYLES_TYPE

from workflows.excel_report.container import check_container
from workflows.excel_report.decode import Cell, Decoder
from workflows.excel_report.formats import NumberFormats

MAX_ROW: Final = 1_048_576
ROWS_PER_TICK: Final = 2_000

_ROW: Final = f"{{{SHEET_MAIN_NS}}}row"
_MERGE: Final = f"{{{SHEET_MAIN_NS}}}mergeCell"
_COLUMN: Final = f"{{{SHEET_MAIN_NS}}}tableColumn"

# What openpyxl and the parsers below it raise on files that other programs accept or wrote badly.
_UNREADABLE: Final = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ParseError,
    OverflowError,
    RecursionError,
    NotImplementedError,
    EOFError,
    OSError,
    zlib.error,
    zipfile.BadZipFile,
)


class Row(NamedTuple):
    """A row of a sheet, counted from 1, with its cells from left to right."""

    number: int
    cells: list[Cell]


class Box(NamedTuple):
    """A rectangle of cells, 1-based and inclusive."""

    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True)
class DeclaredTable:
    """A table that the workbook itself declares (Insert, Table)."""

    box: Box
    names: list[str]
    header_rows: int
    total_rows: int


@dataclass
class Sheet:
    """A worksheet; `merges` is known once its rows have been read to the end."""

    name: str
    part: str
    hidden: bool
    tables: list[DeclaredTable]
    merges: list[Box] = field(default_factory=list)


class Workbook:
    """An open workbook. `sheets` are in the workbook's order; `others` names those without cells.

    `tick` is called every few thousand rows: it may raise to end a reading that takes too long.
    """

    def __init__(self, reader: ExcelReader, tick: Callable[[], None]) -> None:
        self._archive = reader.archive
        self._tick = tick
        self._formats = _formats(reader)
        self._decoder = Decoder(
            strings=reader.shared_strings,
            formats=self._formats,
            epoch=reader.wb.epoch,
            recalculates=bool(reader.wb.calculation and reader.wb.calculation.fullCalcOnLoad),
        )
        self.sheets: list[Sheet] = []
        self.others: list[str] = []
        for listed, relation in reader.parser.find_sheets():
            name, part = str(listed.name), str(relation.target)
            if not str(relation.Type).endswith("/worksheet") or part not in reader.valid_files:
                self.others.append(name)
                continue
            hidden = (listed.state or "visible") != "visible"
            self.sheets.append(Sheet(name, part, hidden, _declared(self._archive, part)))

    def sheet(self, name: str) -> Sheet:
        """The sheet of that name; InvalidInput when the workbook has none."""
        for sheet in self.sheets:
            if sheet.name == name:
                return sheet
        raise InvalidInput(f"The workbook has no sheet named {name!r}.")

    def is_percent(self, style: int) -> bool:
        """Whether cells of this style are shown as percentages."""
        return style in self._formats.percents

    def rows(self, sheet: Sheet, last: int = MAX_ROW) -> Iterator[Row]:
        """The rows that hold anything, in ascending order, up to row `last`.

        Raises:
            InvalidInput: the sheet is damaged, or its rows are out of order.
        """
        with _readable(f"The sheet “{sheet.name}”"), self._archive.open(sheet.part) as source:
            number = count = 0
            for _, element in iterparse(source, forbid_dtd=True):
                if element.tag == _ROW:
                    number = _next_row(element, number, sheet.name)
                    if number > last:
                        return
                    count += 1
                    if count % ROWS_PER_TICK == 0:
                        self._tick()
                    cells = self._decoder.cells(element)
                    element.clear()
                    if cells:
                        yield Row(number, cells)
                elif element.tag == _MERGE:
                    sheet.merges.append(_box(element.get("ref", "")))


def _no_tick() -> None:
    """Read on, however long it takes."""


@contextmanager
def open_workbook(body: bytes, tick: Callable[[], None] = _no_tick) -> Iterator[Workbook]:
    """Open a workbook after the checks of `check_container`.

    Raises:
        InvalidInput: it is no workbook, unsafe to open, or damaged; the message is for people.
    """
    check_container(body)
    with _readable("The workbook"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about features that a reader of values does not need
        reader = ExcelReader(io.BytesIO(body), read_only=True, data_only=True, keep_links=False)
        reader.read_manifest()
        reader.read_strings()
        reader.read_workbook()
        workbook = Workbook(reader, tick)
    with reader.archive:
        yield workbook


@contextmanager
def _readable(what: str) -> Iterator[None]:
    """Turn what a parser raises into a reason that a person understands."""
    try:
        yield
    except _UNREADABLE as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidInput(
            f"{what} is damaged or uses something that cannot be read ({reason}). "
            "Open it in Excel, save it as a new .xlsx workbook and upload that.",
        ) from error


def _formats(reader: ExcelReader) -> NumberFormats:
    part = reader.package.find(STYLES_TYPE)  # type: ignore[no-untyped-call]
    name = str(part.PartName).lstrip("/") if part else "xl/styles.xml"
    if name not in reader.valid_files:
        return NumberFormats()
    return NumberFormats.read(reader.archive.read(name))


def _declared(archive: zipfile.ZipFile, part: str) -> list[DeclaredTable]:
    relations = get_rels_path(part)  # type: ignore[no-untyped-call]
    if relations not in archive.namelist():
        return []
    tables = []
    for relation in get_dependents(archive, relations):
        if str(relation.Type).endswith("/table"):
            root = fromstring(archive.read(relation.target), forbid_dtd=True)
            names = [column.get("name", "") for column in root.iter(_COLUMN)]
            tables.append(
                DeclaredTable(
                    _box(root.get("ref", "")),
                    [" ".join(unescape(name).split()) for name in names],
                    int(root.get("headerRowCount", "1")),
                    int(root.get("totalsRowCount", "0")),
                ),
            )
    return tables


def _next_row(element: Element, previous: int, sheet: str) -> int:
    given = element.get("r")
    number = int(float(given)) if given else previous + 1
    if not previous < number <= MAX_ROW:
        raise InvalidInput(
            f"Row {number} of sheet “{sheet}” comes after row {previous}: the workbook is damaged. "
            "Open it in Excel, let it repair the file, and save it anew.",
        )
    return number


def _box(reference: str) -> Box:
    left, top, right, bottom = range_boundaries(reference)
    if left is None or top is None or right is None or bottom is None:
        raise ValueError(f"{reference!r} is not a range of cells")
    return Box(left, top, right, bottom)
