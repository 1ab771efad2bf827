"""Number formats: which cells are dates, durations or percentages.

Excel stores all three as plain numbers; only a cell's style tells them apart. Of the style sheet,
which openpyxl reads in full and refuses for faults that do not matter here, just the formats are
looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from defusedxml.ElementTree import fromstring
from openpyxl.styles.numbers import BUILTIN_FORMATS, is_date_format, is_timedelta_format
from openpyxl.xml.constants import SHEET_MAIN_NS

_FORMAT: Final = f"{{{SHEET_MAIN_NS}}}numFmt"
_STYLES: Final = f"{{{SHEET_MAIN_NS}}}cellXfs"
# Built-in dates of East Asian editions (ECMA-376, 18.8.30), which openpyxl does not list.
_EAST_ASIAN_DATES: Final = frozenset([*range(27, 37), *range(50, 59)])


@dataclass(frozen=True)
class NumberFormats:
    """The styles (a cell's `s`) that make a number something else."""

    dates: frozenset[int] = frozenset()
    durations: frozenset[int] = frozenset()
    percents: frozenset[int] = frozenset()

    @classmethod
    def read(cls, styles: bytes) -> NumberFormats:
        """Read the formats out of a style sheet part."""
        root = fromstring(styles, forbid_dtd=True)
        codes = dict(BUILTIN_FORMATS) | {
            int(element.get("numFmtId", "0")): element.get("formatCode", "")
            for element in root.iter(_FORMAT)
        }
        table = root.find(_STYLES)
        used = [int(style.get("numFmtId", "0")) for style in table] if table is not None else []
        formats = [
            (style, number, codes.get(number, "General")) for style, number in enumerate(used)
        ]
        return cls(
            dates=frozenset(
                style
                for style, number, code in formats
                if is_date_format(code) or (number in _EAST_ASIAN_DATES and number not in codes)
            ),
            durations=frozenset(style for style, _, code in formats if is_timedelta_format(code)),
            percents=frozenset(style for style, _, code in formats if "%" in code),
        )
