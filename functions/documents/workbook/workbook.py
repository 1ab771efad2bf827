"""Opening a workbook and streaming its rows.

Everything is read here instead of by a library: openpyxl's read-only sheets give None both for a
blank cell and for a formula without a stored result and judge number formats in quadratic time, and
readers that load whole sheets take 16 GiB for two cells at opposite corners.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from onward.sdk import InvalidInput

from documents.office.markup import events, no_tick, tags
from documents.office.opening import UNREADABLE, Package
from documents.office.relations import relations
from documents.workbook.cells import MAX_TEXT
from documents.workbook.container import open_container
from documents.workbook.contents import Contents, ListedSheet
from documents.workbook.decode import Decoder
from documents.workbook.formats import NumberFormats
from documents.workbook.moments import EPOCH_1900, EPOCH_1904
from documents.workbook.sheet_rows import MAX_ROW, Box, Gathered, Row, SheetRows, box
from documents.workbook.strings import read_strings, unescaped

ROWS_PER_TICK: Final = 2_000
MAX_ZEROS: Final = 50_000  # formulas that are looked at for one with another result
MAX_TABLES: Final = 1_000  # of a sheet; more are found by their looks


@dataclass(frozen=True)
class DeclaredTable:
    """A table that the workbook itself declares (Insert, Table)."""

    box: Box
    names: list[str]
    header_rows: int
    total_rows: int


@dataclass
class Sheet:
    """A worksheet; `gathered` is complete once its rows have been read to the end."""

    name: str
    part: str
    hidden: bool
    tables: list[DeclaredTable]
    gathered: Gathered = field(default_factory=Gathered)


class Workbook:
    """An open workbook.

    `sheets` are in the workbook's order, each with a name of its own; `notes` tell what is odd
    about them, and which sheets were left out because they have no cells. `tick` is called again
    and again while parts are read: it may raise to end a reading that takes too long.
    """

    def __init__(self, package: Package, main: str, tick: Callable[[], None]) -> None:
        self._package = package
        self._tick = tick
        contents = Contents.read(package, main, tick)
        self.notes = contents.notes
        self._formats = self._read_formats(contents)
        strings: list[str] = []
        if contents.strings in package:
            with package.open(contents.strings) as source:
                strings, cut = read_strings(source, tick)
            if cut:
                texts = "1 text" if cut == 1 else f"{cut:,} texts"
                self.notes.append(
                    f"{texts} of more than {MAX_TEXT:,} signs: the rest was left out."
                )
        self._decoder = Decoder(
            strings, self._formats, EPOCH_1904 if contents.from_1904 else EPOCH_1900
        )
        self.sheets = [
            Sheet(sheet.name, sheet.part, sheet.hidden, self._declared(sheet))
            for sheet in contents.sheets
        ]
        self.recalculates = contents.recalculates
        self._probed = not contents.recalculates

    def sheet(self, name: str) -> Sheet:
        """The sheet of that name; InvalidInput when the workbook has none."""
        for sheet in self.sheets:
            if sheet.name == name:
                return sheet
        raise InvalidInput(f"The workbook has no sheet named {name!r}.")

    def is_percent(self, style: int) -> bool:
        """Whether cells of this style are shown as percentages."""
        return self._formats.is_percent(style)

    def rows(self, sheet: Sheet, last: int = MAX_ROW, *, formulas: bool = False) -> Iterator[Row]:
        """The rows that hold anything, in ascending order, up to row `last`.

        With `formulas`, cells say whether theirs give figures of the cells above.

        Raises:
            InvalidInput: the sheet is damaged, its rows are out of order, or hold too much.
        """
        if not self._probed:
            self._probed = True
            self._decoder.doubts_zeros = not self._has_results()
        yield from self._stream(sheet, last, formulas=formulas)

    def _has_results(self) -> bool:
        """Whether any formula was calculated to another number than 0: then all were.

        Of a workbook that begins with very many zeros none is believed.
        """
        zeros = 0
        for sheet in self.sheets:
            probe = Sheet(sheet.name, sheet.part, sheet.hidden, [])
            for _ in self._stream(probe, MAX_ROW) if sheet.part else ():
                if probe.gathered.results:
                    return True
                if zeros + probe.gathered.zeros > MAX_ZEROS:
                    return False
            zeros += probe.gathered.zeros
        return False

    def _stream(self, sheet: Sheet, last: int, *, formulas: bool = False) -> Iterator[Row]:
        sheet.gathered = gathered = Gathered()
        reading = SheetRows(sheet.name, self._decoder, gathered, formulas=formulas)
        count = 0
        with _readable(f"The sheet “{sheet.name}”"), self._package.open(sheet.part) as source:
            for _ in events(source, reading, self._tick):
                while reading.done:
                    row = reading.done.popleft()
                    if row.number > last:
                        return
                    count += 1
                    if count % ROWS_PER_TICK == 0:
                        self._tick()
                    yield row
                    if row.number == last:
                        return
                if gathered.merges_left_out:
                    return  # they follow all rows

    def _read_formats(self, contents: Contents) -> NumberFormats:
        if contents.styles not in self._package:
            return NumberFormats()
        with self._package.open(contents.styles) as source:
            return NumberFormats.read(source, self._tick)

    def _declared(self, sheet: ListedSheet) -> list[DeclaredTable]:
        related = relations(self._package, sheet.part) if sheet.part else {}
        parts = {r.part for r in related.values() if r.kind == "table" and r.part in self._package}
        tables = [self._declared_table(part) for part in sorted(parts)[:MAX_TABLES]]
        return [table for table in tables if table]

    def _declared_table(self, part: str) -> DeclaredTable | None:
        """A table of the workbook; None when it has not as many names as columns."""
        names: list[str] = []
        attributes: dict[str, str] = {}
        with self._package.open(part) as source:
            for tag in tags(source, "table", ["table", "tableColumn"], self._tick):
                if tag.path == ("table",):
                    attributes = dict(tag.attributes)
                elif tag.path == ("table", "tableColumns", "tableColumn"):
                    names.append(" ".join(unescaped(tag.attributes.get("name", "")).split()))
        place = box(attributes.get("ref", ""))
        if len(names) != place.right - place.left + 1:
            return None
        heads = int(attributes.get("headerRowCount", "1"))
        return DeclaredTable(place, names, heads, int(attributes.get("totalsRowCount", "0")))


@contextmanager
def open_workbook(body: bytes, tick: Callable[[], None] = no_tick) -> Iterator[Workbook]:
    """Open a workbook after the checks of `open_container`.

    Raises:
        InvalidInput: it is no workbook, unsafe to open, or damaged; the message is for people.
    """
    package, main = open_container(body)
    with package:
        with _readable("The workbook"):
            workbook = Workbook(package, main, tick)
        yield workbook


@contextmanager
def _readable(what: str) -> Iterator[None]:
    """Turn what a parser raises into a reason that a person understands."""
    try:
        yield
    except UNREADABLE as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidInput(
            f"{what} is damaged or uses something that cannot be read ({reason}). "
            "Open it in Excel, save it as a new .xlsx workbook and upload that.",
        ) from error
