"""`dbdyno capture` and `dbdyno trace show`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.text import Text

from dbdyno.base.console import Console
from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.base.numbers import figure, percent, whole
from dbdyno.cli.statement_table import statement_table
from dbdyno.engines import engine_of
from dbdyno.engines.url import parse_url
from dbdyno.report.export import check_writable, is_output, new_file, write_text
from dbdyno.trace.header import Header
from dbdyno.trace.values import key_path

_SHOWN_ERRORS = 5
_NICE = 5
_HIGHEST_PORT = 65_535


@dataclass(frozen=True)
class CaptureOptions:
    """What to record, and where to. ``keep``: whether to keep values."""

    output: str
    logs: Sequence[str]
    statistics: str | None
    log_format: str | None
    log_line_prefix: str | None
    keep: bool = False
    listen: str | None = None
    to: str | None = None
    certificate: str | None = None
    key: str | None = None
    program: Sequence[str] = ()


def capture_trace(options: CaptureOptions) -> None:
    """Record a trace, and print what it contains. Raises DbdynoError."""
    from dbdyno.trace.parquet import arrow
    from dbdyno.trace.reports import without_unused_key

    sources = (options.logs, options.statistics is not None, options.listen is not None, options.program)
    if sum(map(bool, sources)) != 1:
        hint = "give `-- PROGRAM`, `--listen ADDRESS --to URL`, `--from-log FILE`, or `--from-statistics URL`"
        raise InputError("capture", "give one source to record from", hint)
    _check_proxy_options(options)
    arrow()
    output = new_file(options.output)
    with without_unused_key(output):
        _record(options, output)


def _record(options: CaptureOptions, output: Path) -> None:
    from dbdyno.trace.capture import LogOptions, record_logs, record_totals

    if options.program:
        _record_program(options, output)
        return
    if options.listen is not None:
        header = _record_proxy(options.listen, options, output)
    elif options.statistics is None:
        header = record_logs(
            [Path(each) for each in options.logs],
            output,
            LogOptions(options.keep, options.log_format, options.log_line_prefix),
        )
    else:
        _check_log_options(options)
        if options.keep:
            raise InputError("--values", "statistics contain no values", "leave it out")
        header = record_totals(*_totals(options.statistics), output, options.statistics)
    _print_recorded(output, header, Console())


def _print_recorded(output: Path, header: Header, console: Console) -> None:
    console.print(f"{output}: {_contents(header)}", soft_wrap=True)
    _print_dropped(header, console)
    if header.values == "kept":
        console.print("It contains the values of the statements, so only you may read it.", soft_wrap=True)
    elif header.ordered and key_path(output).exists():
        note = f"Values are recorded as keyed hashes. {key_path(output)} has the key: don't share it with the trace."
        console.print(note, soft_wrap=True)


def _record_program(options: CaptureOptions, output: Path) -> None:
    from dbdyno.trace.program import record_program
    from dbdyno.trace.reports import Observer

    _check_log_options(options)
    # The program writes to standard output.
    console = Console(stderr=True)
    # As with a proxy, dbdyno leaves the CPUs to the program.
    observer = Observer(lambda: os.nice(_NICE), partial(_print_problem, console))
    header, code = record_program(options.program, output, observer, keep=options.keep)
    name, end = options.program[0], f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    if header is None:
        if code != 0:
            raise SystemFailed(f"{name}: no statement was recorded, and the program {end}")
        hint = "it may contain SQLite itself; dbdyno observes SQLite only as a shared library"
        raise InputError(name, "no statement was recorded", hint)
    _print_recorded(output, header, console)
    if code != 0:
        raise SystemFailed(f"{name} {end}")


def _print_problem(console: Console, text: str) -> None:
    console.print(f"! {text}", soft_wrap=True)


def _check_log_options(options: CaptureOptions) -> None:
    given = {"--log-format": options.log_format, "--log-line-prefix": options.log_line_prefix}
    for option, value in given.items():
        if value is not None:
            raise InputError(option, "it applies to logs only", "leave it out")


def _check_proxy_options(options: CaptureOptions) -> None:
    if options.listen is None:
        given = {"--to": options.to, "--tls-certificate": options.certificate, "--tls-key": options.key}
        for option, value in given.items():
            if value is not None:
                raise InputError(option, "it applies to a proxy only", "give `--listen ADDRESS`, or leave it out")
        return
    _check_log_options(options)
    if options.to is None:
        raise InputError("--listen", "a proxy needs a server", "name it with `--to URL`")
    if (options.certificate is None) != (options.key is None):
        raise InputError("--tls-certificate", "a certificate needs its key", "give `--tls-key FILE`, too")


def _record_proxy(listen: str, options: CaptureOptions, output: Path) -> Header:
    from dbdyno.runtime.workspace.interruption import Interruption
    from dbdyno.trace.proxy import ProxyOptions, record_proxy
    from dbdyno.trace.reports import Observer

    console = Console()
    system = parse_url(options.to or "")
    proxy = ProxyOptions(_address(listen), options.keep, options.certificate, options.key)

    def listening(at: str) -> None:
        # A script may wait for this line.
        console.print(f"Listening at {at}. Ctrl-C ends the recording.", soft_wrap=True)
        sys.stdout.flush()
        # Without an idle CPU, the application and the database keep their speed, and statements are dropped.
        os.nice(_NICE)

    def problem(text: str) -> None:
        _print_problem(console, text)
        sys.stdout.flush()

    with Interruption().handle_signals() as interrupted:
        return record_proxy(system, output, proxy, interrupted, Observer(listening, problem))


def _address(listen: str) -> str:
    """Return an address with its port; a port alone is of this machine. Raises InputError."""
    host, colon, port = listen.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= _HIGHEST_PORT):
        problem = f"`{port}` is not a port" if colon else "its port is missing"
        raise InputError(f"--listen {listen}", problem, "write `127.0.0.1:6543`")
    return f"{host or '127.0.0.1'}:{port}"


def convert_journal(file: str, output: str) -> None:
    """Write a journal as a trace in Parquet, and print what it contains. Raises InputError, ExtraMissing."""
    from dbdyno.trace.parquet import arrow
    from dbdyno.trace.reports import convert, copy_key, without_unused_key

    arrow()
    made = new_file(output)
    with without_unused_key(made):
        copy_key(Path(file), made)
        header = convert(Path(file), made)
    _print_recorded(made, header, Console())


def _totals(url: str) -> tuple[str, str]:
    """Return the engine of a server, and its statistics of statements. Raises InputError."""
    from dbdyno.run.questions import questions

    system = parse_url(url)
    engine = engine_of(system.engine)
    if engine.statement_totals is None or not system.host:
        raise InputError(url, "not a server with statistics of statements", "name PostgreSQL, MySQL or MariaDB")
    with questions(system) as answer:
        try:
            return engine.name, answer(engine.statement_totals) or "[]"
        except SystemFailed as error:
            hint = "enable pg_stat_statements, or performance_schema"
            raise InputError(url, f"its statistics of statements can't be read: {error}", hint) from error


def _contents(header: Header) -> str:
    number = f"{whole(header.statements)} {'statement' if header.statements == 1 else 'statements'}"
    if not header.ordered:
        return f"{number}, as totals"
    of = f"{number} of {whole(header.sessions)} {'session' if header.sessions == 1 else 'sessions'}"
    return of if header.seconds is None else f"{of} in {figure(header.seconds)} s"


def _print_dropped(header: Header, console: Console) -> None:
    if header.dropped:
        console.print(
            f"! {whole(header.dropped)} statements were dropped: recording was too slow, or the disk was full."
        )


def print_trace(file: str, top: int, json_file: Path | None) -> None:
    """Print what a trace contains. Raises InputError, ExtraMissing."""
    from dbdyno.trace.reading import open_trace
    from dbdyno.trace.summary import StatementTotals, summarize

    if json_file is not None:
        check_writable(json_file, "--json")
    trace = open_trace(Path(file))
    summary = summarize(trace)
    header, console = trace.header, Console(stderr=is_output(json_file))
    console.print(Text.assemble((file, "bold"), f"   {header.source}, {_contents(header)}"), soft_wrap=True)
    kept = "values are kept" if header.values == "kept" else "no values, only keyed hashes"
    if header.ordered:
        console.print(f"Recorded {header.begun}; {whole(summary.transactions)} transactions; {kept}.", soft_wrap=True)
    _print_dropped(header, console)
    total = summary.duration_ns

    def share(each: StatementTotals) -> float:
        return each.duration_ns / total if total else each.count / max(header.statements, 1)

    def cells(each: StatementTotals) -> dict[str, str]:
        times = {"mean ms": each.mean_ms, "p50 ms": each.percentile_ms(50), "p99 ms": each.percentile_ms(99)}
        return {
            "time" if total else "share": percent(share(each)),
            "count": whole(each.count),
            **{head: "" if time is None else figure(time) for head, time in times.items()},
            "rows": whole(each.rows) if each.rows else "",
            "errors": whole(each.errors) if each.errors else "",
        }

    shown = summary.statements[:top]
    texts = [each.text for each in shown]
    console.print(statement_table(texts, [cells(each) for each in shown], console.width, ("p50 ms", "rows", "p99 ms")))
    if len(summary.statements) > top:
        rest = sum(share(each) for each in summary.statements[top:])
        console.print(f"{whole(len(summary.statements) - top)} more statements have {percent(rest)}.")
    if summary.errors:
        words = ", ".join(f"{code} {whole(count)}" for code, count in summary.errors.most_common(_SHOWN_ERRORS))
        console.print(f"Errors: {words}")
    if json_file is not None:
        statements: list[dict[str, Any]] = [
            {
                "statement": each.text,
                "share": share(each),
                "count": each.count,
                "duration_ns": each.duration_ns,
                "rows": each.rows,
                "errors": each.errors,
                "mean_ms": each.mean_ms,
                "p50_ms": each.percentile_ms(50),
                "p99_ms": each.percentile_ms(99),
            }
            for each in summary.statements
        ]
        document = {"header": asdict(header), "errors": dict(summary.errors), "statements": statements}
        write_text(json_file, json.dumps(document, indent=2) + "\n")
