"""Drawing a chart as inline SVG: axes, labels, and a title and description for screen readers.

Colours come from the report's style sheet, so that a chart follows light, dark and print.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from html import escape
from typing import Final

from documents.page.figures import MEAN_DIGITS, compact, figure
from documents.workbook.models import ChartData, ChartPoint

WIDTH: Final = 720
GUTTER: Final = 190  # for the names of bars
ROW: Final = 26
BAR: Final = 16
PLOT_HEIGHT: Final = 220
LEFT: Final = 64
RIGHT: Final = 16
NAME_LENGTH: Final = 28
TICKS: Final = 5
MAX_DOTS: Final = 40  # more than that hide the line
FLAT: Final = 1e-12  # what differs by less of itself is equal but for binary residue


def draw(chart: ChartData, key: str) -> str:
    """The chart as an SVG element; `key` makes its ids unique within the page."""
    body, height = _bars(chart) if chart.kind == "bars" else _plot(chart)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{key}-t {key}-d">'
        f'<title id="{key}-t">{escape(chart.caption)}</title>'
        f'<desc id="{key}-d">{escape(_describe(chart))}</desc>{body}</svg>'
    )


def _describe(chart: ChartData) -> str:
    counted = chart.kind == "histogram"
    values = [point.value for point in chart.points[: -1 if counted else None]]
    kind = {"bars": "Bar chart", "line": "Line chart", "histogram": "Histogram"}[chart.kind]
    percent = chart.percent and not counted
    low, high = (figure(end(values), percent=percent) for end in (min, max))
    first, last = chart.points[0].label, chart.points[-1].label
    return (
        f"{kind} of {chart.value_name} by {chart.label_name}, {len(values)} values from {first} "
        f"to {last}. The least is {low}, the greatest {high}."
    )


def scale(values: Sequence[float], *, zero: bool) -> list[float]:
    """Round ticks, evenly spaced, that reach from below the least value to above the greatest."""
    low, high = min(values), max(values)
    if zero:
        low, high = min(0, low), max(0, high)
    if high - low <= FLAT * max(abs(low), abs(high)):
        low, high = (0.0, 1.0) if low == 0 else (min(0, low), max(0, high))
    step = _step((high - low) / TICKS)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [at * step for at in range(first, last + 1)]


def _step(width: float) -> float:
    power = 10.0 ** math.floor(math.log10(width))
    return next((power * factor for factor in (1, 2, 5) if power * factor >= width), power * 10)


def _text(x: float, y: float, text: str, *, anchor: str = "start", style: str = "tick") -> str:
    return (
        f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _bars(chart: ChartData) -> tuple[str, int]:
    """Lying bars, so that long names can be read."""
    ticks = scale([float(point.value) for point in chart.points], zero=True)
    low, span = ticks[0], ticks[-1] - ticks[0]
    room = WIDTH - GUTTER - 72
    bottom = len(chart.points) * ROW + 8

    def x(value: float) -> float:
        return GUTTER + (value - low) / span * room

    parts = [_line(x(tick), 4, x(tick), bottom, "grid") for tick in ticks]
    for tick in ticks:
        text = compact(tick, percent=chart.percent)
        parts.append(_text(x(tick), bottom + 16, text, anchor="middle"))
    for at, point in enumerate(chart.points):
        left, right = sorted((x(0), x(float(point.value))))
        parts.append(_bar(point, at * ROW + 8, left, right, percent=chart.percent))
    parts.append(_line(x(0), 4, x(0), bottom, "axis"))
    middle = GUTTER + room / 2
    parts.append(_text(middle, bottom + 36, chart.value_name, anchor="middle", style="label"))
    return "".join(parts), bottom + 44


def _bar(point: ChartPoint, y: float, left: float, right: float, *, percent: bool) -> str:
    """A bar between its name and its value."""
    name = point.label
    if len(name) > NAME_LENGTH:
        name = f"{name[: NAME_LENGTH - 1]}…"
    value = figure(point.value, percent=percent, digits=MEAN_DIGITS)
    base = y + BAR - 3.5
    return (
        _text(GUTTER - 8, base, name, anchor="end", style="name")
        + f'<rect class="bar" x="{left:.1f}" y="{y}" width="{max(1, right - left):.1f}" '
        f'height="{BAR}" rx="1.5"><title>{escape(point.label)}</title></rect>'
        + _text(right + 6, base, value, style="value")
    )


def _plot(chart: ChartData) -> tuple[str, int]:
    """Standing bars of a histogram, or a line along dates."""
    values = [float(point.value) for point in chart.points]
    counted = chart.kind == "histogram"
    ticks = scale(values, zero=counted or min(values) < max(values) / 3)
    if counted:
        ticks = [tick for tick in ticks if tick.is_integer()]
    low, span = ticks[0], ticks[-1] - ticks[0]
    top, bottom = 26, 26 + PLOT_HEIGHT
    room = WIDTH - LEFT - RIGHT

    def y(value: float) -> float:
        return bottom - (value - low) / span * PLOT_HEIGHT

    percent = chart.percent and not counted
    parts = [_text(0, 12, chart.value_name, style="label")]
    for tick in ticks:
        parts.append(_line(LEFT, y(tick), WIDTH - RIGHT, y(tick), "grid"))
        parts.append(_text(LEFT - 8, y(tick) + 4, compact(tick, percent=percent), anchor="end"))
    ys = [y(value) for value in values]
    parts += _columns(chart, ys, bottom, room) if counted else _path(chart, ys, bottom, room)
    parts.append(_line(LEFT, bottom, WIDTH - RIGHT, bottom, "axis"))
    parts.append(_line(LEFT, top, LEFT, bottom, "axis"))
    middle = LEFT + room / 2
    parts.append(_text(middle, bottom + 38, chart.label_name, anchor="middle", style="label"))
    return "".join(parts), bottom + 46


def _columns(chart: ChartData, ys: Sequence[float], bottom: int, room: float) -> list[str]:
    """Each column stands between its lower limit, which is its label, and the next one."""
    width = room / (len(ys) - 1)
    every = math.ceil(len(ys) / 12)
    parts = []
    for at, (point, top) in enumerate(zip(chart.points, ys, strict=True)):
        x = LEFT + at * width
        if at < len(ys) - 1:
            parts.append(
                f'<rect class="bar" x="{x + 0.75:.1f}" y="{top:.1f}" '
                f'width="{max(1, width - 1.5):.1f}" height="{bottom - top:.1f}">'
                f"<title>from {escape(point.label)}: {point.value:,}</title></rect>"
            )
        if at % every == 0:
            text = compact(float(point.label), percent=chart.percent)
            parts.append(_text(x, bottom + 18, text, anchor="middle"))
    return parts


def _path(chart: ChartData, ys: Sequence[float], bottom: int, room: float) -> list[str]:
    places = _places([point.label for point in chart.points])
    xs = [LEFT + place * room for place in places]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    parts = [f'<polyline class="line" points="{points}"/>']
    if len(xs) <= MAX_DOTS:
        parts += [
            f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(point.label)}: '
            f"{escape(figure(point.value, percent=chart.percent))}</title></circle>"
            for x, y, point in zip(xs, ys, chart.points, strict=True)
        ]
    free = 0.0
    for x, point in zip(xs, chart.points, strict=True):
        half = len(point.label) * 3.5 + 6
        if x - half >= free and x + half <= WIDTH:
            parts.append(_text(x, bottom + 18, point.label, anchor="middle"))
            free = x + half + 12
    return parts


def _places(labels: Sequence[str]) -> list[float]:
    """Where labels lie between 0 and 1: by their distance in time or number, else evenly."""
    if len(labels) == 1:
        return [0.5]
    try:
        values = [_position(label) for label in labels]
    except ValueError:
        values = []
    if not values or not math.isfinite(values[-1] - values[0]):
        values = [float(at) for at in range(len(labels))]
    low, span = values[0], (values[-1] - values[0]) or 1.0
    return [(value - low) / span for value in values]


def _position(label: str) -> float:
    """Days or the number itself; ValueError for other labels."""
    if "-" not in label[1:]:
        return float(label)
    moment = dt.datetime.fromisoformat(f"{label}-01" if len(label) == len("2024-01") else label)
    return moment.replace(tzinfo=dt.UTC).timestamp() / 86_400
