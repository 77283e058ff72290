"""Record the statements that pass a proxy: start it, and write what it reports as a journal.

The proxy is a program of its own (``crates/proxy``), which reports statements through a pipe. If this process can't
keep up, the proxy drops statements and counts them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.engines.server.engine import ServerEngine
from dbdyno.model.plan.system import SystemSpec
from dbdyno.runtime.line_worker import LineWorker
from dbdyno.runtime.workspace.interruption import Interruption
from dbdyno.trace.header import Header
from dbdyno.trace.journal_writer import JournalWriter
from dbdyno.trace.reports import QUEUE_BYTES, Observer, ReportRecorder, open_recording

SOURCE = "a proxy"


@dataclass(frozen=True)
class ProxyOptions:
    """How to record. ``listen``: address and port; ``certificate``, ``key``: for clients with TLS, PEM files.

    ``queue_bytes``: memory of the proxy for statements that wait to be recorded.
    """

    listen: str
    keep: bool = False
    certificate: str | None = None
    key: str | None = None
    queue_bytes: int = QUEUE_BYTES


class Proxy(LineWorker):
    """A running proxy. It ends with this process."""

    def __init__(self, system: SystemSpec, options: ProxyOptions) -> None:
        super().__init__("proxy", _task(system, options))
        self.end_input()


def record_proxy(
    system: SystemSpec, output: Path, options: ProxyOptions, interrupted: Interruption, observer: Observer[[str]]
) -> Header:
    """Run a proxy until ``interrupted`` receives a signal, and write the trace ``output``.

    ``observer.started`` is called with the address.

    Raises InputError, and SystemFailed if the proxy failed. Then the trace has what was recorded until then.
    """
    with open_recording(output) as made:
        writer = JournalWriter(made.journal, system.engine, keep=options.keep, source=SOURCE, trace=output)
        recorder = made.add(ReportRecorder(writer, str(os.getpid()), observer.problem))
        proxy = Proxy(system, options)
        try:
            with interrupted.forward_to(proxy):
                for report in proxy.reports():
                    if report is not None and report[0] == "listening":
                        observer.started(report[1])
                    else:
                        recorder.take(report)
        finally:
            proxy.kill()
    if made.header is None:
        raise InputError(options.listen, "no statement was recorded", "let the application connect to this address")
    return made.header


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
