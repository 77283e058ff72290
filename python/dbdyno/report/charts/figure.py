"""Sizes and colors of all charts, and their conversion to SVG for inclusion in a page."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import altair as alt

from dbdyno.base.text import printable
from dbdyno.report.charts.renderer import vegalite_to_svg

WIDTH = 348
"""In pixels. Fits phones with a width of 390 without scaling; wider screens show charts side by side."""

WIDE = 560
"""Width of the chart beside the answer, in pixels."""

# Colors that differ in lightness and hue, for light and dark backgrounds.
COLOURS = [
    "#2b7fd4", "#e0702f", "#2a9d6f", "#b45fc4", "#c99a1f", "#d64570", "#1aa0a8", "#8a8f98", "#9c7a4d", "#6b6fd6",
]  # fmt: skip
SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left"]
# Maximum number of letters per legend line, by width of the chart.
_LETTERS_PER_LINE = {WIDTH: 44, WIDE: 76}

_numbers = count()


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart as SVG, with title and note as plain text. ``wide``: another version for wide screens."""

    title: str
    svg: str
    note: str = ""
    cells: list[str] = field(default_factory=list)
    wide: str = ""


def data(rows: Sequence[dict[str, Any]]) -> alt.InlineData:
    """Return rows as chart data, without a data frame."""
    return alt.InlineData(values=list(rows))


def colour(
    names: Sequence[str],
    *,
    title: str | None = None,
    field_name: str = "series",
    legend: bool = True,
    wide: bool = False,
) -> alt.Color:
    """Return the color encoding of named series. With ``legend``, add a legend under the chart."""
    width = WIDE if wide else WIDTH
    longest = max((len(name) for name in names), default=1) + 4
    shown = alt.Legend(
        title=title,
        orient="bottom",
        columns=max(1, min(len(names), _LETTERS_PER_LINE[width] // longest)),
        labelLimit=width - 40,
        symbolStrokeWidth=2,
        # Opaque even if the first mark is a translucent area.
        symbolOpacity=1,
    )
    ranged = [COLOURS[index % len(COLOURS)] for index in range(len(names))]
    return alt.Color(
        f"{field_name}:N",
        scale=alt.Scale(domain=list(names), range=ranged),
        legend=shown if legend and len(names) > 1 else None,
    )


def decades(low: float, high: float, most: int = 5) -> list[float]:
    """Return the powers of ten that enclose ``low`` and ``high`` (both above 0), about ``most`` at most.

    As grid lines they are enough; one line for every multiple would hide the data.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, math.ceil((last - first) / most))
    return [10.0**power for power in range(first, last + 1, step)]


# Accessibility attributes that Vega adds to each part of a chart.
_PARTS = re.compile(r' (?:role="graphics-[a-z]+"|aria-roledescription="[a-z -]+")')


# Shown instead of a chart that the library failed to draw.
_MISSING = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 24" width="{WIDTH}" height="24">'
    '<text x="0" y="16" font-family="sans-serif" font-size="11">This chart could not be drawn.</text></svg>'
)


def draw(chart: Any, label: str) -> str:
    """Convert a chart to an SVG element. ``label``: the text for screen readers."""
    configured = (
        chart.configure(background="transparent", font="sans-serif", aria=False)
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=11, titleFontSize=11, titleFontWeight="normal", gridOpacity=0.5, labelLimit=150)
        .configure_legend(labelFontSize=11, titleFontSize=11, titleFontWeight="normal", rowPadding=3, columnPadding=12)
        .configure_title(fontSize=12, anchor="start", fontWeight="normal")
    )
    svg = vegalite_to_svg(_printable(configured.to_dict())) or _MISSING
    # Screen readers should read only the label of the whole chart, not its parts.
    svg = _PARTS.sub("", svg)
    # Ids must be unique within the page.
    prefix = f"c{next(_numbers)}-"
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', svg)
    svg = svg.replace("url(#", f"url(#{prefix}")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{_attribute(label)}" ', 1)


def _printable(value: Any) -> Any:
    """Return a chart without control characters in its strings, because XML excludes most of them."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): _printable(item) for key, item in value.items()}
    return [_printable(item) for item in value] if isinstance(value, list | tuple) else value


def fitted(chart: Any, height: int, *, wide: bool = False) -> Any:
    """Set the width of a chart without panels, including axes: the common width or the width beside the answer."""
    width = WIDE if wide else WIDTH
    return chart.properties(width=width, height=height, autosize=alt.AutoSizeParams(type="fit", contains="padding"))


def _attribute(text: str) -> str:
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return text
