"""`dbdyno cpu`: counting instructions, comparing counts."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dbdyno.base.console import Console
from dbdyno.base.errors import DbdynoError, InputError
from dbdyno.base.text import printable
from dbdyno.cli.completion import complete_experiments
from dbdyno.cli.help import PlainGroup
from dbdyno.cli.options import SetOption
from dbdyno.cli.strict_command import refuse_typed

_COUNT = "count"


class _CountByDefault(PlainGroup):
    """A group whose first argument is one of its commands, or the work to count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [_COUNT, *args]
        return super().parse_args(ctx, args)


cpu = typer.Typer(
    cls=_CountByDefault,
    help="Count SQLite instructions by build, function and line (options: `dbdyno cpu count --help`).",
    no_args_is_help=True,
)

_Counts = Annotated[Path | None, typer.Option("--counts", metavar="DIR", help="Directory of the stored counts")]
_Html = Annotated[Path | None, typer.Option("--report", metavar="FILE.html", help="Write one file with the source")]
_Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the document")]


@cpu.command(_COUNT)
def count_command(
    work: Annotated[
        str | None,
        typer.Argument(
            metavar="EXPERIMENT|FILE.sql", help="What is run, by one client", autocompletion=complete_experiments
        ),
    ] = None,
    chosen: SetOption = None,
    sqlite: Annotated[
        list[str] | None,
        typer.Option("--sqlite", metavar="SPEC,…", help="Sources: bundled, a release, a sqlite3.c, a directory"),
    ] = None,
    cflags: Annotated[
        list[str] | None, typer.Option("--cflags", metavar="OPTIONS", help="Compiler options of a build; repeatable")
    ] = None,
    program: Annotated[
        Path | None, typer.Option("--program", metavar="FILE.c", help="A program to compile with SQLite and count")
    ] = None,
    arguments: Annotated[str, typer.Option("--program-args", metavar="ARGUMENTS", help="Its arguments")] = "",
    own: Annotated[
        bool, typer.Option("--self", help="Count the worker's own instructions; --margin: exit code 3 above")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of all random draws")] = 1,
    once: Annotated[bool, typer.Option("--once", help="Don't count twice the work, too")] = False,
    save: Annotated[str | None, typer.Option("--save", metavar="NAME", help="Keep the count under a name")] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="NAME", help="Print the change against a kept count")
    ] = None,
    margin: Annotated[
        str | None, typer.Option("--margin", metavar="SHARE", help="Exit code 3 if the count grew by more, e.g. 0.1%")
    ] = None,
    raw: Annotated[
        Path | None, typer.Option("--callgrind", metavar="DIR", help="Write callgrind's files, for KCachegrind")
    ] = None,
    flame: Annotated[
        Path | None,
        typer.Option("--flame", metavar="FILE", help="Draw a flame graph (.svg), or write its folded stacks"),
    ] = None,
    chart: Annotated[
        Path | None, typer.Option("--chart", metavar="FILE.svg|png", help="Draw the builds as shares of one")
    ] = None,
    base: Annotated[
        str | None, typer.Option("--base", metavar="VERSION", help="The build that is 100 % (3.21.0, or the first)")
    ] = None,
    html: _Html = None,
    json_file: _Json = None,
    counts: _Counts = None,
) -> None:
    """Count the instructions of SQLite in an experiment, or in a file of SQL."""
    from dbdyno.cli.cpu import CpuOutputs, run_count, run_self
    from dbdyno.cli.experiment_source import is_sql_file
    from dbdyno.cpu.count_run import CpuRequest

    if program is not None:
        refuse_typed(("chosen", "seed", "once"), "with `--program`")
    if work is not None and is_sql_file(work):
        refuse_typed(("chosen", "seed"), "with a file of SQL")
    if own:
        refuse_typed(("once",), "with `--self`")
    if save is None and baseline is None:
        refuse_typed(("counts",), "without `--save` and `--baseline`")
    sources = [spec for each in sqlite or ["bundled"] for spec in each.split(",")]
    request = CpuRequest(work, chosen or (), sources, cflags or [""], seed, once, program, arguments, base)
    outputs = CpuOutputs(json_file, html, chart, flame, raw, base, save, baseline, margin, counts)
    code = run_self(request, outputs) if own else run_count(request, outputs)
    if code:
        raise typer.Exit(code)


@cpu.command("annotate")
def annotate_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A kept count")],
    function: Annotated[
        str | None, typer.Option("--function", metavar="NAME", help="Only this function, with all its lines")
    ] = None,
    order: Annotated[str, typer.Option("--order", metavar="hottest|file", help="The order of functions")] = "hottest",
    most: Annotated[
        int | None, typer.Option("--top", min=1, help="Number of functions (10; with --order file all)")
    ] = None,
    html: _Html = None,
    counts: _Counts = None,
) -> None:
    """Show the source with what each line cost, in a kept count."""
    from dbdyno.cpu.costs import annotate
    from dbdyno.cpu.html import AnnotatedBuild, write_count
    from dbdyno.cpu.saved_counts import counts_directory, load
    from dbdyno.cpu.show import annotated_lines

    if html is not None:
        refuse_typed(("function", "order", "most"), "with `--report`, which has all functions")
    if function is not None:
        refuse_typed(("order", "most"), "with `--function`")
    if order not in ("hottest", "file"):
        raise InputError("--order", f"`{order}` is neither", "give `hottest` or `file`")
    saved = load(name, counts_directory(counts))
    source, costs = saved.costs()
    if html is not None:
        write_count(saved.document, [AnnotatedBuild(source, costs, saved.stacks())], None, html)
        typer.echo(printable(f"written to {html}"))
        return
    functions = annotate(source, costs, "file" if order == "file" else "hottest")
    if function is not None:
        functions = [
            annotated_function for annotated_function in functions if annotated_function.function.name == function
        ]
        if not functions:
            raise InputError(
                "--function", f"`{function}` cost nothing in {name}", "omit `--function` to list all functions"
            )
    for line in annotated_lines(functions, costs.total, None if order == "file" and not most else most or 10):
        typer.echo(printable(line))


@cpu.command("diff")
def diff_command(
    before: Annotated[str, typer.Argument(metavar="A", help="A kept count")],
    after: Annotated[str, typer.Argument(metavar="B", help="The count that is compared with it")],
    most: Annotated[int, typer.Option("--top", min=1, help="Number of functions, and of lines of each")] = 10,
    html: _Html = None,
    counts: _Counts = None,
) -> None:
    """Compare two kept counts: functions by their change, and their lines side by side."""
    from dbdyno.cpu.baseline import differing_surroundings
    from dbdyno.cpu.diff import Side, diff
    from dbdyno.cpu.html import write_diff
    from dbdyno.cpu.saved_counts import counts_directory, load
    from dbdyno.cpu.show import diff_lines

    directory = counts_directory(counts)
    saved = [load(name, directory) for name in (before, after)]
    for difference in differing_surroundings(*(count.document for count in saved)):
        typer.echo(printable(f"warning: the environment differs: {difference}"), err=True)
    one, other = (Side(*count.costs()) for count in saved)
    changes = diff(one, other)
    totals = one.costs.total, other.costs.total
    if html is not None:
        write_diff((before, after), totals, changes, html)
    for line in diff_lines((before, after), totals, changes, most):
        typer.echo(printable(line))


@cpu.command("chart")
def chart_command(
    document: Annotated[Path, typer.Argument(metavar="FILE.json", help="What `--json` wrote")],
    output: Annotated[Path, typer.Option("--chart", metavar="FILE.svg|png", help="The file to write")],
    base: Annotated[str | None, typer.Option("--base", metavar="VERSION", help="The build that is 100 %")] = None,
) -> None:
    """Draw a count's builds as shares of one, from its document."""
    from dbdyno.cpu.chart import chart, write_chart
    from dbdyno.cpu.document import read_cpu_document
    from dbdyno.report.export import check_writable

    check_writable(output, "--chart")
    write_chart(chart(read_cpu_document(document), base), output)


@cpu.command("list")
def list_command(counts: _Counts = None) -> None:
    """List the counts that are kept."""
    from dbdyno.cpu.saved_counts import counts_directory, load, saved_names

    console = Console()
    directory = counts_directory(counts)
    for name in saved_names(directory):
        try:
            saved = load(name, directory)
        except DbdynoError as error:
            # List the remaining counts.
            console.print(f"{name}: {error}")
            continue
        build = saved.build
        line = f"{name}: {saved.document['work']} on {build['name']}, {build['i_refs']:,} instructions"
        console.print(f"{line}, {saved.document['at']}")
