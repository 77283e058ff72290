"""Chart of instructions over builds, relative to a base build: total, parts, and object size."""

from pathlib import Path
from typing import Any

import altair as alt

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.cpu.document import CpuDocument, base_of, by_version, short_names
from dbdyno.report.charts.figure import COLOURS, Figure, colour, data, draw
from dbdyno.report.charts.renderer import svg_to_png

_WIDTH, _HEIGHT = 720, 260
_COLUMNS = 3
ALL = "all parts"
SIZE = "object size (text)"


def series(document: CpuDocument, base: dict[str, Any]) -> dict[str, list[tuple[str, float]]]:
    """Return the builds' percentages of the base for each series: all parts, each part, and the object size."""
    found: dict[str, list[tuple[str, float]]] = {ALL: []}
    builds = by_version(document["builds"])
    for label, build in zip(_labels(builds), builds, strict=True):
        found[ALL].append((label, 100 * build["i_refs"] / base["i_refs"]))
        bases = {part["name"]: part["i_refs"] for part in base["parts"]}
        if len(bases) > 1:
            for part in build["parts"]:
                if bases.get(part["name"]):
                    found.setdefault(part["name"], []).append((label, 100 * part["i_refs"] / bases[part["name"]]))
        size = 100 * build["object_text_bytes"] / base["object_text_bytes"]
        found.setdefault(SIZE, []).append((label, size))
    return found


def chart(document: CpuDocument, named: str | None = None) -> Figure:
    """Draw all parts and the object size in one panel, and each part in a panel below.

    Raises InputError if the named base build doesn't exist.
    """
    base = base_of(document, named)
    found = series(document, base)
    rows = [{"build": build, "percent": percent, "series": name} for name in found for build, percent in found[name]]
    labels = _labels(by_version(document["builds"]))
    x = alt.X("build:O", sort=labels, axis=alt.Axis(title=None, labelAngle=-45, labelLimit=120))
    y = alt.Y("percent:Q", scale=alt.Scale(zero=False), axis=alt.Axis(title=f"% of {base['name']}", tickCount=5))
    whole = [row for row in rows if row["series"] in (ALL, SIZE)]
    drawn: Any = _lines(alt.Chart(data(whole)).encode(x=x, y=y, color=colour([ALL, SIZE])))
    title = f"Instructions of {document['work']}, {base['name']} = 100 %"
    # Name the compilers in the chart, so that a shared file is self-contained.
    compilers = ", ".join(dict.fromkeys(f"{build['compiler']} {build['cflags']}" for build in document["builds"]))
    heading = alt.TitleParams(title, subtitle=compilers, anchor="start", fontSize=13, subtitleFontSize=10)
    drawn = drawn.properties(width=_WIDTH, height=_HEIGHT, title=heading)
    parts = [name for name in found if name not in (ALL, SIZE)]
    short = short_names(parts)
    if parts:
        panels = [_panel(rows, name, short[name], labels) for name in parts]
        lines = [alt.hconcat(*panels[first : first + _COLUMNS]) for first in range(0, len(panels), _COLUMNS)]
        drawn = alt.vconcat(drawn, *lines)
    note = "each part has a separate axis; the object size covers code and constants"
    return Figure(title, draw(drawn.resolve_scale(y="independent", x="independent") if parts else drawn, title), note)


def _panel(rows: list[dict[str, Any]], name: str, title: str, labels: list[str]) -> Any:
    x = alt.X("build:O", sort=labels, axis=alt.Axis(title=None, labelAngle=-45, labelLimit=120, labelFontSize=8))
    y = alt.Y("percent:Q", scale=alt.Scale(zero=False), axis=alt.Axis(title=None, tickCount=4))
    own = [row for row in rows if row["series"] == name]
    panel = _lines(alt.Chart(data(own)).encode(x=x, y=y), color=COLOURS[0])
    return panel.properties(width=_WIDTH // _COLUMNS - 60, height=_HEIGHT // 3, title=title)


def _lines(drawn: Any, **marks: Any) -> Any:
    """Draw points connected by lines, and a dashed line at 100 %."""
    rule = alt.Chart(data([{"at": 100}])).mark_rule(strokeDash=[3, 3], color=COLOURS[7]).encode(y="at:Q")
    return alt.layer(rule, drawn.mark_line(strokeWidth=1.5, **marks), drawn.mark_circle(size=24, opacity=1, **marks))


def check_suffix(path: Path) -> None:
    """Raise InputError if a chart can't be written in the format of the file's suffix."""
    if path.suffix not in (".svg", ".png"):
        raise InputError("--chart", f"`{path}` is neither SVG nor PNG", "use the suffix `.svg` or `.png`")


def write_chart(figure: Figure, path: Path) -> None:
    """Write a chart as SVG or PNG, by the file's suffix. Raises InputError for other suffixes."""
    check_suffix(path)
    # A separate file needs its own background.
    svg = figure.svg.replace("<svg ", '<svg style="background:#fff" ', 1)
    if path.suffix == ".svg":
        path.write_text(svg, encoding="utf-8")
    else:
        png = svg_to_png(svg)
        if png is None:
            raise SystemFailed(f"{path}: the chart library cannot write PNG here; use the suffix `.svg`")
        path.write_bytes(png)


def _labels(builds: list[dict[str, Any]]) -> list[str]:
    """Name builds by their version, and by their options if versions are not unique."""
    versions = [build["version"] for build in builds]
    if len(set(versions)) == len(versions):
        return versions
    names = [build["name"] for build in builds]
    return [name if names.count(name) == 1 else f"{name} #{index + 1}" for index, name in enumerate(names)]
