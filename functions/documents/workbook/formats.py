"""Number formats: which cells are dates, times of day, durations or percentages.

Excel stores all of them as plain numbers; only a cell's style tells them apart. Of the style sheet
just the formats of cells are looked at: those of conditional formats (`dxfs`) have ids of their
own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Final

from documents.office.markup import UnreadableMarkup, no_tick, tags

MAX_STYLES: Final = 65_536  # Excel has up to 65,490 combinations of cell formats
MAX_CODE: Final = 1_000  # signs of a format that are looked at; Excel has up to 255

DATE: Final = "date"
TIME: Final = "time"
DURATION: Final = "duration"
PERCENT: Final = "percent"

# Built-in formats (ECMA-376, 18.8.30); 27 to 36 and 50 to 58 are dates of East Asian editions.
_BUILT_IN: Final = {
    **dict.fromkeys((9, 10), PERCENT),
    **dict.fromkeys((*range(14, 18), 22, *range(27, 37), *range(50, 59)), DATE),
    **dict.fromkeys((*range(18, 22), 45, 47), TIME),
    46: DURATION,
}


@dataclass(frozen=True)
class NumberFormats:
    """What each style (a cell's `s`) makes of a number; styles of plain numbers are not in it."""

    kinds: dict[int, str] = field(default_factory=dict)

    @classmethod
    def read(cls, source: IO[bytes], tick: Callable[[], None] = no_tick) -> NumberFormats:
        """Read the formats out of a style sheet part; ValueError for one that is damaged."""
        own: dict[int, str] = {}
        used: list[int] = []
        for tag in tags(source, "styleSheet", ["numFmt", "xf"], tick):
            if tag.path == ("styleSheet", "numFmts", "numFmt"):
                code = tag.attributes.get("formatCode", "")[:MAX_CODE]
                own[int(tag.attributes.get("numFmtId", "0"))] = kind_of_format(code)
            elif tag.path == ("styleSheet", "cellXfs", "xf"):
                used.append(int(tag.attributes.get("numFmtId", "0")))
            if len(used) > MAX_STYLES or len(own) > MAX_STYLES:
                raise UnreadableMarkup(f"more than {MAX_STYLES:,} cell formats")
        known = _BUILT_IN | own
        return cls({style: kind for style, n in enumerate(used) if (kind := known.get(n))})

    def is_percent(self, style: int) -> bool:
        """Whether cells of this style are shown as percentages."""
        return self.kinds.get(style) == PERCENT


def kind_of_format(code: str) -> str:
    """What a format code makes of a positive number; "" for a plain one.

    In one pass over the code (ECMA-376, 18.8.31): what is quoted or escaped says nothing, and only
    the section of positive numbers, the first, is looked at.
    """
    letters: list[str] = []
    for piece in _pieces(code):
        if piece.startswith("["):
            inner = piece[1:-1].lower()
            if inner and set(inner) <= {inner[0]} and inner[0] in "hms":
                return DURATION
        else:
            letters.append(piece)
    plain = "".join(letters).lower()
    if "general" in plain:
        return ""
    times = any(sign in plain for sign in "hs")
    if any(sign in plain for sign in "yd") or ("m" in plain and not times):
        return DATE
    if times:
        return TIME
    return PERCENT if "%" in plain else ""


def _pieces(code: str) -> Iterator[str]:
    """The signs of the first section that are no literals, and its brackets as a whole."""
    signs = iter(code)
    for sign in signs:
        if sign == ";":
            return
        if sign == '"':
            for quoted in signs:
                if quoted == '"':
                    break
        elif sign in "\\_*":
            next(signs, "")
        elif sign == "[":
            inside = []
            for bracketed in signs:
                if bracketed == "]":
                    break
                inside.append(bracketed)
            yield f"[{''.join(inside)}]"
        else:
            yield sign
