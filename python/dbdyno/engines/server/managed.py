"""Servers that dbdyno starts: a data directory, a copy of the template, and a server on it for each trial."""

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
from dbdyno.engines.provisioner import Place, Ready
from dbdyno.engines.server.account import hand_over, open_way, server_account, shut_out
from dbdyno.engines.server.apart import IndexesApart, Moving, same_device
from dbdyno.engines.server.data import kept_data
from dbdyno.engines.server.installations import find_installations, how_to_install, installation_of
from dbdyno.engines.server.launch import family_of
from dbdyno.engines.server.preload import preloads
from dbdyno.engines.server.programs import Installation
from dbdyno.engines.server.sampling import sample_anew
from dbdyno.engines.server.server import Server, check_settings, start_server
from dbdyno.engines.server.settings import server_settings_of
from dbdyno.model.events.answers import Loaded
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.runtime.worker import ask
from dbdyno.runtime.workspace.copying import copy_directory, directory_bytes, set_os_cache
from dbdyno.runtime.workspace.listening import AtOnce
from dbdyno.runtime.workspace.renewing import Copies
from dbdyno.runtime.workspace.templates import Template, template
from dbdyno.runtime.workspace.workspace import Workspace

# Connections that are wanted besides the clients': dbdyno's own, and those a server keeps for its superuser.
_FURTHER_CONNECTIONS = 10
_USUAL_CONNECTIONS = 90

# Seconds a server is given to shut down cleanly when it has been filled.
_GRACE_S = 300.0

# Where servers work that may not enter the user's own directories, because they run as another user than root.
_COMMON = Path("/var/tmp")  # noqa: S108


@dataclass
class Served(Ready):
    """A server that runs."""

    server: Server | None = None

    def trouble(self, lost: bool) -> str | None:
        """Say that the server has ended, and its last words."""
        if self.server is None:
            return None
        ended = self.server.seems_to_end() if lost else not self.server.alive()
        if not ended:
            return None
        title = self.server.installation.title
        why = self.server.how_it_ended() or self.server.last_words() or "it wrote nothing"
        return f"{title} ended during the trial: {why}"


class ManagedProvisioner:
    """Starts the servers of one engine."""

    def __init__(self, engine: str, place: Place, moving: Moving) -> None:
        """A server that may not go to the run's workspace gets a place of its own.

        ``moving``: gives the program that moves indexes to a directory of their own.
        """
        self._engine = engine
        self._interrupted = place.interrupted
        self._workspace = place.workspace
        self._own: Workspace | None = None
        # By the program asked for. Looking asks programs for their versions; a run keeps to what it began with.
        self._found: dict[str | None, Installation] = {}
        self.observations: list[dict[str, Any]] = []
        self._apart = IndexesApart(engine, moving)
        self._copies = Copies()
        self._tried: set[tuple[Path, tuple[tuple[str, str], ...]]] = set()

    def check(self, compiled: CompiledCell) -> None:
        """See that there is a server to start, and that it takes the settings: by starting it, where there are any."""
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
            if error.place not in settings.asked or error.place in settings.parameters:
                raise
            name, problem, hint = settings.lacking(installation.title)
            raise InputError(f"{compiled.cell.system.name}: {name}", problem, hint) from None
        except SystemFailed:
            # No error of the user's in the settings is known: its trials will say what is the matter.
            return

    @contextmanager
    def ready(self, compiled: CompiledCell, block: int) -> Iterator[Ready]:
        """Have a server run on a fresh copy of the data, with the cell's settings."""
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
                    # The server's user is changed now, so that what is noted stays but for what the trial does.
                    hand_over(data, server_account(self._engine))
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
                held=room.held,
                preloaded=preloads(compiled.trial),
            )
            page = None if server.preload is None else str(server.preload.page)
            started = time.monotonic()
            try:
                sample_anew(compiled, target(server), self._interrupted)
                if cold:
                    # Only now, so that what is sampled need not come from the device.
                    self._set_os_cache(removed, "cold")
                durations = {
                    "load_s": made.load_s,
                    "copy_s": copied - begun,
                    "start_s": started - copied,
                    "analyze_s": time.monotonic() - started,
                }
                yield Served(target(server), durations, made.loaded, preload=page, server=server)
            finally:
                # Nobody wants its data any more.
                server.stop(0.0)
            again = indexes is None
        finally:
            if again:
                self._copies.give_back(copy)
            else:
                for each in removed:
                    shutil.rmtree(each, ignore_errors=True)

    def bytes_of_copy(self, compiled: CompiledCell) -> int:
        """Return the bytes of the data directory of the template."""
        return directory_bytes(self._template(compiled, self._installation(compiled)).path)

    def close(self) -> None:
        """Remove the place of its own."""
        if self._own is not None:
            self._own.close()

    def _set_os_cache(self, directories: Sequence[Path], state: Literal["warm", "cold"]) -> None:
        for each in directories:
            try:
                set_os_cache(each, state, self._interrupted)
            except OSError as error:
                raise SystemFailed(f"the operating system's cache of {each}: {reason(error)}") from error

    def _try(self, installation: Installation, parameters: Mapping[str, str]) -> None:
        """Start a server on fresh data, and end it. Raises InputError where it does not take a parameter."""
        fresh = self._fresh(installation)
        room = self._room()
        data = room.path / f"data-{secrets.token_hex(4)}"
        try:
            copy_directory(fresh, data, self._interrupted)
            start_server(installation, data, room.path, parameters, remove=[data], held=room.held).stop(0.0)
        except OSError as error:
            raise SystemFailed(f"copying fresh data to {data}: {reason(error)}") from error
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
        """Give the server taken where none is asked for, and note it where it could have been another."""
        found = find_installations(self._engine)
        if not found:
            problem = f"there is no {self._engine} server on this machine to start"
            raise InputError(system, problem, how_to_install(self._engine))
        first, *others = found
        if others:
            installed = {str(each.server): each.title for each in (first, *others)}
            seen = {"kind": "one of several servers", "engine": self._engine, "installed": installed}
            self.observations.append(seen)
        return first

    def _template(self, compiled: CompiledCell, installation: Installation) -> Template:
        directory = self._cache("templates")
        # Another program of the same version may have been built to lay out its files otherwise.
        of = f"{installation.title} {server_settings_of(compiled).program or ''}".strip()
        key = compiled.template_key(f"{of} {compiled.cell.system.engine} {family_of(self._engine).DATABASE}")

        def load(path: Path) -> Any:
            fresh = self._fresh(installation)
            try:
                copy_directory(fresh, path, self._interrupted)
            except OSError as error:
                raise SystemFailed(f"copying fresh data to {path}: {reason(error)}") from error
            self._interrupted.check()
            settings = family_of(self._engine).LOADING[installation.product]
            with start_server(installation, path, path.parent, settings, remove=[path]) as server:
                try:
                    plan = compiled.load_plan(target(server))
                    loaded = ask(plan, Loaded, interrupted=self._interrupted).model_dump(mode="json")["tables"]
                except BaseException as error:
                    # One that breaks connections off (a full disk is such a reason) has said why, though not to them.
                    broken = isinstance(error, SystemFailed) and "the connection" in str(error)
                    said = server.last_words() if broken else ""
                    # Nobody wants its data, so that nobody waits until they are written.
                    server.stop(0.0)
                    if said:
                        raise SystemFailed(f"{error}; {installation.title} said: {said}") from error
                    raise
                with self._interrupted.passing_on_to(AtOnce(server.kill)):
                    whole = server.stop(_GRACE_S)
                if not whole:
                    self._interrupted.check()
                    raise SystemFailed(f"{installation.title} did not shut down cleanly when its tables were loaded")
            return loaded

        return template(directory / f"{key}.data", load)

    def _room(self) -> Workspace:
        """Give the directory servers work in."""
        account = server_account(self._engine)
        # A place that somebody named is taken, or refused with a reason, but never changed for another.
        if self._workspace.chosen or shut_out(self._workspace.path.parent, account) is None:
            return self._workspace
        if self._own is None:
            self._own = Workspace(self._cache("work"))
        return self._own

    def _cache(self, name: str) -> Path:
        """Give a directory to keep things in that the server's user can pass through."""
        account = server_account(self._engine)
        usual = cache_directory()
        if shut_out(usual.parent, account) is None:
            open_way(usual, account)
            root = usual
        else:
            root = common_directory()
        path = root / name
        path.mkdir(exist_ok=True)
        open_way(path, account)
        return path


def target(server: Server) -> dict[str, Any]:
    """Give a server that runs as a plan names it."""
    return {
        "engine": server.installation.engine,
        "host": str(server.socket),
        "port": server.port,
        "user": server.user,
        "database": server.database,
        "process": {"pid": server.pid, "data": str(server.data)},
    }


def _parameters(compiled: CompiledCell) -> dict[str, str]:
    """Give the parameters a server is started with: those asked for, and room for the clients."""
    parameters = dict(server_settings_of(compiled).parameters)
    clients = compiled.definition.load.clients
    most = family_of(compiled.cell.system.engine).CONNECTIONS
    if clients > _USUAL_CONNECTIONS and most is not None:
        parameters.setdefault(most, str(clients + _FURTHER_CONNECTIONS))
    return parameters


def common_directory() -> Path:
    """Give the user's own directory where all users may go. Raises SystemFailed where another has taken its name."""
    path = _COMMON / f"dbdyno-{os.geteuid()}"
    try:
        path.mkdir(mode=0o711, exist_ok=True)
        status = path.lstat()
    except OSError as error:
        raise SystemFailed(f"{path}: the directory cannot be made: {reason(error)}") from error
    if path.is_symlink() or status.st_uid != os.geteuid():
        raise SystemFailed(f"{path}: it belongs to somebody else: set DBDYNO_CACHE to a directory all users may enter")
    return path
