"""Naming the columns of a table from its header rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from openpyxl.utils import get_column_letter

from workflows.excel_report.regions import Region
from workflows.excel_report.workbook import Box

MAX_NAME: Final = 120


def column_names(
    region: Region, header: Sequence[int], merges: Sequence[Box]
) -> tuple[list[str], list[str]]:
    """Unique names for all columns, and notes on those that had to be made up."""
    rows = [_spread(region, at, merges) for at in header]
    names: list[str] = []
    unnamed: list[str] = []
    repeated: list[str] = []
    for at in range(region.width):
        name = _join([row[at] for row in rows])
        if not name:
            name = f"Column {get_column_letter(region.left + at)}"
            unnamed.append(name)
        elif name in names:
            repeated.append(name)
        names.append(_unique(name, names))
    return names, _notes(bool(header), unnamed, repeated)


def _spread(region: Region, at: int, merges: Sequence[Box]) -> list[str]:
    """A header row with the text of merged cells repeated over all their columns."""
    texts = region.texts(at)
    number = region.number(at)
    for box in merges:
        if box.top <= number <= box.bottom and region.left <= box.left <= region.right:
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


def _unique(name: str, taken: Sequence[str]) -> str:
    number = 2
    unique = name
    while unique in taken:
        unique = f"{name} ({number})"
        number += 1
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
