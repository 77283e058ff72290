"""A count, or the difference of two, as one HTML file without scripts that works offline."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape as escape_text
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup, escape
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Number, String, _TokenType, is_token_subtype

from dbdyno.base.text import shortened
from dbdyno.cpu.chart import chart
from dbdyno.cpu.costs import EngineCosts, annotate
from dbdyno.cpu.diff import FunctionChange
from dbdyno.cpu.document import CpuDocument, differing_results, kinds_of, part_of, short_names
from dbdyno.cpu.flame_graph import flame_graph
from dbdyno.cpu.show import COUNTER_ROWS, SIZE_ROWS, format_rate
from dbdyno.cpu.source import SourceMap
from dbdyno.report.export import write_text
from dbdyno.report.page import render_page

# The class of a token is the first entry that contains it. Pygments' own formatter also makes elements for names and
# brackets, so that the page would be several times as long.
_CLASSES = ((Comment.Preproc, "p"), (Comment, "c"), (String, "s"), (Keyword, "k"), (Number, "n"))


def highlighted(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines of C as HTML. Classes: c comment, s string, k keyword, n number, p directive."""
    lines = list(lines)
    if not lines:
        return
    text = "\n".join(lines)
    tokens = ((_class(kind), token) for _, kind, token in get_lexer_by_name("c").get_tokens_unprocessed(text))
    html = ""
    for name, group in groupby(tokens, key=lambda token: token[0]):
        first, *rest = "".join(token for _, token in group).split("\n")
        html += _element(name, first)
        for line in rest:
            yield html
            html = _element(name, line)
    yield html


# Cached: there are about twenty kinds and a hundred thousand tokens.
@cache
def _class(kind: _TokenType) -> str | None:
    return next((name for of, name in _CLASSES if is_token_subtype(kind, of)), None)


def _element(name: str | None, text: str) -> str:
    html = escape_text(text, quote=False)
    return f'<i class="{name}">{html}</i>' if name and text else html


# Functions below this share of the total are folded.
_COLD = 0.001

# Minimum share of a line to display, in percent.
_MIN_PERCENT = 0.005

# Maximum number of kinds of statements to list.
_KINDS = 60

# Maximum number of functions in the summary.
_LISTED = 100


class AnnotatedBuild(NamedTuple):
    """The input of a build's page. ``stacks``: folded, see :func:`dbdyno.cpu.flame_graph.folded_stacks`."""

    source: SourceMap
    costs: EngineCosts
    stacks: list[str]


class Piece(NamedTuple):
    """A section of the source: a function with a cost, or the lines between two of them."""

    anchor: str
    head: str
    body: Markup
    open: bool


def write_count(document: CpuDocument, sources: Sequence[AnnotatedBuild], base: str | None, path: Path) -> None:
    """Write a count with the annotated source of each build in ``sources``. Raises InputError."""
    builds = document["builds"]
    annotated = [
        (
            build["name"],
            index,
            list(_pieces(annotated_build.source, annotated_build.costs, index)),
            _summary(build, index),
            _flame(build, index, annotated_build.stacks),
        )
        for index, (build, annotated_build) in enumerate(zip(builds, sources, strict=False))
    ]
    differing = [(build["name"], differing_results(builds[0], build)) for build in builds[1:]]
    write_text(
        path,
        _render(
            "cpu.html.j2",
            document=document,
            counters=[
                (label, [_cell(build[key], is_rate) for build in builds]) for label, key, is_rate in COUNTER_ROWS
            ],
            shares=[
                (label, [f"{build[key]['i_refs']:,}" for build in builds])
                for label, key in (("engine's I refs", "engine"), ("harness's I refs", "harness"))
            ],
            sizes=[(label, [f"{build[key]:,}" for build in builds]) for label, key in SIZE_ROWS],
            parts=_parts(builds),
            groups=_groups(builds),
            chart=chart(document, base) if len(builds) > 1 else None,
            differing=differing,
            annotated=annotated,
        ),
    )


def write_diff(names: tuple[str, str], totals: tuple[int, int], changes: Sequence[FunctionChange], path: Path) -> None:
    """Write the differing functions with their aligned lines. Raises InputError."""
    before, after = totals
    change = after - before
    rows = []
    for index, function_change in enumerate(changes):
        html = highlighted(line.text for line in function_change.lines)
        lines = [
            (line, Markup(text))  # noqa: S704 - `coloured` escapes what it is given
            for line, text in zip(function_change.lines, html, strict=True)
        ]
        rows.append((f"f{index}", function_change, lines, 100 * function_change.difference / before if before else 0.0))
    write_text(
        path,
        _render("diff.html.j2", names=names, before=before, after=after, change=change, rows=rows, cold=_COLD * 100),
    )


def _render(template: str, **context: Any) -> str:
    return render_page(template, context, "dbdyno.cpu") + "\n"


def _pieces(source: SourceMap, costs: EngineCosts, build: int) -> Iterator[Piece]:
    """Split the source into functions with a cost and the lines between them."""
    at = 1
    for annotated in annotate(source, costs, "file"):
        function = annotated.function
        if function.first > at:
            yield _cold(source, at, function.first - 1)
        head = (
            f"{function.name} · {function.file}:{function.first} · {annotated.i_refs:,} ({annotated.share * 100:.2f} %)"
        )
        html = highlighted(line.text for line in annotated.lines)
        total = costs.total
        rows = [
            f"<b>{'' if line.cost is None else f'{line.cost.own[0]:,}':>14}</b>"
            f"<b>{'' if line.cost is None or not line.cost.below[0] else f'{line.cost.below[0]:,}':>12}</b>"
            f"<s>{'' if line.cost is None else _share(line.cost.i_refs, total):>9}</s>"
            f"<u>{line.number:>7}</u> {text}"
            for line, text in zip(annotated.lines, html, strict=True)
        ]
        body = Markup("\n".join(rows))  # noqa: S704 - `coloured` escapes what it is given
        yield Piece(f"b{build}l{function.first}", head, body, annotated.share >= _COLD)
        at = function.last + 1
    if at <= len(source.lines):
        yield _cold(source, at, len(source.lines))


def _cold(source: SourceMap, first: int, last: int) -> Piece:
    text = escape("\n".join(source.lines[first - 1 : last]))
    return Piece("", f"lines {first:,} to {last:,} ({source.file_at(first)} …): nothing counted", text, False)


def _share(i_refs: int, total: int) -> str:
    """Format a line's share of the total; empty if it rounds to 0.00 %."""
    share = 100 * i_refs / total if total else 0.0
    return f"{share:.2f} %" if share >= _MIN_PERCENT else ""


def _summary(build: dict[str, Any], index: int) -> list[tuple[str, str, str, str, float]]:
    return [
        (
            f"b{index}l{function['line']}",
            function["name"],
            function["file"],
            f"{function['i_refs']:,}",
            100 * function["i_refs"] / build["i_refs"],
        )
        for function in build["functions"][:_LISTED]
    ]


def _flame(build: dict[str, Any], index: int, stacks: list[str]) -> str:
    """Draw the flame graph of a build; frames of the most expensive functions link to their source."""
    anchors = {function["name"]: f"b{index}l{function['line']}" for function in build["functions"][:_LISTED]}

    def anchor(frame: str) -> str | None:
        # Callgrind numbers recursive calls of a function: `name'2`.
        return anchors.get(frame.partition("'")[0])

    return flame_graph(stacks, f"Instructions of {build['name']} by caller", anchor) if stacks else ""


def _parts(builds: list[dict[str, Any]]) -> list[tuple[str, list[str], list[str]]]:
    """Return the name of each part, its instructions per build, and per statement."""
    rows = []
    short = short_names([part["name"] for part in builds[0]["parts"]])
    for part in builds[0]["parts"]:
        found = [part_of(build, part["name"]) for build in builds]
        slopes = [None if each is None else each["i_refs_per_statement"] for each in found]
        rows.append(
            (
                short[part["name"]],
                ["-" if each is None else f"{each['i_refs']:,}" for each in found],
                ["-" if slope is None else f"{slope:,.1f}" for slope in slopes],
            )
        )
    return rows


def _groups(builds: list[dict[str, Any]]) -> list[tuple[str, str, list[str]]]:
    """Return the kinds of statements, most expensive first: name, executions, and the cost of one on each build."""
    of_build = [{(part, group["name"]): group for _, part, group in kinds_of(build)} for build in builds]
    return [
        (
            shortened(name, 100),
            f"{group['executions']:,}",
            [_per_execution(groups.get((part, group["name"]))) for groups in of_build],
        )
        for name, part, group in kinds_of(builds[0])[:_KINDS]
    ]


def _per_execution(group: dict[str, Any] | None) -> str:
    each = None if group is None else group["i_refs_per_execution"]
    return "-" if each is None else f"{each:,.0f}"


def _cell(value: Any, is_rate: bool) -> str:
    return format_rate(value) if is_rate else f"{value:,}"
