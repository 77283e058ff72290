"""Provision servers that dbdyno starts: each trial gets a copy of the template data and a server on it."""

import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dbdyno.base.errors import InputError, SystemFailed, reason
from dbdyno.base.paths import cache_directory
from dbdyno.engines.provisioner import ProvisioningContext, Ready
from dbdyno.engines.server.account import allow_traversal, change_owner, closed_directory, server_account
from dbdyno.engines.server.data import kept_data
from dbdyno.engines.server.index_directories import IndexDirectories, Moving, same_device
from dbdyno.engines.server.installations import find_installations, how_to_install, installation_of
from dbdyno.engines.server.launch import family_of
from dbdyno.engines.server.planner_statistics import resample_tables
from dbdyno.engines.server.preload import preloads
from dbdyno.engines.server.programs import Installation
from dbdyno.engines.server.server import Server, check_settings, start_server
from dbdyno.engines.server.settings import server_settings_of
from dbdyno.model.events.answers import Loaded
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.runtime.worker import ask
from dbdyno.runtime.workspace.directory_copies import DirectoryCopies
from dbdyno.runtime.workspace.file_copies import copy_directory, directory_bytes, set_os_cache
from dbdyno.runtime.workspace.interruption import KillOnStop
from dbdyno.runtime.workspace.templates import Template, template
from dbdyno.runtime.workspace.workspace import Workspace

# Connections besides the clients': dbdyno's own, and those that a server reserves for its superuser.
_FURTHER_CONNECTIONS = 10
_USUAL_CONNECTIONS = 90

# Time limit in seconds for a clean shutdown after loading.
_GRACE_S = 300.0

# Directory for servers that may not enter the user's own directories, because they don't run as root.
_COMMON = Path("/var/tmp")  # noqa: S108


@dataclass
class Served(Ready):
    """A running server."""

    server: Server | None = None

    def trouble(self, lost: bool) -> str | None:
        """Return that the server has ended, with its last log messages; ``None`` if it runs."""
        if self.server is None:
            return None
        ended = self.server.ends_soon() if lost else not self.server.alive()
        if not ended:
            return None
        title = self.server.installation.title
        why = self.server.how_it_ended() or self.server.last_words() or "it wrote nothing"
        return f"{title} ended during the trial: {why}"


class ManagedProvisioner:
    """Starts the servers of one engine."""

    def __init__(self, engine: str, context: ProvisioningContext, moving: Moving) -> None:
        """A server that may not enter the run's workspace works in another directory.

        ``moving``: returns the program that moves indexes to a separate directory.
        """
        self._engine = engine
        self._interrupted = context.interrupted
        self._workspace = context.workspace
        self._own: Workspace | None = None
        # By requested program. Detection executes programs for their versions, and the choice must not change in a run.
        self._found: dict[str | None, Installation] = {}
        self.observations: list[dict[str, Any]] = []
        self._apart = IndexDirectories(engine, moving)
        self._copies = DirectoryCopies()
        self._tried: set[tuple[Path, tuple[tuple[str, str], ...]]] = set()

    def check(self, compiled: CompiledCell) -> None:
        """Check that a server is installed. If there are settings, start it once to check that it accepts them."""
        installation = self._installation(compiled)
        settings = server_settings_of(compiled)
        check_settings(installation, settings.parameters)
        self._room()
        if settings.index_directory is not None:
            self._apart.check(settings.index_directory, compiled.cell.system.name)
            if not same_device(Path(settings.index_directory), self._room().path):
                seen = {"system": compiled.cell.system.name, "directory": settings.index_directory}
                self.observations.append({"kind": "indexes on another device", **seen})
        parameters = (_parameters(compiled) if settings.parameters else {}) | dict(settings.asked)
        known = (installation.server, tuple(sorted(parameters.items())))
        if not parameters or known in self._tried:
            return
        self._tried.add(known)
        try:
            self._try(installation, parameters)
        except InputError as error:
            if error.location not in settings.asked or error.location in settings.parameters:
                raise
            name, problem, hint = settings.lacking(installation.title)
            raise InputError(f"{compiled.cell.system.name}: {name}", problem, hint) from None
        except SystemFailed:
            # The failure isn't known to be an error in the settings; the trials will report it.
            return

    @contextmanager
    def ready(self, compiled: CompiledCell, block: int) -> Iterator[Ready]:
        """Run a server with the cell's settings on a new copy of the data."""
        installation = self._installation(compiled)
        made = self._template(compiled, installation)
        room = self._room()
        work = room.path
        asked = server_settings_of(compiled).index_directory
        indexes = None if asked is None else self._apart.directory(asked)
        cold = compiled.definition.load.fresh_os_cache == "cold"
        begun = time.monotonic()
        try:
            copy = self._copies.take(made.path, lambda: work / f"data-{secrets.token_hex(4)}")
        except OSError as error:
            raise SystemFailed(f"copying the loaded tables to {work}: {reason(error)}") from error
        data = copy.path
        removed = [data] if indexes is None else [data, indexes]
        again = False
        try:
            try:
                copy.renew(self._interrupted)
                if indexes is None:
                    # Change the owner before noting the files' state, so that only the trial's changes differ from it.
                    change_owner(data, server_account(self._engine))
                    copy.note()
                else:
                    self._apart.move(installation, data, indexes)
                if not cold:
                    self._set_os_cache(removed, "warm")
            except OSError as error:
                raise SystemFailed(f"copying the loaded tables to {data}: {reason(error)}") from error
            copied = time.monotonic()
            server = start_server(
                installation,
                data,
                work,
                _parameters(compiled),
                remove=removed,
                held=room.guard_pipe,
                preloaded=preloads(compiled.task),
            )
            page = None if server.preload is None else str(server.preload.page)
            started = time.monotonic()
            try:
                resample_tables(compiled, target(server), self._interrupted)
                if cold:
                    # After sampling, so that sampling needn't read from the device.
                    self._set_os_cache(removed, "cold")
                durations = {
                    "load_s": made.load_s,
                    "copy_s": copied - begun,
                    "start_s": started - copied,
                    "analyze_s": time.monotonic() - started,
                }
                yield Served(target(server), durations, made.loaded, preload=page, server=server)
            finally:
                # The data are no longer needed, so don't wait for a clean shutdown.
                server.stop(0.0)
            again = indexes is None
        finally:
            if again:
                self._copies.give_back(copy)
            else:
                for path in removed:
                    shutil.rmtree(path, ignore_errors=True)

    def bytes_of_copy(self, compiled: CompiledCell) -> int:
        """Return the size of the template's data directory in bytes."""
        return directory_bytes(self._template(compiled, self._installation(compiled)).path)

    def close(self) -> None:
        """Remove the separate workspace, if one was created."""
        if self._own is not None:
            self._own.close()

    def _set_os_cache(self, directories: Sequence[Path], state: Literal["warm", "cold"]) -> None:
        for directory in directories:
            try:
                set_os_cache(directory, state, self._interrupted)
            except OSError as error:
                raise SystemFailed(f"the operating system's cache of {directory}: {reason(error)}") from error

    def _try(self, installation: Installation, parameters: Mapping[str, str]) -> None:
        """Start and stop a server on new data. Raises InputError if it rejects a parameter."""
        fresh = self._fresh(installation)
        room = self._room()
        data = room.path / f"data-{secrets.token_hex(4)}"
        try:
            copy_directory(fresh, data, self._interrupted)
            start_server(installation, data, room.path, parameters, remove=[data], held=room.guard_pipe).stop(0.0)
        except OSError as error:
            raise SystemFailed(f"copying new data to {data}: {reason(error)}") from error
        finally:
            shutil.rmtree(data, ignore_errors=True)

    def _fresh(self, installation: Installation) -> Path:
        return kept_data(installation, self._cache("fresh"))

    def _installation(self, compiled: CompiledCell) -> Installation:
        program, system = server_settings_of(compiled).program, compiled.cell.system.name
        if program not in self._found:
            self._found[program] = (
                self._first(system) if program is None else installation_of(self._engine, program, system)
            )
        return self._found[program]

    def _first(self, system: str) -> Installation:
        """Return the default server, and add an observation if several are installed."""
        installations = find_installations(self._engine)
        if not installations:
            problem = f"no {self._engine} server is installed on this machine"
            raise InputError(system, problem, how_to_install(self._engine))
        first, *others = installations
        if others:
            installed = {str(installation.server): installation.title for installation in (first, *others)}
            seen = {"kind": "one of several servers", "engine": self._engine, "installed": installed}
            self.observations.append(seen)
        return first

    def _template(self, compiled: CompiledCell, installation: Installation) -> Template:
        directory = self._cache("templates")
        # Another build of the same version may use a different file layout.
        name = f"{installation.title} {server_settings_of(compiled).program or ''}".strip()
        key = compiled.template_key(f"{name} {compiled.cell.system.engine} {family_of(self._engine).DATABASE}")

        def load(path: Path) -> Any:
            fresh = self._fresh(installation)
            try:
                copy_directory(fresh, path, self._interrupted)
            except OSError as error:
                raise SystemFailed(f"copying new data to {path}: {reason(error)}") from error
            self._interrupted.check()
            settings = family_of(self._engine).LOADING[installation.product]
            with start_server(installation, path, path.parent, settings, remove=[path]) as server:
                try:
                    plan = compiled.load_plan(target(server))
                    loaded = ask(plan, Loaded, interrupted=self._interrupted).model_dump(mode="json")["tables"]
                except BaseException as error:
                    # A server that closes connections (e.g. because of a full disk) only logs the reason.
                    broken = isinstance(error, SystemFailed) and "the connection" in str(error)
                    said = server.last_words() if broken else ""
                    # The data are no longer needed, so don't wait until they are written.
                    server.stop(0.0)
                    if said:
                        raise SystemFailed(f"{error}; {installation.title} reported: {said}") from error
                    raise
                with self._interrupted.forward_to(KillOnStop(server.kill)):
                    whole = server.stop(_GRACE_S)
                if not whole:
                    self._interrupted.check()
                    raise SystemFailed(f"{installation.title} did not shut down cleanly after loading the tables")
            return loaded

        return template(directory / f"{key}.data", load)

    def _room(self) -> Workspace:
        """Return the workspace for servers."""
        account = server_account(self._engine)
        # A directory that the user named is used or rejected with an error, but never replaced.
        if self._workspace.chosen or closed_directory(self._workspace.path.parent, account) is None:
            return self._workspace
        if self._own is None:
            self._own = Workspace(self._cache("work"))
        return self._own

    def _cache(self, name: str) -> Path:
        """Return a persistent directory that the server's user can traverse."""
        account = server_account(self._engine)
        usual = cache_directory()
        if closed_directory(usual.parent, account) is None:
            allow_traversal(usual, account)
            root = usual
        else:
            root = common_directory()
        path = root / name
        path.mkdir(exist_ok=True)
        allow_traversal(path, account)
        return path


def target(server: Server) -> dict[str, Any]:
    """Return a running server's target, as in a plan."""
    return {
        "engine": server.installation.engine,
        "host": str(server.socket),
        "port": server.port,
        "user": server.user,
        "database": server.database,
        "process": {"pid": server.pid, "data": str(server.data)},
    }


def _parameters(compiled: CompiledCell) -> dict[str, str]:
    """Return the server's parameters: those requested, and enough connections for the clients."""
    parameters = dict(server_settings_of(compiled).parameters)
    clients = compiled.definition.load.clients
    most = family_of(compiled.cell.system.engine).CONNECTIONS
    if clients > _USUAL_CONNECTIONS and most is not None:
        parameters.setdefault(most, str(clients + _FURTHER_CONNECTIONS))
    return parameters


def common_directory() -> Path:
    """Return dbdyno's directory that all users may enter. Raises SystemFailed if another user owns it."""
    path = _COMMON / f"dbdyno-{os.geteuid()}"
    try:
        path.mkdir(mode=0o711, exist_ok=True)
        status = path.lstat()
    except OSError as error:
        raise SystemFailed(f"{path}: can't create the directory: {reason(error)}") from error
    if path.is_symlink() or status.st_uid != os.geteuid():
        raise SystemFailed(f"{path}: another user owns it: set DBDYNO_CACHE to a directory that all users may enter")
    return path
