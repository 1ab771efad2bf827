"""Cutting a sheet along its blank rows and columns into blocks of cells that may be tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final

from documents.workbook.cells import BLANK, DIGITS, INTEGER, KINDS, NAMES, TYPED, WORDS, as_text
from documents.workbook.grid import Grid
from documents.workbook.shape import ColumnShapes

# Blank rows that may lie within a table, as between its groups.
MAX_GAP: Final = 2
MAX_DEPTH: Final = 4
SAMPLED: Final = 3


YEARS: Final = (INTEGER, DIGITS)
_BITS: Final = {ord(kind): "1" for kind in KINDS} | {ord(BLANK): "0"}


@dataclass(frozen=True)
class Region:
    """Some rows (indexes into the grid) of the columns `left` to `right`."""

    grid: Grid
    rows: tuple[int, ...]
    left: int
    right: int

    @cached_property
    def words(self) -> list[str]:
        """The kinds of each row, cut to the columns and padded to their number."""
        return [_cut(self.grid.kinds[row], self.left, self.right) for row in self.rows]

    @property
    def width(self) -> int:
        """How many columns."""
        return self.right - self.left + 1

    def number(self, at: int) -> int:
        """The row number of the row at a position of this region."""
        return self.grid.numbers[self.rows[at]]

    def text(self, at: int, column: int) -> str:
        """One kept value of a row, as text."""
        return as_text(self.grid.value(self.number(at), self.left + column))

    def texts(self, at: int) -> list[str]:
        """The row's kept values, as text; blanks are empty."""
        number = self.number(at)
        return [as_text(self.grid.value(number, c)) for c in range(self.left, self.right + 1)]


@lru_cache(maxsize=256)
def _cut(kinds: str, left: int, right: int) -> str:
    return kinds[left - 1 : right].ljust(right - left + 1, BLANK)


@lru_cache(maxsize=256)
def _mask(word: str) -> int:
    """One bit a column, set where the cell is not blank."""
    return int(word[::-1].translate(_BITS), 2) if word else 0


def find_regions(grid: Grid) -> list[Region]:
    """The blocks of a sheet from top to bottom, then from left to right."""
    if not grid.kinds:
        return []
    whole = Region(grid, tuple(range(len(grid.kinds))), 1, max(len(kinds) for kinds in grid.kinds))
    found = list(_split(whole, 0))
    return sorted(found, key=lambda region: (region.number(0), region.left))


def _split(region: Region, depth: int) -> Iterator[Region]:
    for part in _reunite(list(_by_columns(region))):
        blocks = _rejoin(list(_by_rows(part)))
        if (len(blocks) == 1 and part.width == region.width) or depth == MAX_DEPTH:
            yield from blocks
        else:
            for block in blocks:
                yield from _split(block, depth + 1)


def _by_columns(region: Region) -> Iterator[Region]:
    """Cut at columns that are blank in all rows."""
    used = 0
    for word in set(region.words):
        used |= _mask(word)
    at = 0
    while used >> at:
        if used >> at & 1:
            end = at
            while used >> (end + 1) & 1:
                end += 1
            part = Region(region.grid, region.rows, region.left + at, region.left + end)
            rows = tuple(
                row for row, word in zip(part.rows, part.words, strict=True) if _mask(word)
            )
            yield Region(region.grid, rows, part.left, part.right)
            at = end
        at += 1


def _reunite(parts: list[Region]) -> list[Region]:
    """Join labels to the values that one blank column parts them from, if their rows agree."""
    joined = parts[:1]
    for part in parts[1:]:
        before = joined[-1]
        close = part.left - before.right == 2 and part.rows == before.rows  # noqa: PLR2004
        if close and len(part.rows) > 1 and not (_is_typed(before) and _is_typed(part)):
            joined[-1] = Region(part.grid, part.rows, before.left, part.right)
        else:
            joined.append(part)
    return joined


def _is_typed(region: Region) -> bool:
    return bool(ColumnShapes.of(region.words).typed)


def _by_rows(region: Region) -> Iterator[Region]:
    """Cut at blank rows."""
    numbers = region.grid.numbers
    start = 0
    for at, (before, after) in enumerate(pairwise(region.rows), start=1):
        if numbers[after] != numbers[before] + 1:
            yield Region(region.grid, region.rows[start:at], region.left, region.right)
            start = at
    yield Region(region.grid, region.rows[start:], region.left, region.right)


def _rejoin(blocks: list[Region]) -> list[Region]:
    """Join blocks that a blank row parted although they are one table."""
    groups = [[blocks[0]]]
    shapes: ColumnShapes | None = None  # of the group's first blocks: enough, and not quadratic
    for block in blocks[1:]:
        group = groups[-1]
        gap = block.number(0) - group[-1].number(len(group[-1].rows) - 1) - 1
        if shapes is None:
            shapes = ColumnShapes.of([word for part in group for word in part.words])
        if gap <= MAX_GAP and _belongs(group, shapes, block):
            group.append(block)
            shapes = shapes if len(group) > SAMPLED else None
        else:
            groups.append([block])
            shapes = None
    return [_joined(group) for group in groups]


def _joined(group: list[Region]) -> Region:
    first = group[0]
    rows = tuple(row for part in group for row in part.rows)
    return Region(first.grid, rows, first.left, first.right)


def _belongs(group: list[Region], shapes: ColumnShapes, block: Region) -> bool:
    """Whether a block goes on with those above: no header, the same kinds of columns."""
    first = block.words[0]
    if TYPED.isdisjoint(first) or is_year_header(block.texts(0), first):
        return False
    if len(group) == 1 and len(group[0].rows) == 1:
        # A header that stands apart from its data.
        header = group[0].words[0]
        filled = sum(kind in NAMES for kind in header)
        return filled == group[0].width > 1 and TYPED.isdisjoint(header)
    typed = [at for at, kind in enumerate(first) if kind in TYPED]
    fits = sum(shapes.conforms(at, first[at]) for at in typed)
    return bool(shapes.typed) and fits == len(typed)


def is_year_header(texts: list[str], word: str) -> bool:
    """Whether a row of whole numbers names years (2019, 2020, 2021) rather than holding data."""
    years = [text for text, kind in zip(texts, word, strict=True) if kind in YEARS]
    rest = set(word) - {*YEARS, BLANK}
    if len(years) < 2 or not rest <= WORDS:  # noqa: PLR2004 - one number is no sequence
        return False
    if not all(year.isdecimal() for year in years):
        return False
    numbers = [int(year) for year in years]
    steps = {after - before for before, after in pairwise(numbers)}
    return all(1900 <= number <= 2100 for number in numbers) and len(steps) == 1 and 0 not in steps  # noqa: PLR2004
