"""What speaks for a row being a total: its name, and how unlikely its numbers are by chance.

A name alone is no proof (a town may be called Total), and numbers alone are one only when they are
long enough: 3 is often 1 + 2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal

from documents.workbook.cells import Value

# "mean" also stands for medians and deviations, "figure" for counts and extremes.
Label = Literal["", "total", "mean", "figure"]

PRECISION: Final = 1e-15
_MAX_LABEL: Final = 120
_TOTAL: Final = re.compile(
    r"(?<!\w)(?:(?:grand|over|sub|teil|gesamt|zwischen|end|sous|eind|hoved|total)?-?"
    r"(?:totals?|totales|totaux|totaal|totale?|totalt|totais|total[ei]?s?)"
    r"|sum|summe|summa|suma|somme|soma|toplam|jumlah|ukupno|skupaj|spolu|celkem|razem"
    r"|(?:gesamt|zwischen|teil|end)?(?:summe|ergebnis)|gesamt|insgesamt|zusammen|subsuma|yhteens[aä]|yht"
    r"|[oö]sszesen|v[eé]g[oö]sszeg|i alt|kokku|kop[aā]|i[sš] viso|t[oổ]ng(?: c[oộ]ng)?"
    r"|итого?|всего|общий итог|всього|разом|підсумок|общо|укупно|σύνολο|المجموع|الإجمالي|إجمالي"
    r"|סה[\"״]כ|कुल|รวม)(?!\w)"
    r"|合計|総計|小計|集計|总计|合计|小计|汇总|總計|小計|합계|총계|소계|^[ΣσΣ∑]$",
    re.IGNORECASE,
)
# What also begins names, such as All Saints.
_ALL: Final = re.compile(
    r"(?:all|overall|alles?|kaikki|tous|toutes|todos|todas|tutti|tutte|vše|все|всі)\W*",
    re.IGNORECASE,
)
_FIGURE: Final = re.compile(
    r"(?<!\w)(?:max(?:imum)?|min(?:imum)?|count|anzahl|nombre|aantal)(?!\w)", re.IGNORECASE
)
_MEAN: Final = re.compile(
    r"(?<!\w)(?:averages?|avg|mean|median|std(?: ?dev)?"
    r"|durchschnitt|mittel(?:wert)?|moyenne|m[eé]diane|media|mediana|promedio|m[eé]dia|gemiddelde?"
    r"|[sś]rednia|pr[uů]m[eě]r|[aá]tlag|medel(?:v[aä]rde)?|gennemsnit|gjennomsnitt|keskiarvo"
    r"|ortalama|среднее|середнє)(?!\w)|平均|평균",
    re.IGNORECASE,
)


def label_of(values: Sequence[Value]) -> Label:
    """What a row calls itself by any of its texts; "" for a name of its own."""
    texts = [value for value in values if isinstance(value, str) and len(value) <= _MAX_LABEL]
    if any(_TOTAL.search(text.strip()) or _ALL.fullmatch(text.strip()) for text in texts):
        return "total"
    if any(_MEAN.search(text) for text in texts):
        return "mean"
    return "figure" if any(_FIGURE.search(text) for text in texts) else ""


def is_close(value: float, expected: float, *, rows: int = 0) -> bool:
    """Whether a stored total is that sum: but for binary residue and cents that were rounded off.

    With `rows`, for a row that is called a total: also but for what rounding so many numbers to
    whole ones can make of it, within half a percent.
    """
    cents = 0.005 if abs(expected) >= 1 else 1e-9
    if math.isclose(value, expected, rel_tol=1e-9, abs_tol=cents):
        return True
    room = min(rows * 0.5, abs(expected) * 0.005)
    return rows > 2 and abs(value - expected) <= room  # noqa: PLR2004 - rounding adds up from three


def evidence(values: Collection[float]) -> float:
    """How many bits speak against chance: the lengths of the sums, of equal ones once.

    The numbers of a row go together, so that those after the longest count half.
    """
    bits = sorted(_bits(value) for value in {abs(v) for v in values})
    return sum(bits[:-1]) / 2 + bits[-1] if bits else 0.0


def reduced(value: float, others: Collection[float | None]) -> float:
    """A number in units of what divides it and all others.

    Where all are hundreds, 300 is as often 100 + 200 as 3 is 1 + 2.
    """
    least = abs(value) * PRECISION  # what is smaller says nothing of a number of 15 digits
    fractions = [_fraction(number) for number in (value, *others) if number and abs(number) > least]
    unit = Fraction(0)
    for number in fractions:
        scale = math.lcm(unit.denominator, number.denominator)
        unit = Fraction(math.gcd(int(unit * scale), int(number * scale)), scale)
    return float(fractions[0] / unit) if unit else 0.0


def _fraction(value: float) -> Fraction:
    """A number as it is written, to the 15 digits that Excel keeps."""
    return Fraction(f"{abs(value):.15g}")


def _bits(value: float) -> float:
    """The length of a number in units of its last decimal place."""
    return math.log2(max(1.0, float(_fraction(value) / last_place(value))))


def last_place(value: float) -> Fraction:
    """The unit of a number's last decimal, no more than 1, as it is written."""
    exponent = Decimal(f"{value:.15g}").normalize().as_tuple().exponent
    return Fraction(1, 10 ** max(0, -int(exponent)))
