"""Merged cells, found by their rows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from documents.workbook.sheet_rows import Box


class Merges:
    """The merged ranges of a sheet, however many they are."""

    def __init__(self, boxes: Iterable[Box] = ()) -> None:
        self._boxes = sorted(boxes, key=lambda box: (box.top, box.left))
        self._tops = [box.top for box in self._boxes]

    def around(self, row: int, above: int = 0) -> list[Box]:
        """Those that cover a row and begin in it, or up to so many rows above."""
        start, end = bisect_left(self._tops, row - above), bisect_left(self._tops, row + 1)
        return [box for box in self._boxes[start:end] if box.bottom >= row]
