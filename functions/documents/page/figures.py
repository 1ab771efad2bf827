"""How numbers are printed for people. The summary keeps them in full."""

from __future__ import annotations

from typing import Final

DIGITS: Final = 10
# Binary residue such as 0.30000000000000004 has no place in print; ten digits never show it.
MEAN_DIGITS: Final = 6
_SUFFIXES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))


def figure(value: float | str | None, *, percent: bool = False, digits: int = DIGITS) -> str:
    """A value with thousands separated; text as it is; a dash where there is none."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if percent:
        return f"{value * 100:,.2f}".rstrip("0").rstrip(".") + "%"
    if isinstance(value, int):
        return f"{value:,}"
    return _plain(value, digits)


def _plain(value: float, digits: int) -> str:
    """So many significant digits, but all of the whole part; exponents only beyond 10¹⁵."""
    if value and not 1e-6 <= abs(value) < 1e15:  # noqa: PLR2004 - readable without an exponent
        return f"{value:.{digits}g}"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    text = f"{value:,.{max(0, digits - whole)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def compact(value: float, *, percent: bool = False) -> str:
    """A value as short as an axis needs it: 12k, 3.5M, 40%."""
    if percent:
        return f"{value * 100:.4g}%"
    for size, suffix in _SUFFIXES:
        if abs(value) >= size:
            unit = 1e3 if suffix == "k" else size
            return f"{value / unit:.4g}{suffix}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"  # noqa: PLR2004
