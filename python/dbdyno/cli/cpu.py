"""`dbdyno cpu`: counting instructions, comparing counts."""

import json
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from dbdyno.cli.values import read_share
from dbdyno.errors import InputError

_COUNT = "count"

# The gate's answer, as `dbdyno gate` has it.
_REGRESSION = 3


class _CountByDefault(TyperGroup):
    """A group whose first argument is a command of its own, or else what is to be counted."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [_COUNT, *args]
        return super().parse_args(ctx, args)


cpu = typer.Typer(
    cls=_CountByDefault,
    help="Count the instructions of SQLite, by build, part, function and line: `dbdyno cpu EXPERIMENT|FILE.sql`.",
    no_args_is_help=True,
)

_Counts = Annotated[Path | None, typer.Option("--counts", metavar="DIR", help="Where counts are kept")]
_Html = Annotated[Path | None, typer.Option("--html", metavar="FILE.html", help="Write one file with the source")]
_Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the document")]


@cpu.command(_COUNT)
def count_command(
    work: Annotated[
        str | None, typer.Argument(metavar="EXPERIMENT|FILE.sql", help="What is run, by one client")
    ] = None,
    chosen: Annotated[
        list[str] | None, typer.Option("--set", metavar="FACTOR=LEVEL,…", help="Narrow or widen a factor")
    ] = None,
    sqlite: Annotated[
        str, typer.Option("--sqlite", metavar="SPEC,…", help="Sources: bundled, a sqlite3.c, a directory")
    ] = "bundled",
    cflags: Annotated[
        list[str] | None, typer.Option("--cflags", metavar="OPTIONS", help="A build with these; may be repeated")
    ] = None,
    program: Annotated[
        Path | None, typer.Option("--program", metavar="FILE.c", help="A program to compile with SQLite and count")
    ] = None,
    arguments: Annotated[str, typer.Option("--program-args", metavar="ARGUMENTS", help="Its arguments")] = "",
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of all random draws")] = 1,
    once: Annotated[bool, typer.Option("--once", help="No second count of twice the work")] = False,
    save: Annotated[str | None, typer.Option("--save", metavar="NAME", help="Keep the count under a name")] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="NAME", help="Print the change against a kept count")
    ] = None,
    margin: Annotated[
        str | None, typer.Option("--margin", metavar="SHARE", help="Exit code 3 where it grew by more, as 0.1%")
    ] = None,
    raw: Annotated[
        Path | None, typer.Option("--callgrind", metavar="DIR", help="Write callgrind's files, for KCachegrind")
    ] = None,
    flame: Annotated[
        Path | None, typer.Option("--flame", metavar="FILE", help="Write folded stacks, for flame graphs")
    ] = None,
    chart: Annotated[
        Path | None, typer.Option("--chart", metavar="FILE.svg|png", help="Draw the builds as shares of one")
    ] = None,
    base: Annotated[
        str | None, typer.Option("--base", metavar="VERSION", help="The build that is 100 % (3.21.0, else the first)")
    ] = None,
    html: _Html = None,
    json_file: _Json = None,
    counts: _Counts = None,
) -> None:
    """Count the instructions of SQLite in an experiment, or in a file of SQL."""
    from dbdyno.cpu.baseline import changes, check_comparable
    from dbdyno.cpu.chart import chart as draw
    from dbdyno.cpu.chart import check_suffix, write_chart
    from dbdyno.cpu.flame import stacks
    from dbdyno.cpu.html import write_count
    from dbdyno.cpu.run import CpuRequest, count
    from dbdyno.cpu.saved import counts_directory, load
    from dbdyno.cpu.saved import save as keep
    from dbdyno.cpu.show import show, show_changes
    from dbdyno.cpu.source import read_source_map
    from dbdyno.export import check_writable, write_text

    console = Console()
    directory = counts_directory(counts)
    share = None if margin is None else read_share(margin, "--margin")
    if share is not None and baseline is None:
        raise InputError("--margin", "there is nothing to compare with", "add `--baseline NAME`")
    before = None if baseline is None else load(baseline, directory)
    for option, path in (("--json", json_file), ("--html", html), ("--chart", chart), ("--flame", flame)):
        if path is not None:
            check_writable(path, option)
    if chart is not None:
        check_suffix(chart)
    request = CpuRequest(work, chosen or (), sqlite.split(","), cflags or [""], seed, once, program, arguments)
    if before is not None and len(request.sources) * len(request.cflags) != 1:
        raise InputError("--baseline", "several builds are asked for", "name one source and one set of options")
    with console.status("counting") as status:
        document, counted = count(request, status.update)
    if json_file is not None:
        write_text(json_file, json.dumps(document, indent=1) + "\n")
    if raw is not None:
        _write_raw(raw, counted)
    if flame is not None:
        write_text(flame, "\n".join(line for each in counted for line in stacks(each, len(counted) > 1)) + "\n")
    if chart is not None:
        write_chart(draw(document, base), chart)
    if html is not None:
        write_count(document, [(read_source_map(each.build.text), each.costs) for each in counted], base, html)
    if before is None:
        show(document, console)
    if save is not None:
        for name in keep(save, document, counted, directory):
            console.print(f"kept as {name}", highlight=False)
    if before is not None:
        check_comparable(before.document, document)
        found = changes(before.build, document["builds"][0])
        show_changes(found, str(baseline), console)
        if share is not None and (found.unlike or (found.total.share or 0.0) > share):
            console.print(f"regression: more than {share * 100:.3g} % above {baseline}, or other rows", highlight=False)
            raise typer.Exit(_REGRESSION)


@cpu.command("annotate")
def annotate_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A kept count")],
    function: Annotated[
        str | None, typer.Option("--function", metavar="NAME", help="Only this function, with all its lines")
    ] = None,
    order: Annotated[str, typer.Option("--order", metavar="hottest|file", help="The order of functions")] = "hottest",
    most: Annotated[int, typer.Option("--top", min=1, help="So many functions")] = 10,
    html: _Html = None,
    counts: _Counts = None,
) -> None:
    """Show the source with what each line cost, in a kept count."""
    from dbdyno.cpu.annotate import annotate
    from dbdyno.cpu.html import write_count
    from dbdyno.cpu.saved import counts_directory, load
    from dbdyno.cpu.text import annotated_lines

    if order not in ("hottest", "file"):
        raise InputError("--order", f"`{order}` is neither", "give `hottest` or `file`")
    saved = load(name, counts_directory(counts))
    source, costs = saved.costs()
    if html is not None:
        write_count(saved.document, [(source, costs)], None, html)
        return
    functions = annotate(source, costs, "file" if order == "file" else "hottest")
    if function is not None:
        functions = [each for each in functions if each.function.name == function]
        if not functions:
            raise InputError("--function", f"`{function}` cost nothing in {name}", "see the functions without it")
    for line in annotated_lines(functions, costs.total, None if order == "file" else most):
        typer.echo(line)


@cpu.command("diff")
def diff_command(
    before: Annotated[str, typer.Argument(metavar="A", help="A kept count")],
    after: Annotated[str, typer.Argument(metavar="B", help="The count that is compared with it")],
    most: Annotated[int, typer.Option("--top", min=1, help="So many functions and lines of each")] = 10,
    html: _Html = None,
    counts: _Counts = None,
) -> None:
    """Compare two kept counts: functions by their change, and their lines side by side."""
    from dbdyno.cpu.diff import Side, diff
    from dbdyno.cpu.html import write_diff
    from dbdyno.cpu.saved import counts_directory, load
    from dbdyno.cpu.text import diff_lines

    directory = counts_directory(counts)
    one, other = (Side(*load(name, directory).costs()) for name in (before, after))
    changes = diff(one, other)
    totals = one.costs.total, other.costs.total
    if html is not None:
        write_diff((before, after), totals, changes, html)
        return
    for line in diff_lines((before, after), totals, changes, most):
        typer.echo(line)


@cpu.command("list")
def list_command(counts: _Counts = None) -> None:
    """List the counts that are kept."""
    from dbdyno.cpu.saved import counts_directory, load, saved_names

    console = Console()
    directory = counts_directory(counts)
    for name in saved_names(directory):
        saved = load(name, directory)
        build = saved.build
        line = f"{name}: {saved.document['work']} on {build['name']}, {build['i_refs']:,} instructions"
        console.print(f"{line}, {saved.document['at']}", highlight=False)


def _write_raw(directory: Path, counted: list[Any]) -> None:
    """Write callgrind's files, and beside them the source that they are of."""
    try:
        for number, count in enumerate(counted, 1):
            place = directory / f"{number}-{count.build.source.version}"
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(count.build.text, place / "sqlite3.c")
            for index, part in enumerate(count.parts):
                (place / f"callgrind.out.{index}").write_text(part.raw, encoding="utf-8")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError("--callgrind", f"{directory} cannot be written: {why}", "give another directory") from None
