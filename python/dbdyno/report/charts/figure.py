"""What all charts share: size, colours, and turning a chart into SVG that stands inline in a page."""

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
"""Pixels. Fits a phone of 390 unscaled, so that the letters keep their size; wider screens set charts side by side."""

WIDE = 560
"""Pixels of the chart beside the text of the answer."""

# Told apart by lightness as well as by hue, and seen on white as on black.
COLOURS = [
    "#2b7fd4", "#e0702f", "#2a9d6f", "#b45fc4", "#c99a1f", "#d64570", "#1aa0a8", "#8a8f98", "#9c7a4d", "#6b6fd6",
]  # fmt: skip
SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left"]
# Letters of a legend's line, by width of the chart.
_LETTERS_PER_LINE = {WIDTH: 44, WIDE: 76}

_numbers = count()


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart as SVG, with its title and a note under it, both plain text; ``wide``: for screens with room for it."""

    title: str
    svg: str
    note: str = ""
    cells: list[str] = field(default_factory=list)
    wide: str = ""


def data(rows: Sequence[dict[str, Any]]) -> alt.InlineData:
    """Return rows as the data of a chart, without a data frame."""
    return alt.InlineData(values=list(rows))


def colour(
    names: Sequence[str],
    *,
    title: str | None = None,
    field_name: str = "series",
    legend: bool = True,
    wide: bool = False,
) -> alt.Color:
    """Return the colour of a named series; with ``legend``, explained under the chart."""
    width = WIDE if wide else WIDTH
    longest = max((len(name) for name in names), default=1) + 4
    shown = alt.Legend(
        title=title,
        orient="bottom",
        columns=max(1, min(len(names), _LETTERS_PER_LINE[width] // longest)),
        labelLimit=width - 40,
        symbolStrokeWidth=2,
        # As seen as lines and points are, also where the first of what it explains is an area.
        symbolOpacity=1,
    )
    ranged = [COLOURS[index % len(COLOURS)] for index in range(len(names))]
    return alt.Color(
        f"{field_name}:N",
        scale=alt.Scale(domain=list(names), range=ranged),
        legend=shown if legend and len(names) > 1 else None,
    )


def decades(low: float, high: float, most: int = 5) -> list[float]:
    """Return powers of ten from the one below ``low`` to the one above ``high`` (both above 0), at most about ``most``.

    A logarithmic axis with a line for every multiple of them is more line than picture.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, math.ceil((last - first) / most))
    return [10.0**power for power in range(first, last + 1, step)]


# What Vega says of each part to those who cannot see it, in words that are its own.
_PARTS = re.compile(r' (?:role="graphics-[a-z]+"|aria-roledescription="[a-z -]+")')


# What stands in the place of a chart that the library failed on.
_MISSING = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 24" width="{WIDTH}" height="24">'
    '<text x="0" y="16" font-family="sans-serif" font-size="11">This chart could not be drawn.</text></svg>'
)


def draw(chart: Any, label: str) -> str:
    """Turn a chart into an SVG element with ``label`` for those who cannot see it."""
    configured = (
        chart.configure(background="transparent", font="sans-serif", aria=False)
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=11, titleFontSize=11, titleFontWeight="normal", gridOpacity=0.5, labelLimit=150)
        .configure_legend(labelFontSize=11, titleFontSize=11, titleFontWeight="normal", rowPadding=3, columnPadding=12)
        .configure_title(fontSize=12, anchor="start", fontWeight="normal")
    )
    svg = vegalite_to_svg(_printable(configured.to_dict())) or _MISSING
    # The whole is one picture with one label: its parts are none.
    svg = _PARTS.sub("", svg)
    # All charts of a page share its ids: each gets its own.
    prefix = f"c{next(_numbers)}-"
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', svg)
    svg = svg.replace("url(#", f"url(#{prefix}")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{_attribute(label)}" ', 1)


def _printable(value: Any) -> Any:
    """Return a chart with all its strings printable: SVG is XML, which excludes most control characters."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): _printable(each) for key, each in value.items()}
    return [_printable(each) for each in value] if isinstance(value, list | tuple) else value


def fitted(chart: Any, height: int, *, wide: bool = False) -> Any:
    """Give a chart without panels the common width, or that beside the answer, axes included."""
    width = WIDE if wide else WIDTH
    return chart.properties(width=width, height=height, autosize=alt.AutoSizeParams(type="fit", contains="padding"))


def _attribute(text: str) -> str:
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return text
