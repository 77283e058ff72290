"""Services that run already: nothing is made on them, and nothing is started."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.engines.http.settings import HttpSettings
from dbdyno.engines.passwords import password_of
from dbdyno.engines.provisioner import Place, Ready
from dbdyno.engines.writes import ALLOW, allowed, writing_statements
from dbdyno.model.events.answers import FactsRead
from dbdyno.model.plan.cell import PLAN, CompiledCell
from dbdyno.model.plan.system import SystemSpec
from dbdyno.runtime.worker import ask

_PORT, _TLS_PORT = 80, 443
_TLS = "https"

# Seconds for the answer to one request, connecting included, beside the time that the system's own options give it.
_LONGEST_S = 60.0


class HttpProvisioner:
    """Sees that a service answers, and that nothing is changed on it unless that is allowed."""

    def __init__(self, system: SystemSpec, place: Place) -> None:
        """``system``: the service; nothing is connected yet. Raises InputError where no host is named."""
        if system.host is None:
            hint = f"name one that runs: `{system.scheme or system.engine}://host:port/`"
            raise InputError(system.name, "dbdyno starts no service itself", hint)
        self.observations: list[dict[str, Any]] = []
        self._system = system
        self._allow_writes = place.allow_writes
        self._interrupted = place.interrupted
        self._judged: set[str] = set()

    def check(self, compiled: CompiledCell) -> None:
        """See that the service answers, and what its requests change there."""
        target = self._target(compiled)
        task = {"kind": "inspect", "target": target}
        longest = _LONGEST_S + target["timeout_ms"] / 1000
        ask({"schema": PLAN, "seed": 1, "task": task}, FactsRead, longest, self._interrupted)
        self._judge(compiled, target)

    def _judge(self, compiled: CompiledCell, target: dict[str, Any]) -> None:
        texts = repr((compiled.trial["statements"], compiled.trial["transactions"]))
        if texts in self._judged:
            return
        self._judged.add(texts)
        found = writing_statements(compiled, target)
        if not found:
            return
        if not self._allow_writes:
            more = f", and {len(found) - 1} more" if len(found) > 1 else ""
            problem = f"{found[0].told}{more}, and the service was not made by dbdyno"
            raise InputError(self._system.name, problem, f"use a service made for tests, and allow it with `{ALLOW}`")
        self.observations.append(allowed(self._system, "the service", found))

    @contextmanager
    def ready(self, compiled: CompiledCell, block: int) -> Iterator[Ready]:
        """Give the service as it is."""
        yield Ready(self._target(compiled))

    def bytes_of_copy(self, compiled: CompiledCell) -> int:
        """Nothing is copied."""
        return 0

    def close(self) -> None:
        """Nothing was made."""

    def _target(self, compiled: CompiledCell) -> dict[str, Any]:
        # Of several systems that are one service, each has its own.
        system = compiled.cell.system
        settings = compiled.settings if isinstance(compiled.settings, HttpSettings) else HttpSettings()
        encrypted = system.scheme == _TLS
        if not encrypted and (settings.ca is not None or not settings.verify):
            name = "ca" if settings.ca is not None else "verify"
            raise InputError(
                f"{system.name}: {name}", "the connection is not encrypted", "write `https://`, or leave it out"
            )
        host, base = system.host or "", (system.database or "").strip("/")
        return {
            "engine": system.engine,
            # An address of IPv6 stands in brackets, in a URL only.
            "host": host[1:-1] if host.startswith("[") and host.endswith("]") else host,
            "port": system.port or (_TLS_PORT if encrypted else _PORT),
            "base": f"/{base}" if base else "",
            "password": password_of(system),
            "version": settings.version,
            "keepalive": settings.keepalive,
            "tls": {"mode": "verify-full" if settings.verify else "require", "roots": settings.ca}
            if encrypted
            else None,
            "timeout_ms": round(settings.timeout_s * 1000),
        }
