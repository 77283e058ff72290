"""A web tier before a database: the database as its own engine has it ready, and web servers on it for each trial."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from dbdyno.engines.known import engine_of
from dbdyno.engines.provisioner import Place, Provisioner, Ready
from dbdyno.engines.web.application import application
from dbdyno.engines.web.databases import database_url, statements_at_connect
from dbdyno.engines.web.process import WebProcess
from dbdyno.engines.web.proxies import BACKLOG, find_proxy, start_proxy
from dbdyno.engines.web.server import start_web_server
from dbdyno.engines.web.settings import LOAD, NO_PROXY, OF_DATABASE, WebSettings
from dbdyno.model.events.answers import FactsRead
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import PLAN, CompiledCell
from dbdyno.runtime.worker import ask
from dbdyno.runtime.workspace.processors import bind_all, bound_to, check_processors, processors_of


@dataclass
class Tiers(Ready):
    """A web tier that runs before its database. ``processes``: proxy and web servers; ``database``: what is behind."""

    processes: list[WebProcess] = field(default_factory=list)
    database: Ready | None = None

    @property
    def data(self) -> str | None:
        """Where the database has them."""
        return None if self.database is None else self.database.data

    def trouble(self, lost: bool) -> str | None:
        """Say which process has ended, and its last words; the database's first, since others fail with it."""
        behind = None if self.database is None else self.database.trouble(lost)
        if behind is not None:
            return behind
        for process in self.processes:
            if process.seems_to_end() if lost else not process.alive():
                return f"{process.title} ended during the trial: {process.last_words() or 'it wrote nothing'}"
        return None

    def check(self, result: TrialResult) -> None:
        """Nothing: what the web servers run is theirs."""


class WebProvisioner:
    """Starts web tiers."""

    def __init__(self, place: Place) -> None:
        """Nothing is started yet."""
        self._place = place
        self._databases: dict[str, Provisioner] = {}
        self._program: Path | None = None
        # Those of the databases' provisioners.
        self.observations: list[dict[str, Any]] = []

    def check(self, compiled: CompiledCell) -> None:
        """See that application, proxy, processors and database are there; the first time the application is built."""
        settings, place = web_settings_of(compiled), compiled.cell.system.name
        if settings.proxy != NO_PROXY:
            find_proxy(settings.proxy, place)
        check_processors(settings.processors, place)
        behind = behind_web(compiled)
        self._database(behind).check(behind)
        self.observations = [seen for each in self._databases.values() for seen in each.observations]
        self._program = self._program or application()

    @contextmanager
    def ready(self, compiled: CompiledCell, block: int) -> Iterator[Ready]:
        """Have the database ready, web servers on it, and a proxy before them where one is asked for."""
        settings = web_settings_of(compiled)
        behind = behind_web(compiled)
        self._program = self._program or application()
        workspace = self._place.workspace
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
                    start_web_server(self._program, url, workspace.path, options, held=workspace.held, under=under)
                )
                for _ in range(settings.servers)
            ]
            front = servers[0]
            if settings.proxy != NO_PROXY:
                program = find_proxy(settings.proxy, compiled.cell.system.name)
                addresses = [each.address for each in servers]
                front = stack.enter_context(
                    start_proxy(
                        settings.proxy,
                        program,
                        addresses,
                        workspace.path,
                        held=workspace.held,
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
        """Web tiers are not interleaved, for which alone it would be asked."""
        return 0

    def close(self) -> None:
        """Close the databases'."""
        with ExitStack() as stack:
            for each in self._databases.values():
                stack.callback(each.close)

    def _facts(self, compiled: CompiledCell, database: Ready) -> dict[str, Any]:
        """Read back what the database is, whose durability is that of the whole, and name it as the web tier's."""
        task = {"kind": "inspect", "target": database.target}
        facts = ask({"schema": PLAN, "seed": 1, "task": task}, FactsRead, interrupted=self._place.interrupted).engine
        named = {
            "engine": compiled.cell.system.engine,
            "version": f"{facts.engine} {facts.version}",
            "settings": {OF_DATABASE + name: value for name, value in facts.settings.items()},
        }
        return facts.model_copy(update=named).model_dump(mode="json", by_alias=True)

    def _database(self, behind: CompiledCell) -> Provisioner:
        name = behind.cell.system.engine
        if name not in self._databases:
            self._databases[name] = engine_of(name).provisioner(behind.cell.system, self._place)
        return self._databases[name]


def web_settings_of(compiled: CompiledCell) -> WebSettings:
    """Give a cell's settings of its web tier."""
    return compiled.settings if isinstance(compiled.settings, WebSettings) else WebSettings()


def behind_web(compiled: CompiledCell) -> CompiledCell:
    """Give the cell of the database that is behind a web tier, with the same tables and without its requests."""
    settings = web_settings_of(compiled)
    cell = replace(compiled.cell, system=settings.system, settings=settings.inner)
    return replace(compiled, cell=cell, trial=compiled.trial | {"statements": [], "transactions": []})


def _target(front: WebProcess, servers: list[WebProcess]) -> dict[str, Any]:
    """Give the service as a plan names it: the proxy, or all web servers, over which the clients are divided."""
    others = servers[1:] if front is servers[0] else []
    return {"engine": "http", **_place(front), "others": [_place(each) for each in others]}


def _place(process: WebProcess) -> dict[str, Any]:
    host, _, port = process.address.rpartition(":")
    return {"host": host, "port": int(port)}


def _tiers(front: WebProcess, servers: list[WebProcess], database: Ready) -> dict[str, int]:
    """Give the first process of each tier, by its name."""
    tiers = {} if front is servers[0] else {"proxy": front.pid}
    tiers |= {f"web {number}": each.pid for number, each in enumerate(servers, 1)}
    behind = database.target.get("process")
    return tiers if behind is None else tiers | {"database": behind["pid"]}
