"""Prints a count, an annotated source, or the difference of two counts on the terminal."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from dbdyno.base.console import Console
from dbdyno.base.text import shortened
from dbdyno.cpu.baseline import Changes, CountChange
from dbdyno.cpu.costs import AnnotatedFunction
from dbdyno.cpu.diff import FunctionChange, LineChange
from dbdyno.cpu.document import CpuDocument, base_of, differing_results, kinds_of, part_of, short_names

_HOTTEST = 12
_KINDS = 12
_CHANGED = 12

# Maximum number of builds shown as columns. More builds get one line each, with the main counters.
_ABREAST = 3

# The counters in the order of valgrind's tools: label, key, and whether it is a rate.
COUNTER_ROWS: tuple[tuple[str, str, bool], ...] = (
    ("I refs", "i_refs", False),
    ("I1 misses", "i1_misses", False),
    ("LLi misses", "lli_misses", False),
    ("I1 miss rate", "i1_miss_rate_percent", True),
    ("LLi miss rate", "lli_miss_rate_percent", True),
    ("D refs", "d_refs", False),
    ("  read", "d_refs_read", False),
    ("  write", "d_refs_write", False),
    ("D1 misses", "d1_misses", False),
    ("  read", "d1_misses_read", False),
    ("  write", "d1_misses_write", False),
    ("LLd misses", "lld_misses", False),
    ("D1 miss rate", "d1_miss_rate_percent", True),
    ("LLd miss rate", "lld_miss_rate_percent", True),
    ("LL refs", "ll_refs", False),
    ("LL misses", "ll_misses", False),
    ("LL miss rate", "ll_miss_rate_percent", True),
    ("estimated cycles", "estimated_cycles", False),
)
SIZE_ROWS = (
    ("object text", "object_text_bytes"),
    ("object data", "object_data_bytes"),
    ("object bss", "object_bss_bytes"),
    ("source lines", "source_lines"),
    ("source bytes", "source_bytes"),
)


def show(document: CpuDocument, console: Console, named: str | None = None) -> None:
    """Print a count: the summary of each build, parts, kinds of statements, and the hottest functions.

    ``named``: the version of the base build (100 %). Raises InputError if it doesn't exist.
    """
    builds = document["builds"]
    program = builds[0]["program"]
    whose = f"the whole program, {program['arguments']}" if program else "the engine's own cost"
    console.print(Text.assemble((document["work"], "bold"), f": {whose}, under callgrind"))
    base = base_of(document, named)
    console.print(_summary(builds) if len(builds) <= _ABREAST else _lines(builds, base))
    console.print(f"estimated cycles = {document['cycles']}", style="dim")
    _show_parts(builds, base, console)
    _show_groups(base, console)
    for build in builds if len(builds) <= _ABREAST else [builds[0], builds[-1]]:
        _show_functions(build, console)
    for build in builds[1:]:
        _show_differing(builds[0], build, console)
    for note in document["notes"]:
        console.print(f"note: {note}")
    console.print("limits: " + "; ".join(document["limits"]), style="dim")


def show_changes(changes: Changes, name: str, console: Console) -> None:
    """Print the changes since a baseline."""
    total = changes.total
    line = f"compared with {name}: {total.before:,} → {total.after:,} instructions, {_change(total)}"
    console.print(line, style="bold")
    for title, changed in (
        ("part", [change for change in changes.parts if change.difference]),
        ("file", changes.files),
        ("function", changes.functions),
    ):
        if not changed:
            console.print(f"no {title} changed")
            continue
        table = _table([title, "before", "after", "change", "of all"])
        for change in changed[:_CHANGED]:
            of_all = change.difference / total.before * 100 if total.before else 0.0
            table.add_row(change.name, f"{change.before:,}", f"{change.after:,}", _change(change), f"{of_all:+.3f} %")
        console.print(table)
        if len(changed) > _CHANGED:
            console.print(f"and {len(changed) - _CHANGED} more", style="dim")
    for clause in changes.differing:
        console.print(Text.assemble(("results differ", "red"), f": {clause}"))


def _summary(builds: list[dict[str, Any]]) -> Table:
    """Return a table of all counters with one column per build."""
    table = _table([""] + [build["name"] for build in builds])
    for label, key, is_rate in COUNTER_ROWS:
        table.add_row(label, *[format_rate(build[key]) if is_rate else f"{build[key]:,}" for build in builds])
    for label, key in SIZE_ROWS:
        table.add_row(label, *[f"{build[key]:,}" for build in builds])
    if any(build["program"] for build in builds):
        table.add_row("engine's I refs", *[f"{build['engine']['i_refs']:,}" for build in builds], style="dim")
    table.add_row("harness's I refs", *[f"{build['harness']['i_refs']:,}" for build in builds], style="dim")
    return table


def _lines(builds: list[dict[str, Any]], base: dict[str, Any]) -> Table:
    """Return a table with one line per build; the document contains the remaining counters."""
    first = base["i_refs"]
    table = _table(["build", "I refs", f"of {base['version']}", "D refs", "D1 misses", "LL misses", "text"])
    for build in builds:
        share = f"{build['i_refs'] / first:.1%}" if first else "-"
        others = [f"{build[key]:,}" for key in ("d_refs", "d1_misses", "ll_misses", "object_text_bytes")]
        table.add_row(build["name"], f"{build['i_refs']:,}", share, *others)
    return table


def _show_parts(builds: list[dict[str, Any]], base: dict[str, Any], console: Console) -> None:
    parts = base["parts"]
    if len(parts) == 1 and parts[0]["i_refs_per_statement"] is None and len(builds) == 1:
        return
    short = short_names([part["name"] for part in parts])
    if len(builds) > _ABREAST:
        _show_shares(builds, base, short, console)
        return
    table = _table(["part"] + [build["name"] for build in builds] + ["a statement"])
    for part in parts:
        found = [part_of(build, part["name"]) for build in builds]
        each = part["i_refs_per_statement"]
        table.add_row(
            short[part["name"]],
            *[_with_ratio(other, part) for other in found],
            "-" if each is None else f"{each:,.1f}",
        )
    console.print(table)
    if any(part["i_refs_per_statement"] is not None for part in parts):
        told = f"a statement: instructions on {base['name']} without set-up, from runs of n and 2n"
        console.print(told, style="dim")


def _show_shares(builds: list[dict[str, Any]], base: dict[str, Any], short: dict[str, str], console: Console) -> None:
    """Print each part's instructions on the base build, and their percentage on other builds."""
    alike = len({build["cflags"] for build in builds}) == 1
    table = _table(["part"] + [build["version" if alike else "name"] for build in builds])
    for part in base["parts"]:
        cells = []
        for build in builds:
            if build is base:
                cells.append(f"{part['i_refs'] / 1e6:,.1f} M")
                continue
            other = part_of(build, part["name"])
            cells.append("-" if other is None or not part["i_refs"] else f"{other['i_refs'] / part['i_refs']:.0%}")
        table.add_row(short[part["name"]], *cells)
    console.print(table)


def _with_ratio(part: dict[str, Any] | None, base: dict[str, Any]) -> str:
    if part is None:
        return "-"
    text = f"{part['i_refs']:,}"
    return text if part is base or not base["i_refs"] else f"{text} ({part['i_refs'] / base['i_refs'] * 100:.2f} %)"


def _show_groups(build: dict[str, Any], console: Console) -> None:
    kinds = kinds_of(build)
    table = _table([f"statements on {build['name']}", "I refs", "of all", "executions", "each"])
    for name, _, group in kinds[:_KINDS]:
        per = group["i_refs_per_execution"]
        table.add_row(
            shortened(name, 60),
            f"{group['i_refs']:,}",
            f"{group['i_refs'] / build['i_refs'] * 100:.1f} %",
            f"{group['executions']:,}",
            "-" if per is None else f"{per:,.0f}",
        )
    if kinds:
        console.print(table)


def _show_functions(build: dict[str, Any], console: Console) -> None:
    table = _table([f"hottest functions of {build['name']}", "file", "line", "I refs", "share"])
    for function in build["functions"][:_HOTTEST]:
        share = function["i_refs"] / build["i_refs"] * 100 if build["i_refs"] else 0.0
        table.add_row(
            function["name"], function["file"], str(function["line"] or ""), f"{function['i_refs']:,}", f"{share:.2f} %"
        )
    console.print(table)


def _show_differing(first: dict[str, Any], other: dict[str, Any], console: Console) -> None:
    differing = differing_results(first, other)
    if first["program"] and not differing and not first["program"]["verified"]:
        console.print("the program did not verify its results; speedtest1 does so with `--verify`")
        return
    if not differing:
        console.print(f"{other['name']} returned the same rows as {first['name']}")
    for clause in differing:
        console.print(Text.assemble((f"{other['name']} differs in its results", "red"), f": {clause}"))


def _change(change: CountChange) -> str:
    share = change.share
    return f"{change.difference:+,}" + ("" if share is None else f" ({share * 100:+.3f} %)")


def format_rate(value: float | None) -> str:
    """Format a rate in percent."""
    return "-" if value is None else f"{value:.2f} %"


def _table(heads: list[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, head in enumerate(heads):
        table.add_column(head, justify="left" if index == 0 else "right", overflow="fold")
    return table


# Lines of an annotated source below this share of the total are omitted.
_NOISE = 0.0001


def annotated_lines(functions: Sequence[AnnotatedFunction], total: int, most: int | None) -> Iterator[str]:
    """Yield the text of functions with their relevant lines. ``most``: number of functions; ``total``: the engine's."""
    for annotated in functions[:most]:
        function = annotated.function
        yield f"── {function.name}  {function.file}  {annotated.i_refs:,} instructions, {annotated.share * 100:.2f} %"
        for line in annotated.trimmed(max(1, round(total * _NOISE))):
            if line is None:
                yield f"{'':>14} {'':>8} {'⋮':>7}"
            elif line.cost is None:
                yield f"{'':>14} {'':>8} {line.number:>7} {line.text}"
            else:
                share = 100 * line.cost.i_refs / total if total else 0.0
                yield f"{line.cost.i_refs:>14,} {share:>6.2f} % {line.number:>7} {line.text}"
        yield ""


def diff_lines(
    names: tuple[str, str], totals: tuple[int, int], changes: Sequence[FunctionChange], most: int
) -> Iterator[str]:
    """Yield the text of a difference: functions by change, then their lines. ``most``: number of functions."""
    before, after = totals
    yield f"{names[0]} → {names[1]}: {before:,} → {after:,} instructions, {_signed(after - before, before)}"
    if not changes:
        yield "no function differs"
        return
    yield f"{'before':>14} {'after':>14} {'change':>12} {'of all':>9}  function"
    for change in changes[:most]:
        one = f"{change.before.i_refs:,}" if change.before else "-"
        other = f"{change.after.i_refs:,}" if change.after else "-"
        share = 100 * change.difference / before if before else 0.0
        yield f"{one:>14} {other:>14} {change.difference:>+12,} {share:>+7.3f} %  {change.name} ({change.file})"
    if len(changes) > most:
        yield f"and {len(changes) - most} more"
    for change in changes[:most]:
        lines = [line for line in change.lines if line.difference]
        if not lines:
            continue
        yield ""
        yield f"── {change.name}  {change.file}  {change.difference:+,}"
        lines.sort(key=lambda line: -abs(line.difference))
        for line in lines[:most]:
            yield f"{line.before:>14,} {line.after:>14,} {line.difference:>+12,}  {_line_numbers(line)} {line.text}"


def _line_numbers(line: LineChange) -> str:
    return f"{line.before_line or '-':>7} {line.after_line or '-':>7}"


def _signed(difference: int, before: int) -> str:
    return f"{difference:+,}" + (f" ({100 * difference / before:+.3f} %)" if before else "")
