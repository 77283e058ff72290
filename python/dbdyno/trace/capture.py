"""Record a trace from what a server wrote: logs of statements, or its statistics of statements."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from dbdyno.base.errors import InputError, reason
from dbdyno.engines import all_engines, engine_of
from dbdyno.engines.engine import Engine
from dbdyno.engines.statement_log import StatementLog
from dbdyno.trace.bound_values import bound_values
from dbdyno.trace.fingerprint import Fingerprints
from dbdyno.trace.header import Header
from dbdyno.trace.parquet import Execution, TraceWriter
from dbdyno.trace.recorded import Recorded
from dbdyno.trace.sent import Sent, SentStatements
from dbdyno.trace.values import UNKNOWN, Values, trace_key

# MySQL's digests write a list as `(...)`.
_LIST = re.compile(r"\(\s*\.\.\.\s*\)")


def open_log(file: TextIO, place: str, form: str | None, prefix: str | None) -> tuple[Engine, StatementLog]:
    """Open a log of an engine, which is recognized. Raises InputError."""
    engines = [each for each in all_engines() if each.log_forms]
    if form is not None:
        named = [each for each in engines if form in each.log_forms]
        if not named:
            known = ", ".join(name for each in engines for name in each.log_forms)
            raise InputError("--log-format", f"`{form}` is not a log format", f"give one of {known}")
        engines = named
    problems = []
    # The logs of an engine with few formats are hard to mistake.
    for engine in sorted(engines, key=lambda each: len(each.log_forms)):
        try:
            return engine, engine.read_log(file, place, form, prefix)
        except InputError as error:
            problems.append((engine, error))
    if len(problems) == 1:
        raise problems[0][1]
    reasons = "; ".join(f"{engine.title}: {problem.problem}" for engine, problem in problems)
    raise InputError(place, f"the format of the log isn't recognized ({reasons})", "give `--log-format`")


@dataclass(frozen=True)
class LogOptions:
    """How to read logs. ``keep``: keep values; ``form``: their form, recognized if None; ``prefix``: of each line."""

    keep: bool = False
    form: str | None = None
    prefix: str | None = None


def record_logs(paths: Sequence[Path], output: Path, options: LogOptions) -> Header:
    """Record a trace from logs, oldest first. Raises InputError, ExtraMissing."""
    with _opened(paths[0], options) as (engine, log):
        values = Values(None if options.keep else trace_key(output))
        header = Header(engine.name, log.form, values.kept, resolution_us=log.resolution_us)
    fingerprints = Fingerprints(header.engine)
    sent = SentStatements(header.engine) if options.keep else None
    with TraceWriter(output, header) as writer:
        for path in paths:
            with _opened(path, options) as (engine, log):
                if (engine.name, log.form) != (header.engine, header.source):
                    raise InputError(
                        str(path),
                        f"its format is {log.form}, and the first log's {header.source}",
                        "give logs of one format",
                    )
                _add(writer, log, (fingerprints, values, sent))
        if not header.statements:
            hint = 'the page "Your application\'s load" lists the settings that log all statements'
            raise InputError(str(paths[0]), "the log contains no statement", hint)
    return header


@contextmanager
def _opened(path: Path, options: LogOptions) -> Iterator[tuple[Engine, StatementLog]]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield open_log(file, str(path), options.form, options.prefix)
    except OSError as error:
        raise InputError(str(path), f"cannot read the log: {reason(error)}", "give the path of a log file") from error


def _add(writer: TraceWriter, log: StatementLog, writers: tuple[Fingerprints, Values, SentStatements | None]) -> None:
    fingerprints, values, sent = writers
    for each in log.entries:
        made = fingerprints.of(each.text)
        written = bound_values(made, values, each.parameters)
        recorded = Recorded(0, each.text, each.parameters, 0, None, once=each.once)
        execution = Execution(
            each.start_us,
            each.duration_ns,
            each.rows,
            each.error,
            each.size,
            written,
            sent=Sent() if sent is None else sent.of(made, recorded),
        )
        writer.add(each.session, made.text, execution)


def record_totals(engine: str, totals: str, output: Path, place: str) -> Header:
    """Record a trace without order from an engine's statistics of statements (JSON). Raises InputError."""
    title = engine_of(engine).title
    found: Iterable[Mapping[str, Any]] = json.loads(totals)
    header = Header(engine, f"statistics of {title}", ordered=False)
    fingerprints = Fingerprints(engine)
    with TraceWriter(output, header) as writer:
        for each in found:
            made = fingerprints.of(_LIST.sub("(?)", str(each["statement"])))
            execution = Execution(
                duration_ns=round(float(each["total_ms"]) * 1e6),
                rows=int(each["rows"]),
                error="error" if each.get("errors") else None,
                values=[UNKNOWN] * len(made.values),
                executions=int(each["count"]),
            )
            writer.add(0, made.text, execution)
        if not header.statements:
            hint = "let the application run, and then record again"
            raise InputError(place, "its statistics contain no statement of this database", hint)
    return header
