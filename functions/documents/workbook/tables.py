"""Recognising the table in a block of cells: its header, its data, and the remarks around them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from documents.workbook.cells import BLANK, TEXT, TYPED, WORDS
from documents.workbook.grid import Grid
from documents.workbook.header import column_names, fill, find_header, is_full_header
from documents.workbook.merges import Merges
from documents.workbook.regions import Region, is_year_header
from documents.workbook.shape import ColumnShapes
from documents.workbook.workbook import DeclaredTable

MAX_PAIRS: Final = 10  # more rows of two cells than that are no mere labels with values
SHORT: Final = 40
MIN_LIST: Final = 5
LOOKED_AT: Final = 200  # rows whose values tell whether texts above them are names
DENSE: Final = 0.8
MIN_WORDS: Final = 3  # rows that a table of nothing but words has at least

_REMARK: Final = re.compile(
    r"\s*(?:[*†‡§(\[©]|\d\)|(?:sources?|notes?|data|updated?|quelle|anmerkung|nb)\b)", re.IGNORECASE
)


@dataclass
class Table:
    """A table as it was recognised: rows and columns are numbers on the sheet, inclusive."""

    left: int
    right: int
    headers: list[int]
    names: list[str]
    top: int
    bottom: int
    rows: int
    counts: list[Counter[str]]
    skip: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def find_tables(region: Region, merges: Merges, *, alone: bool = False) -> list[Table]:
    """The tables of a block, from top to bottom; none if it holds remarks only.

    A block that is `alone` on its sheet is more readily taken for a table.
    """
    shapes = ColumnShapes.of(region.words)
    if not shapes.typed:
        return _textual(region, merges, alone=alone)
    parts = _stacked(region, shapes)
    if len(parts) > 1:
        return [table for part in parts for table in find_tables(part, merges)]
    return _typed(region, shapes, merges, alone=alone)


def declared_table(grid: Grid, declared: DeclaredTable) -> Table | None:
    """A table that the workbook declares, without its blank rows and its totals; None if empty."""
    box = declared.box
    last = box.bottom - declared.total_rows
    indexes = grid.span(box.top + declared.header_rows, last)
    region = Region(grid, tuple(indexes), box.left, box.right)
    body = [at for at, word in enumerate(region.words) if fill(word)]
    if not body:
        return None
    table = _build(region, [], body, Merges())
    table.headers = list(range(box.top, box.top + declared.header_rows))
    if declared.header_rows:
        table.names = declared.names
        table.notes = table.notes[1:]
    if declared.total_rows:
        table.notes.append(f"The totals in {_rows(range(last + 1, box.bottom + 1))} are not data.")
    return table


def _stacked(region: Region, shapes: ColumnShapes) -> list[Region]:
    """Cut where a second, different header follows data without a blank row between."""
    first = _first_data(region, shapes)
    known = [region.texts(at) for at in range(first)]
    cuts = [0]
    for at in range(first, len(region.words) - 1):
        word = region.words[at]
        if is_full_header(word, shapes) and shapes.conforming(region.words[at + 1]):
            texts = region.texts(at)
            different = len(set(texts)) * 2 > len(texts) == fill(word)  # a name may come twice
            if texts not in known and different:
                cuts.append(at)
                known = [texts]
    ends = [*cuts[1:], len(region.rows)]
    return [
        Region(region.grid, region.rows[start:end], region.left, region.right)
        for start, end in zip(cuts, ends, strict=True)
    ]


def _first_data(region: Region, shapes: ColumnShapes) -> int:
    """The first row with a value of its column's class, unless it is the header and names years."""
    for at, word in enumerate(region.words):
        if shapes.conforming(word):
            titles = all(fill(above) * 2 <= region.width for above in region.words[:at])
            if not titles or not is_year_header(region.texts(at), word):
                return at
    return len(region.words)


def _typed(region: Region, shapes: ColumnShapes, merges: Merges, *, alone: bool) -> list[Table]:
    first = _first_data(region, shapes)
    rows = find_header(region, shapes, first, merges)
    start = rows[-1] + 1 if rows else first
    end = _end_of_data(region, shapes, start)
    names = [region.texts(at) for at in rows]
    body = [at for at in range(start, end) if not _repeats(region, at, names)]
    if not _is_table(region, shapes, rows, body, alone=alone):
        return []
    table = _build(region, rows, body, merges)
    _skip(table, region, set(range(start, end)).difference(body))
    return [table]


def _repeats(region: Region, at: int, header: list[list[str]]) -> bool:
    return TYPED.isdisjoint(region.words[at]) and region.texts(at) in header


def _end_of_data(region: Region, shapes: ColumnShapes, start: int) -> int:
    """Where the remarks below the data begin."""
    end = len(region.words)
    while end > start + 1 and _is_remark(region, shapes, end - 1, below=end < len(region.words)):
        end -= 1
    return end


def _is_remark(region: Region, shapes: ColumnShapes, at: int, *, below: bool) -> bool:
    """A row without any value of its column's class that reads like a remark.

    A lone text is one if it is long, begins like one, or stands on top of other remarks;
    otherwise it may be the label of a row whose values are all missing.
    """
    word = region.words[at]
    if shapes.conforming(word) or not TYPED.isdisjoint(word):
        return False
    if any(word[column] == TEXT for column in shapes.typed) and fill(word) * 2 <= region.width:
        return True
    if fill(word) > 1 or not set(word) <= {*WORDS, BLANK}:
        return False
    text = "".join(region.texts(at))
    return below or len(text) > SHORT or word[0] == BLANK or bool(_REMARK.match(text))


def _is_table(
    region: Region, shapes: ColumnShapes, header: list[int], body: list[int], *, alone: bool
) -> bool:
    """Whether it is more than a stray value, or a few labels each with a value of another kind."""
    if not body or (not header and len(body) < 2):  # noqa: PLR2004 - two rows make a table
        return False
    if region.width == 1:
        return bool(header) or alone or len(body) > MIN_WORDS
    if not alone and region.width == 2 and len(body) < MAX_PAIRS:  # noqa: PLR2004 - label and value
        fitting = sum(shapes.conforming(region.words[at]) > 0 for at in body)
        return fitting * 5 >= len(body) * 3
    return True


def _textual(region: Region, merges: Merges, *, alone: bool) -> list[Table]:
    """A table of words: a full row of short, different names above rows that are mostly filled."""
    if region.width == 1:
        return _word_list(region, merges)
    words = region.words
    full = [at for at in range(min(MIN_LIST, len(words))) if fill(words[at]) == region.width]
    if not full or not TYPED.isdisjoint(words[full[0]]):
        return []
    body = list(range(full[0] + 1, len(words)))
    density = sum(fill(words[at]) for at in body) / max(1, len(body) * region.width)
    texts = region.texts(full[0])
    repeated = {at for at in body if region.text(at, 0) == texts[0] and region.texts(at) == texts}
    rest = [at for at in body if at not in repeated]
    named = max(map(len, texts)) <= SHORT and _names_its_columns(region, texts, rest)
    if named and len(rest) >= (1 if alone else MIN_WORDS) and density >= (0.5 if alone else DENSE):
        table = _build(region, [full[0]], rest, merges)
        _skip(table, region, repeated)
        return [table]
    if alone and len(body) >= MIN_WORDS and density >= DENSE:
        return [_build(region, [], [full[0], *body], merges)]
    return []


def _names_its_columns(region: Region, texts: list[str], body: list[int]) -> bool:
    """Whether texts are names: most of them differ, and few come again in their own columns.

    What comes again may be a value; if two columns have one name, none may.
    """
    different = len(set(texts))
    below = [region.texts(at) for at in body[:LOOKED_AT]]
    again = sum(any(row[at] == text for row in below) for at, text in enumerate(texts))
    if different < len(texts):
        return again == 0 and different * 2 > len(texts)
    return again * 2 < len(texts)


def _skip(table: Table, region: Region, repeated: Iterable[int]) -> None:
    """Leave the rows in which the header comes again out of the data."""
    table.skip = [region.number(at) for at in sorted(repeated)]
    if table.skip:
        table.notes.append(f"The header is repeated in {_rows(table.skip)}; not counted as data.")


def _word_list(region: Region, merges: Merges) -> list[Table]:
    texts = [region.texts(at)[0] for at in range(len(region.words))]
    if len(texts) <= MIN_LIST or max(map(len, texts)) > SHORT or len(set(texts)) == 1:
        return []
    return [_build(region, [0], list(range(1, len(texts))), merges)]


def _build(region: Region, header: list[int], body: list[int], merges: Merges) -> Table:
    counts = [Counter(column) for column in zip(*(region.words[at] for at in body), strict=True)]
    names, notes = column_names(region, header, merges)
    rows = [region.number(at) for at in header]
    if len(rows) > 1:
        notes.insert(0, f"The column names were put together from {_rows(rows)}.")
    top, bottom = region.number(body[0]), region.number(body[-1])
    blank = bottom - top + 1 - (body[-1] - body[0] + 1)
    if blank:
        notes.append(
            f"{blank} blank {'row' if blank == 1 else 'rows'} within the table not counted."
        )
    return Table(
        region.left, region.right, rows, names, top, bottom, len(body), counts, notes=notes
    )


def _rows(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    return f"rows {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
