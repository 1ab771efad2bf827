"""Finding the header of a table and naming its columns from it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from documents.workbook.cells import BLANK, DATE, INTEGER, MARKER, NAMES, TEXT, TYPED
from documents.workbook.merges import Merges
from documents.workbook.regions import Region
from documents.workbook.shape import ColumnShapes
from documents.workbook.sheet_rows import column_letters

MAX_NAME: Final = 120
MAX_HEADER_ROWS: Final = 3
# Stray numbers above a header (a year in the title) are looked for this far down.
LOOK_BELOW: Final = 10

# Not (120), which is a number below zero.
_UNIT: Final = re.compile(r"[(\[](?=.*[^\W\d]|.*[%€$£¥]).*[)\]]|[%€$£¥]|[a-zµ°]{1,3}[²³]?")


def find_header(region: Region, shapes: ColumnShapes, first: int, merges: Merges) -> list[int]:
    """The rows that name the columns of a block whose data begin at `first`, if any.

    The fullest row above the data that can be a header, the topmost of equals, with the rows that
    belong to it; else a row a little below that point, when only stray values stand above it.
    """
    header = _header_above(region, shapes, first)
    if header is None:
        header = _header_below(region, shapes, first)
    return [] if header is None else _header_rows(region, shapes, header, merges)


def _header_above(region: Region, shapes: ColumnShapes, first: int) -> int | None:
    able = [
        at for at in range(first) if _can_name(region, at) and _covers(region, shapes, at, first)
    ]
    return max(able, key=lambda at: _naming(region, at), default=None)


def _naming(region: Region, at: int) -> int:
    """How many columns a row names: two that are called "N/A" rather lack their values."""
    word = region.words[at]
    if MARKER not in word:
        return fill(word)
    marked = [text for text, kind in zip(region.texts(at), word, strict=True) if kind == MARKER]
    return fill(word) - len(marked) + len(set(marked))


def _can_name(region: Region, at: int) -> bool:
    """Texts name columns, and so do dates and years; not a row of missing values."""
    word = region.words[at]
    if MARKER in word and not _names_by_markers(region, at):
        return False
    numbers = [text for text, kind in zip(region.texts(at), word, strict=True) if kind == INTEGER]
    years = all(text.isdecimal() and len(text) == 4 for text in numbers)  # noqa: PLR2004
    return years and {*NAMES, DATE, INTEGER, BLANK}.issuperset(word)


def _names_by_markers(region: Region, at: int) -> bool:
    """Whether texts such as "Unknown" or "-" are names here: none comes again in its column.

    In a row of data they stand for missing values, and mostly in more rows than one.
    """
    word, texts = region.words[at], region.texts(at)
    marked = [column for column, kind in enumerate(word) if kind == MARKER]
    names = [texts[column] for column in marked]
    if len(set(names)) < len(names) and TEXT not in word:
        return False
    below = [region.texts(row) for row in range(at + 1, min(at + 1 + LOOK_BELOW, len(region.rows)))]
    others = [row for row in below if row != texts]
    again = any(row[column] == texts[column] for row in others for column in marked)
    return not again or TEXT in {word[column] for column in range(1, len(word))}


def _covers(region: Region, shapes: ColumnShapes, at: int, first: int) -> bool:
    """Whether a row names at least half of the columns, and half of those of numbers or dates.

    The latter need no names if the row is the block's first and the data follow at once.
    """
    word = region.words[at]
    filled = fill(word)
    if at == 0 and first == 1 and filled > 1 and region.width > 2:  # noqa: PLR2004 - no title
        return filled * 2 >= region.width
    named = sum(word[column] != BLANK for column in shapes.typed)
    return named * 2 >= len(shapes.typed) and filled * 2 >= region.width


def _header_below(region: Region, shapes: ColumnShapes, first: int) -> int | None:
    """A header that stands below stray values, such as the year in a title."""
    for at in range(first + 1, min(first + LOOK_BELOW, len(region.words) - 1)):
        word = region.words[at]
        named = all(word[column] in NAMES for column in shapes.typed) and TYPED.isdisjoint(word)
        if named and _mostly_text(word, shapes):
            above = region.words[first:at]
            return at if all(fill(row) * 2 < fill(word) for row in above) else None
    return None


def _header_rows(region: Region, shapes: ColumnShapes, header: int, merges: Merges) -> list[int]:
    """The header with the rows that belong to it: groups or main names above, units below."""
    rows = [header]
    below = header + 1
    while below < len(region.words) and len(rows) < MAX_HEADER_ROWS:
        if not _is_subheader(region, shapes, below) and not _is_below_group(region, below, merges):
            break
        rows.append(below)
        below += 1
    above = header - 1
    while above >= 0 and len(rows) < MAX_HEADER_ROWS:
        word = region.words[above]
        full = is_full_header(word, shapes) and fill(word) >= fill(region.words[header])
        if not full and not _is_group_header(region, above, merges):
            break
        rows.insert(0, above)
        above -= 1
    return rows


def _is_subheader(region: Region, shapes: ColumnShapes, at: int) -> bool:
    word = region.words[at]
    if shapes.conforming(word) or not TYPED.isdisjoint(word):
        return False
    if is_full_header(word, shapes):
        return True
    texts = [text for text in region.texts(at) if text]
    named = [at for at in shapes.typed if word[at] == TEXT]
    return bool(named) and all(_UNIT.fullmatch(text) for text in texts)


def _is_below_group(region: Region, at: int, merges: Merges) -> bool:
    """Whether a row names the columns that a merged cell directly above it is a group of.

    Such a cell names none of them by itself. A label that is merged down into the row says the
    same; without one, "N/A" and the like are names as long as they differ and do not come again.
    """
    word, texts, number = region.words[at], region.texts(at), region.number(at)
    if not TYPED.isdisjoint(word) or region.number(at - 1) != number - 1:
        return False
    inside = [box for box in merges.around(number - 1) if region.left <= box.left <= region.right]
    groups = [
        range(box.left - region.left, min(box.right, region.right) - region.left + 1)
        for box in inside
        if box.right > box.left and box.bottom == number - 1
    ]
    if not groups or not all(word[column] in NAMES for group in groups for column in group):
        return False
    if any(box.left == box.right and box.bottom == number for box in inside):
        return True
    differ = all(len({texts[column] for column in group}) == len(group) for group in groups)
    return MARKER not in word or (differ and _names_by_markers(region, at))


def _is_group_header(region: Region, at: int, merges: Merges) -> bool:
    """Merged cells over several columns, with nothing directly above them."""
    number = region.number(at)
    alone = at == 0 or region.number(at - 1) < number - 1
    if not alone or not TYPED.isdisjoint(region.words[at]):
        return False
    return any(
        box.right > box.left and region.left <= box.left <= region.right
        for box in merges.around(number)
    )


def is_full_header(word: str, shapes: ColumnShapes) -> bool:
    """Text in all of at least two typed columns: no row of data looks like that."""
    typed = shapes.typed
    named = all(word[at] in (TEXT, MARKER) for at in typed)
    return len(typed) > 1 and TYPED.isdisjoint(word) and named and _mostly_text(word, shapes)


def _mostly_text(word: str, shapes: ColumnShapes) -> bool:
    """Whether more typed columns hold a text than a marker: else it is a row of missing values."""
    return sum(-1 if word[at] == MARKER else 1 for at in shapes.typed) > 0


def fill(word: str) -> int:
    """How many cells of a row are not blank."""
    return len(word) - word.count(BLANK)


def column_names(
    region: Region, header: Sequence[int], merges: Merges
) -> tuple[list[str], list[str]]:
    """Unique names for all columns, and notes on those that had to be made up."""
    rows = [_spread(region, at, merges) for at in header]
    names: list[str] = []
    times: Counter[str] = Counter()
    unnamed: list[str] = []
    repeated: list[str] = []
    for at in range(region.width):
        name = _join([row[at] for row in rows])
        if not name:
            name = f"Column {column_letters(region.left + at)}"
            unnamed.append(name)
        elif name in times and name not in repeated:
            repeated.append(name)
        names.append(_unique(name, times))
    return names, _notes(bool(header), unnamed, repeated)


def _spread(region: Region, at: int, merges: Merges) -> list[str]:
    """A header row with the text of merged cells repeated over all their columns."""
    texts = region.texts(at)
    number = region.number(at)
    for box in merges.around(number, above=MAX_HEADER_ROWS):
        if region.left <= box.left <= region.right:
            text = texts[box.left - region.left] if box.top == number else ""
            for column in range(box.left, min(box.right, region.right) + 1):
                texts[column - region.left] = text
    return texts


def _join(parts: Sequence[str]) -> str:
    name = ""
    for part in parts:
        if not part or part == name:
            continue
        bracketed = part[0] in "(["
        name = part if not name else f"{name} {part}" if bracketed else f"{name} / {part}"
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def _unique(name: str, times: Counter[str]) -> str:
    """The name, numbered when another column has it; `times` counts how often each was wanted."""
    unique = name
    while unique in times:
        times[name] += 1
        unique = f"{name} ({times[name]})"
    times[unique] += 1
    return unique


def _notes(has_header: bool, unnamed: Sequence[str], repeated: Sequence[str]) -> list[str]:  # noqa: FBT001
    if not has_header:
        return ["No header row was found; the columns are named by their letters."]
    notes = []
    if unnamed:
        notes.append(f"{_list(unnamed)} had no name and got the column's letter.")
    if repeated:
        notes.append(
            f"{_list(repeated)}: used by more than one column, numbered to tell them apart."
        )
    return notes


def _list(names: Sequence[str], limit: int = 5) -> str:
    shown = ", ".join(f"“{name}”" for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
