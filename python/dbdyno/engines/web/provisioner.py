"""Provision web tiers: the engine's provisioner prepares the database, and each trial starts its own web servers."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from dbdyno.engines.lookup import engine_of
from dbdyno.engines.provisioner import Provisioner, ProvisioningContext, Ready
from dbdyno.engines.web.application import application
from dbdyno.engines.web.databases import database_url, statements_at_connect
from dbdyno.engines.web.process import WebProcess
from dbdyno.engines.web.proxies import BACKLOG, find_proxy, start_proxy
from dbdyno.engines.web.server import start_web_server
from dbdyno.engines.web.settings import LOAD, NO_PROXY, OF_DATABASE, WebSettings
from dbdyno.model.events.answers import FactsRead
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.tasks import InspectTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.worker import ask
from dbdyno.runtime.workspace.processors import bind_all, bound_to, check_processors, processors_of


@dataclass
class Tiers(Ready):
    """A running web tier. ``processes``: proxy and web servers; ``database``: the database behind it."""

    processes: list[WebProcess] = field(default_factory=list)
    database: Ready | None = None

    @property
    def data(self) -> str | None:
        """The path of the database's data."""
        return None if self.database is None else self.database.data

    def trouble(self, lost: bool) -> str | None:
        """Return which process has ended, and its last log messages. The database is first, as others depend on it."""
        behind = None if self.database is None else self.database.trouble(lost)
        if behind is not None:
            return behind
        for process in self.processes:
            if process.ends_soon() if lost else not process.alive():
                return f"{process.title} ended during the trial: {process.last_words() or 'it wrote nothing'}"
        return None

    def check(self, result: TrialResult) -> None:
        """Do nothing, because the web servers choose the statements."""


class WebProvisioner:
    """Starts web tiers."""

    def __init__(self, context: ProvisioningContext) -> None:
        """Create the provisioner without starting a process."""
        self._context = context
        self._databases: dict[str, Provisioner] = {}
        self._program: Path | None = None
        # Observations of the databases' provisioners.
        self.observations: list[dict[str, Any]] = []

    def check(self, compiled: CompiledCell) -> None:
        """Check that proxy, CPUs and database are available. Build the application if necessary."""
        settings, location = web_settings_of(compiled), compiled.cell.system.name
        if settings.proxy != NO_PROXY:
            find_proxy(settings.proxy, location)
        check_processors(settings.processors, location)
        behind = behind_web(compiled)
        self._database(behind).check(behind)
        self.observations = [seen for provisioner in self._databases.values() for seen in provisioner.observations]
        self._program = self._program or application()

    @contextmanager
    def ready(self, compiled: CompiledCell, block: int) -> Iterator[Ready]:
        """Prepare the database and start the web servers, and a proxy if one is requested."""
        settings = web_settings_of(compiled)
        behind = behind_web(compiled)
        self._program = self._program or application()
        workspace = self._context.workspace
        with self._database(behind).ready(behind, block) as database, ExitStack() as stack:
            begun = monotonic()
            process = database.target.get("process")
            if process is not None and "db" in settings.processors:
                bind_all(process["pid"], settings.processors["db"])
            url = database_url(database.target)
            options = [*settings.options, *statements_at_connect(database.target)]
            under = bound_to(settings.processors.get("web"))
            servers: list[WebProcess] = [
                stack.enter_context(
                    start_web_server(
                        self._program, url, workspace.path, options, held=workspace.guard_pipe, under=under
                    )
                )
                for _ in range(settings.servers)
            ]
            front = servers[0]
            if settings.proxy != NO_PROXY:
                program = find_proxy(settings.proxy, compiled.cell.system.name)
                addresses = [server.address for server in servers]
                front = stack.enter_context(
                    start_proxy(
                        settings.proxy,
                        program,
                        addresses,
                        workspace.path,
                        held=workspace.guard_pipe,
                        processors=settings.processors.get("proxy"),
                        backlog=settings.numbers.get("backlog", BACKLOG),
                    )
                )
            durations = database.durations | {"web_start_s": monotonic() - begun}
            processes = servers if front is servers[0] else [front, *servers]
            tiers = _tiers(front, servers, database)
            yield Tiers(
                _target(front, servers),
                durations,
                database.loaded,
                {name: [pid] for name, pid in tiers.items()},
                {name: processors_of(pid) for name, pid in tiers.items()},
                self._facts(compiled, database),
                settings.processors.get(LOAD),
                processes,
                database,
            )

    def bytes_of_copy(self, compiled: CompiledCell) -> int:
        """Return 0; only interleaved trials need it, and web tiers are not interleaved."""
        return 0

    def close(self) -> None:
        """Close the databases' provisioners."""
        with ExitStack() as stack:
            for provisioner in self._databases.values():
                stack.callback(provisioner.close)

    def _facts(self, compiled: CompiledCell, database: Ready) -> dict[str, Any]:
        """Return the database's facts as the web tier's, because the database determines durability."""
        plan = WorkerPlan(task=InspectTask(target=database.target))
        facts = ask(plan, FactsRead, interrupted=self._context.interrupted).engine
        named = {
            "engine": compiled.cell.system.engine,
            "version": f"{facts.engine} {facts.version}",
            "settings": {OF_DATABASE + name: value for name, value in facts.settings.items()},
        }
        return facts.model_copy(update=named).model_dump(mode="json", by_alias=True)

    def _database(self, behind: CompiledCell) -> Provisioner:
        name = behind.cell.system.engine
        if name not in self._databases:
            self._databases[name] = engine_of(name).provisioner(behind.cell.system, self._context)
        return self._databases[name]


def web_settings_of(compiled: CompiledCell) -> WebSettings:
    """Return the web tier settings of a cell."""
    return compiled.settings if isinstance(compiled.settings, WebSettings) else WebSettings()


def behind_web(compiled: CompiledCell) -> CompiledCell:
    """Return the cell of the database behind a web tier: the same tables, but no requests."""
    settings = web_settings_of(compiled)
    cell = replace(compiled.cell, system=settings.system, settings=settings.inner)
    return replace(compiled, cell=cell, task=replace(compiled.task, statements=[], transactions=[]))


def _target(front: WebProcess, servers: list[WebProcess]) -> dict[str, Any]:
    """Return the service's target as in a plan: the proxy, or all web servers, among which clients are distributed."""
    others = servers[1:] if front is servers[0] else []
    return {"engine": "http", **_process_target(front), "others": [_process_target(process) for process in others]}


def _process_target(process: WebProcess) -> dict[str, Any]:
    host, _, port = process.address.rpartition(":")
    return {"host": host, "port": int(port)}


def _tiers(front: WebProcess, servers: list[WebProcess], database: Ready) -> dict[str, int]:
    """Return the first process id of each tier, by the tier's name."""
    tiers = {} if front is servers[0] else {"proxy": front.pid}
    tiers |= {f"web {number}": process.pid for number, process in enumerate(servers, 1)}
    behind = database.target.get("process")
    return tiers if behind is None else tiers | {"database": behind["pid"]}
