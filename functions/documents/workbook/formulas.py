"""What a formula says about its row: whether it adds up cells above its own.

Formulas are stored in English, with commas, whatever language the workbook was made in.
"""

from __future__ import annotations

import re
from typing import Final, Literal

Above = Literal["", "sum", "other"]

MAX_FORMULA: Final = 2_000  # signs that are looked at; Excel has up to 8,192

_CELL: Final = r"\$?([A-Z]{1,3})\$?([0-9]{1,7})"
_REFERENCE: Final = re.compile(f"{_CELL}(?::{_CELL})?")
_CALL: Final = re.compile(r"[A-Z][A-Z0-9.]*(?=\()")
_LEFT: Final = re.compile(r"[-+(), 0-9]*")
_PLUS: Final = re.compile(r"[-+(]*#(?:\+#)+\)*")

_SUMS: Final = frozenset(("SUM", "SUBTOTAL", "AGGREGATE"))
_OTHERS: Final = frozenset(
    ("AVERAGE", "COUNT", "COUNTA", "MAX", "MIN", "MEDIAN", "STDEV", "STDEV.S", "STDEV.P", "STDEVP")
)
_AROUND: Final = frozenset(("ROUND", "IFERROR", "ABS", "N"))
_CODE_OF_SUM: Final = re.compile(r"(?:SUBTOTAL|AGGREGATE)\( *(?:10)?9 *,")


def looks_above(formula: str, column: str, row: int) -> Above:
    """Whether a formula in this cell gives a sum of cells above it, or another figure of them.

    All that it refers to must lie in its own column, above its row: a sum over a row's other
    columns, or a balance, is data.
    """
    text = formula[:MAX_FORMULA].upper()
    if "(" not in text and "+" not in text:
        return ""
    first = _REFERENCE.search(text)
    if first is None or first[1] != column:
        return ""
    references = _REFERENCE.findall(text)
    own = all(
        left == (right or left) == column and int(top) <= int(bottom or top) < row
        for left, top, right, bottom in references
    )
    if not own or "!" in text:
        return ""
    plain = _REFERENCE.sub("#", text)
    calls = set(_CALL.findall(plain))
    if not calls:
        return "sum" if _PLUS.fullmatch(plain.lstrip("=")) else ""
    known = calls <= _SUMS | _OTHERS | _AROUND and calls & (_SUMS | _OTHERS)
    if not known or not _LEFT.fullmatch(_CALL.sub("", plain).replace("#", "")):
        return ""
    return "sum" if _sums(calls, text) else "other"


def _sums(calls: set[str], text: str) -> bool:
    """SUBTOTAL and AGGREGATE add up where their first argument is 9 or 109."""
    return not calls & _OTHERS and ("SUM" in calls or bool(_CODE_OF_SUM.search(text)))
