"""Check running services. dbdyno neither starts them nor creates data on them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.engines.http.settings import HttpSettings
from dbdyno.engines.passwords import password_of
from dbdyno.engines.provisioner import ProvisioningContext, Ready
from dbdyno.engines.writes import ALLOW, allowed, writing_statements
from dbdyno.model.events.answers import FactsRead
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.plan.tasks import InspectTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.worker import ask

_PORT, _TLS_PORT = 80, 443
_TLS = "https"

# Time limit in seconds for connecting and one request, in addition to the system's own `timeout`.
_TIMEOUT_S = 60.0


class HttpProvisioner:
    """Checks that a service answers, and that requests don't write unless that is allowed."""

    def __init__(self, system: SystemSpec, context: ProvisioningContext) -> None:
        """``system``: the service. Doesn't connect yet. Raises InputError if the URL has no host."""
        if system.host is None:
            hint = f"name a running service: `{system.scheme or system.engine}://host:port/`"
            raise InputError(system.name, "dbdyno can't start HTTP services", hint)
        self.observations: list[dict[str, Any]] = []
        self._system = system
        self._allow_writes = context.allow_writes
        self._interrupted = context.interrupted
        self._judged: set[str] = set()

    def check(self, compiled: CompiledCell) -> None:
        """Check that the service answers, and whether requests may write."""
        target = self._target(compiled)
        longest = _TIMEOUT_S + target["timeout_ms"] / 1000
        ask(WorkerPlan(task=InspectTask(target=target)), FactsRead, longest, self._interrupted)
        self._judge(compiled, target)

    def _judge(self, compiled: CompiledCell, target: dict[str, Any]) -> None:
        texts = repr((compiled.task.statements, compiled.task.transactions))
        if texts in self._judged:
            return
        self._judged.add(texts)
        writings = writing_statements(compiled, target)
        if not writings:
            return
        if not self._allow_writes:
            more = f", and {len(writings) - 1} more" if len(writings) > 1 else ""
            problem = f"{writings[0].clause}{more}, and dbdyno didn't create the service"
            raise InputError(self._system.name, problem, f"use a test service, and allow it with `{ALLOW}`")
        self.observations.append(allowed(self._system, "the service", writings))

    @contextmanager
    def ready(self, compiled: CompiledCell, block: int) -> Iterator[Ready]:
        """Yield the service's target."""
        yield Ready(self._target(compiled))

    def bytes_of_copy(self, compiled: CompiledCell) -> int:
        """Return 0, because trials don't copy data."""
        return 0

    def close(self) -> None:
        """Do nothing."""

    def _target(self, compiled: CompiledCell) -> dict[str, Any]:
        # Several systems on the same service may have different passwords.
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
            # Only URLs put IPv6 addresses in brackets.
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
