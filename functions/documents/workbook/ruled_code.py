"""The code that the rules order: shipped as source text and run in the sandbox, as a model's is.

It adds what a single pass cannot give: quartiles, values far from them, correlations.
"""

import statistics
from typing import Any

NUMBERS: list[int] = []  # the planner sets the offsets of the columns to look at

FEW = 10
FAR = 1.5  # times the distance of the quartiles, by Tukey's rule
STRONG = 0.6
SHOWN = 3


def run(data: dict[str, Any]) -> dict[str, Any]:
    """Return insights of the sample of a table."""
    chosen = [data["columns"][at] for at in NUMBERS]
    return {"insights": [found for found in (middle(chosen), together(chosen)) if found["rows"]]}


def middle(chosen: list[Any]) -> dict[str, Any]:
    """Half of the values lie between the quartiles."""
    rows = []
    for column in chosen:
        values = [value for value in column["values"] if number(value)]
        if len(values) >= FEW:
            low, median, high = statistics.quantiles(values, n=4, method="inclusive")
            reach = FAR * (high - low)
            far = sum(not low - reach <= value <= high + reach for value in values)
            rows.append([name(column), figure(low), figure(median), figure(high), far])
    heads = ["Column", "Lower quartile", "Median", "Upper quartile", "Values far outside"]
    return {"title": "The middle half of the values", "columns": heads, "rows": rows}


def together(chosen: list[Any]) -> dict[str, Any]:
    """Pairs of columns with a strong correlation, the strongest first."""
    rows: list[list[Any]] = []
    for at, one in enumerate(chosen):
        for other in chosen[at + 1 :]:
            both = zip(one["values"], other["values"], strict=True)
            pairs = [(a, b) for a, b in both if number(a) and number(b)]
            if len(pairs) < FEW or any(len(set(side)) == 1 for side in zip(*pairs, strict=True)):
                continue
            strength = statistics.correlation(*zip(*pairs, strict=True))
            if abs(strength) >= STRONG:
                rows.append([name(one), name(other), round(strength, 2)])
    rows.sort(key=lambda row: -abs(row[2]))
    heads = ["Column", "With", "Correlation"]
    return {"title": "Columns that move together", "columns": heads, "rows": rows[:SHOWN]}


def name(column: Any) -> str:
    """The column's name, cut to what an insight holds."""
    text: str = column["name"]
    return text[:80]


def number(value: Any) -> bool:
    """Whether a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def figure(value: float) -> float:
    """Without binary residue such as 0.30000000000000004."""
    return float(f"{value:.10g}")
