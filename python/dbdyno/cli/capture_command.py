"""The commands about an application's own load: record it, show it, and make an experiment of it."""

from typing import Annotated, Literal

import typer

from dbdyno.cli.options import (
    AllowWritesOption,
    CellOption,
    DirOption,
    JsonOption,
    RunArgument,
    StoreOption,
    SystemOption,
)

trace = typer.Typer(name="trace", help="Show what an application sent to its database.")

_OUTPUT = typer.Option("--output", "-o", metavar="FILE", help="The file to write")
TraceArgument = Annotated[str, typer.Argument(metavar="TRACE", help="A trace, as `dbdyno capture` writes it")]


@trace.callback()
def _of_traces() -> None:
    pass


@trace.command("show")
def show_trace(
    file: TraceArgument,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of statements to show")] = 10,
    json: JsonOption = None,
) -> None:
    """Show what a trace contains: when it was recorded, its statements by share of time, and its errors."""
    from dbdyno.cli.capture import print_trace

    print_trace(file, top, json)


@trace.command("compare")
def compare_trace(
    file: TraceArgument,
    run: RunArgument = "last",
    cell: CellOption = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of statements to show")] = 10,
    store: StoreOption = None,
    json: JsonOption = None,
) -> None:
    """Compare a trace with a run of its workload: the mix, and the time of each statement."""
    from dbdyno.cli.trace_comparison import Compared, print_comparison

    print_comparison(file, Compared(run, store, cell), top, json)


@trace.command("convert")
def convert_trace(file: TraceArgument, output: Annotated[str, _OUTPUT]) -> None:
    """Write a journal as a trace in Parquet, which takes less time to read. A recording that was killed leaves one."""
    from dbdyno.cli.capture import convert_journal

    convert_journal(file, output)


def capture(
    output: Annotated[str, _OUTPUT],
    program: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- PROGRAM", help="Run this program, and record what it sends to SQLite"),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option("--listen", metavar="ADDRESS", help="Record as a proxy with this address and port"),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="URL", help="The server that the proxy passes connections on to")
    ] = None,
    from_log: Annotated[
        list[str] | None,
        typer.Option("--from-log", metavar="FILE", help="A log of statements; repeatable, oldest first"),
    ] = None,
    from_statistics: Annotated[
        str | None,
        typer.Option("--from-statistics", metavar="URL", help="A server with pg_stat_statements or performance_schema"),
    ] = None,
    log_format: Annotated[
        str | None,
        typer.Option("--log-format", help="csvlog, jsonlog, stderr, general or slow (recognized)"),
    ] = None,
    log_line_prefix: Annotated[
        str | None, typer.Option("--log-line-prefix", help="PostgreSQL's setting of a stderr log ('%m [%p] ')")
    ] = None,
    values: Annotated[
        Literal["hash", "keep"], typer.Option("--values", help="Record a keyed hash of each value, or the values")
    ] = "hash",
    tls_certificate: Annotated[
        str | None, typer.Option("--tls-certificate", metavar="FILE", help="The proxy's certificate for clients (PEM)")
    ] = None,
    tls_key: Annotated[
        str | None, typer.Option("--tls-key", metavar="FILE", help="The key of the proxy's certificate (PEM)")
    ] = None,
) -> None:
    """Record an application's statements as a trace: run a program, be a proxy, or read logs or statistics."""
    from dbdyno.cli.capture import CaptureOptions, capture_trace

    capture_trace(
        CaptureOptions(
            output,
            from_log or [],
            from_statistics,
            log_format,
            log_line_prefix,
            keep=values == "keep",
            listen=listen,
            to=to,
            certificate=tls_certificate,
            key=tls_key,
            program=program or [],
        )
    )


def distil(
    file: TraceArgument,
    output: Annotated[str, _OUTPUT],
    system: SystemOption = None,
    think: Annotated[
        Literal["recorded", "none"], typer.Option("--think", help="Pauses of clients: as recorded, or none")
    ] = "recorded",
    top: Annotated[int, typer.Option("--top", min=1, help="Number of transactions and statements to keep")] = 50,
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help="Generate tables from the statistics of `--system`, without its values")
    ] = False,
    directory: DirOption = None,
) -> None:
    """Make a workload of a trace: transactions, weights, parameters. A .sql file for `run --mix`, or an experiment."""
    from dbdyno.cli.distil import DistilOptions, distil_trace

    options = DistilOptions(directory, think == "recorded", top, "synthetic" if synthetic else "statements")
    distil_trace(file, output, system or [], options)


def replay(
    file: TraceArgument,
    system: SystemOption = None,
    speed: Annotated[
        str, typer.Option("--speed", metavar="N|max", help="Times as fast as recorded, or as fast as possible")
    ] = "1",
    top: Annotated[int, typer.Option("--top", min=1, help="Number of statements to show")] = 10,
    json: JsonOption = None,
    directory: DirOption = None,
    allow_writes: AllowWritesOption = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the replay as a trace: to compare with")
    ] = None,
) -> None:
    """Replay a trace with kept values: same sessions, order and times. Shows what differs, and whether it kept up."""
    from dbdyno.cli.replay import ReplayOutput, read_speed, replay_trace
    from dbdyno.run.replay import ReplayOptions

    options = ReplayOptions(read_speed(speed), directory, allow_writes)
    code = replay_trace(file, system or [], options, ReplayOutput(top, json, output))
    if code:
        raise typer.Exit(code)
