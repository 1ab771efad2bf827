"""Finding every table of a workbook and saying what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from onward.sdk import InvalidInput

from documents.workbook.cells import BLANK, MAX_TEXT, TEXT, TYPED, as_text
from documents.workbook.grid import Grid
from documents.workbook.merges import Merges
from documents.workbook.models import (
    ColumnFacts,
    ColumnType,
    Inspection,
    SheetFacts,
    TableFacts,
)
from documents.workbook.regions import find_regions
from documents.workbook.shape import column_type
from documents.workbook.sheet_rows import MAX_MERGES, Box, column_letters
from documents.workbook.tables import Table, declared_table, find_tables
from documents.workbook.workbook import Sheet, Workbook

# Each is a step or an item of the one that they share; compose reads the figures of all.
MAX_TABLES: Final = 1_000
QUOTED: Final = 6
QUOTE_LENGTH: Final = 60


def inspect(
    workbook: Workbook, said: Callable[[float, str], None] = lambda _share, _sheet: None
) -> Inspection:
    """Every visible sheet with its tables, and in notes whatever was skipped or guessed.

    `said` is told before each sheet how much of the workbook is done.

    Raises:
        InvalidInput: the workbook holds no cells that can be read.
    """
    sheets: list[SheetFacts] = []
    notes: list[str] = list(workbook.notes)
    cells = tables = 0
    for at, sheet in enumerate(workbook.sheets):
        said(at / len(workbook.sheets), sheet.name)
        if sheet.hidden:
            notes.append(f"The hidden sheet “{sheet.name}” was left out.")
            continue
        grid = Grid.scan(workbook.rows(sheet))
        cells += grid.cells
        facts = _inspect_sheet(sheet, grid)
        facts.notes += _about_rows(sheet, workbook)
        dropped = facts.tables[MAX_TABLES - tables :]
        if dropped:
            facts.notes.append(
                f"{len(dropped)} tables from {dropped[0].range} on were left out: "
                f"a report covers up to {MAX_TABLES} tables."
            )
            facts.tables = facts.tables[: MAX_TABLES - tables]
        tables += len(facts.tables)
        sheets.append(facts)
    if not cells:
        where = "visible sheets" if len(sheets) < len(workbook.sheets) else "sheets"
        raise InvalidInput(f"The workbook is empty: there is no value on any of its {where}.")
    return Inspection(sheets=sheets, notes=notes)


def _inspect_sheet(sheet: Sheet, grid: Grid) -> SheetFacts:
    facts = SheetFacts(name=sheet.name)
    if not grid.cells:
        facts.notes.append("The sheet is empty.")
        return facts
    found = [table for declared in sheet.tables if (table := declared_table(grid, declared))]
    rest = grid.without([declared.box for declared in sheet.tables])
    regions = find_regions(rest)
    alone = len(regions) == 1 and not sheet.tables
    merges = Merges(sheet.gathered.merges)
    for region in regions:
        found += find_tables(region, merges, alone=alone)
    found.sort(key=lambda table: (table.top, table.left))
    facts.tables = [_facts(sheet.name, table) for table in found]
    outside = grid.without([*(_box(table) for table in found), *(d.box for d in sheet.tables)])
    facts.notes += _left_out(outside, has_tables=bool(found))
    return facts


def _about_rows(sheet: Sheet, workbook: Workbook) -> list[str]:
    """What must be said about the rows of a sheet as a whole."""
    seen, notes = sheet.gathered, []
    if seen.hidden:
        rows = "1 row is" if seen.hidden == 1 else f"{seen.hidden:,} rows are"
        notes.append(f"{rows} hidden in the workbook, and counted here like the others.")
    if seen.cut:
        cells = "1 cell holds" if seen.cut == 1 else f"{seen.cut:,} cells hold"
        notes.append(f"{cells} more than {MAX_TEXT:,} signs of text: the rest was left out.")
    if workbook.recalculates and seen.zeros and seen.results:
        formulas = "1 formula" if seen.zeros == 1 else f"{seen.zeros:,} formulas"
        notes.append(
            "The workbook asks to be calculated anew when it is opened: "
            f"{formulas} with a stored 0 were read as 0, as other formulas have other results."
        )
    if seen.merges_left_out:
        notes.append(f"Of its merged ranges the first {MAX_MERGES:,} were looked at.")
    return notes


def _box(table: Table) -> Box:
    return Box(table.left, min([table.top, *table.headers]), table.right, table.bottom)


def _facts(sheet: str, table: Table) -> TableFacts:
    box = _box(table)
    first, last = column_letters(box.left), column_letters(box.right)
    columns = [
        ColumnFacts(name=name, type=_likely_type(count))
        for name, count in zip(table.names, table.counts, strict=True)
    ]
    return TableFacts(
        sheet=sheet,
        range=f"{first}{box.top}:{last}{box.bottom}",
        headers=table.headers,
        top=table.top,
        bottom=table.bottom,
        left=table.left,
        right=table.right,
        rows=table.rows,
        skip=table.skip,
        columns=columns,
        notes=table.notes,
    )


def _likely_type(count: Counter[str]) -> ColumnType:
    """The type without a lone text among other values: most often it labels a row of totals."""
    typed = sum(count[kind] for kind in TYPED)
    if count[TEXT] == 1 and typed > 1:
        count = count - Counter({TEXT: 1})
    return column_type(count)


def _left_out(grid: Grid, *, has_tables: bool) -> list[str]:
    """One note that quotes the first texts outside the tables and counts the rest."""
    if not grid.cells:
        return []
    quotes: list[str] = []
    for number, kinds in zip(grid.numbers, grid.kinds, strict=True):
        for at, kind in enumerate(kinds, start=1):
            text = as_text(grid.value(number, at)) if kind != BLANK else ""
            if text and len(quotes) < QUOTED:
                short = text if len(text) <= QUOTE_LENGTH else f"{text[: QUOTE_LENGTH - 1]}…"
                quotes.append(f"{column_letters(at)}{number} “{short}”")
    total = grid.cells
    more = f" and {total - len(quotes)} more" if total > len(quotes) else ""
    what = "outside the tables" if has_tables else "without a table"
    cells = "1 cell" if total == 1 else f"{total} cells"
    return [f"Left out: {cells} {what}: {', '.join(quotes)}{more}."]
