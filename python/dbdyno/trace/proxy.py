"""Record the statements that pass a proxy: start it, and write what it reports as a journal.

The proxy is a program of its own (``crates/proxy``). It reports statements with their values through a pipe, so that
only fingerprints and hashes get to the disk. If this process can't keep up, the proxy drops statements and counts them.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError, SystemFailed, reason
from dbdyno.engines import engine_of
from dbdyno.engines.server.engine import ServerEngine
from dbdyno.model.plan.system import SystemSpec
from dbdyno.runtime.worker import worker_path
from dbdyno.runtime.workspace.interruption import Interruption
from dbdyno.trace.bound_values import UNKNOWN_PARAMETER
from dbdyno.trace.header import Header
from dbdyno.trace.journal import read_journal
from dbdyno.trace.journal_writer import JournalWriter
from dbdyno.trace.parquet import TraceWriter
from dbdyno.trace.recorded import Recorded

SOURCE = "a proxy"

_INTERVAL_S = 0.25
# Statements of one member of the journal.
_MEMBER = 20_000
_READ = _PIPE = 1 << 20
_QUEUE_BYTES = 64 << 20


@dataclass(frozen=True)
class ProxyOptions:
    """How to record. ``listen``: address and port; ``certificate``, ``key``: for clients with TLS, PEM files.

    ``queue_bytes``: memory of the proxy for statements that wait to be recorded.
    """

    listen: str
    keep: bool = False
    certificate: str | None = None
    key: str | None = None
    queue_bytes: int = _QUEUE_BYTES


@dataclass
class Observer:
    """What a recording tells its caller. ``listening``: called with the address; ``problem``: with a problem."""

    listening: Callable[[str], None]
    problem: Callable[[str], None]


class Proxy:
    """A running proxy. It ends with this process."""

    def __init__(self, system: SystemSpec, options: ProxyOptions) -> None:
        self._process = subprocess.Popen(
            [worker_path(), "proxy"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "DBDYNO_PARENT": str(os.getpid())},
            # Ctrl-C must not reach it: it ends when everything is read.
            start_new_session=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101
        self._pipe = self._process.stdout.fileno()
        with contextlib.suppress(OSError, AttributeError):
            # The standard size of 64 KB is filled within a millisecond.
            fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, _PIPE)
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(_task(system, options)).encode() + b"\n")
            self._process.stdin.close()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def reports(self) -> Iterator[list[Any] | None]:
        """Yield what it reports, until it ends; ``None`` if it reported nothing for some time.

        Raises SystemFailed if it failed.
        """
        rest = b""
        failure = ""
        while True:
            if not select.select([self._pipe], [], [], _INTERVAL_S)[0]:
                yield None
                continue
            data = os.read(self._pipe, _READ)
            if not data:
                break
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            for line in lines:
                report = json.loads(line)
                if isinstance(report, dict):
                    failure = str(report["message"])
                else:
                    yield report
        code = self._process.wait()
        if failure:
            raise SystemFailed(failure)
        if code != 0:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            raise SystemFailed(f"the proxy {how}")

    def stop(self) -> None:
        """Ask it to end; it reports what it has first."""
        if self._process.poll() is None:
            self._process.terminate()

    def kill(self) -> None:
        """Kill it."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


class ProxyRecorder:
    """Writes what a proxy reports to a journal, at least once per second."""

    def __init__(self, writer: JournalWriter, observer: Observer) -> None:
        self._writer = writer
        self._observer = observer
        self._process = str(os.getpid())
        self._texts: dict[int, str] = {}
        self._batch: list[Recorded] = []
        self.dropped = 0
        """Statements that were dropped since the last write."""
        self._written = time.monotonic()
        self._write_failed = False

    def take(self, report: list[Any] | None) -> None:
        """Take a report of the proxy; ``None``: it has nothing to report."""
        match report:
            case [str(kind), *rest]:
                self._note(kind, rest)
            case [session, text, start_ns, duration_ns, rows, error, size, parameters, is_open]:
                known = self._texts.get(text) if isinstance(text, int) else text
                values = None if parameters is None else [_parameter(each) for each in parameters]
                made = Recorded(session, known, values, start_ns, duration_ns, rows, error, size, is_open)
                self._batch.append(made)
        if len(self._batch) >= _MEMBER or time.monotonic() - self._written >= _INTERVAL_S:
            self.flush()

    def _note(self, kind: str, rest: list[Any]) -> None:
        match kind, rest:
            case "text", [number, text]:
                self._texts[number] = text
            case "forget", []:
                self._texts.clear()
            case "dropped", [count]:
                self.dropped += count
            case "listening", [address]:
                self._observer.listening(address)
            case "problem", [problem]:
                self._observer.problem(problem)

    def flush(self) -> None:
        """Write what waits. If that fails, it is dropped and counted."""
        self._written = time.monotonic()
        if not self._batch and not self.dropped:
            return
        self._batch.sort(key=lambda each: each.start_ns)
        batch, self._batch = self._batch, []
        dropped, self.dropped = self.dropped, 0
        try:
            self._writer.write(batch, dropped, self._process)
        except OSError as error:
            if not self._write_failed:
                self._observer.problem(f"statements can't be written, and are dropped: {reason(error)}")
            self._write_failed = True
            self.dropped += dropped + len(batch)
        else:
            self._write_failed = False


def journal_of(output: Path) -> Path:
    """Return the journal of a recording, which becomes the trace ``output`` when it ends."""
    return output.with_name(f"{output.name}.journal")


def record_proxy(
    system: SystemSpec, output: Path, options: ProxyOptions, interrupted: Interruption, observer: Observer
) -> Header:
    """Run a proxy until ``interrupted`` receives a signal, and write the trace ``output``.

    Raises InputError, and SystemFailed if the proxy failed. Then the trace has what was recorded until then.
    """
    journal = journal_of(output)
    _create(journal)
    recorder = None
    try:
        writer = JournalWriter(journal, system.engine, keep=options.keep, source=SOURCE, trace=output)
        recorder = ProxyRecorder(writer, observer)
        proxy = Proxy(system, options)
        try:
            with interrupted.forward_to(proxy):
                for report in proxy.reports():
                    recorder.take(report)
        finally:
            proxy.kill()
            recorder.flush()
    finally:
        made = None
        if journal.stat().st_size:
            made = convert(journal, output, recorder.dropped if recorder is not None else 0)
        journal.unlink()
    if made is None:
        raise InputError(options.listen, "no statement was recorded", "let the application connect to this address")
    return made


def _create(journal: Path) -> None:
    try:
        os.close(os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        hint = "convert it with `dbdyno trace convert`, or remove it"
        raise InputError(str(journal), "a recording that has not ended, or was killed", hint) from None
    except OSError as error:
        hint = "give a file in an existing, writable directory"
        raise InputError(str(journal), reason(error), hint) from error


def convert(journal: Path, output: Path, dropped: int = 0) -> Header:
    """Write a journal as a trace in Parquet, in bounded memory. Raises InputError, ExtraMissing.

    ``dropped``: dropped statements that the journal doesn't know.
    """
    header, texts, batches = read_journal(journal)
    header.dropped += dropped
    with TraceWriter(output, header) as writer:
        for batch in batches:
            writer.add_batch(batch, texts)
    return header


def _task(system: SystemSpec, options: ProxyOptions) -> dict[str, Any]:
    """Return what the proxy reads. Raises InputError if it can't connect to such a system."""
    engine = engine_of(system.engine)
    if engine.proxy_protocol is None or not isinstance(engine, ServerEngine) or not system.host:
        raise InputError(system.name, "the proxy can't connect to it", "name a PostgreSQL, MySQL or MariaDB server")
    settings = engine.read_settings(system.settings, system.name, named=True)
    if settings.parameters:
        hint = "set it in the application"
        raise InputError(f"{system.name}: {next(iter(settings.parameters))}", "the proxy can't apply settings", hint)
    host = system.host
    return {
        "listen": options.listen,
        "protocol": engine.proxy_protocol,
        "server": {
            # Only URLs put IPv6 addresses in brackets.
            "host": host[1:-1] if host.startswith("[") else host,
            "port": system.port or engine.databases.port,
            "tls": settings.tls.plan(),
        },
        "certificate": options.certificate,
        "key": options.key,
        "queue_bytes": options.queue_bytes,
    }


def _parameter(value: Any) -> Any:
    """Return the value of a parameter as the proxy reported it."""
    if not isinstance(value, dict):
        return value
    return bytes.fromhex(value["hex"]) if "hex" in value else UNKNOWN_PARAMETER
