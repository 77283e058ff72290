"""Provision running servers: create databases on them, or use the database that the URL names."""

import fcntl
import hashlib
import json
import math
import re
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.base.paths import cache_directory
from dbdyno.base.timestamps import utc_now
from dbdyno.engines.lookup import engine_of
from dbdyno.engines.passwords import password_of
from dbdyno.engines.provisioner import ProvisioningContext, Ready
from dbdyno.engines.server.account import current_user
from dbdyno.engines.server.databases import Databases
from dbdyno.engines.server.ownership import ENDS, FileLock, OwnershipLock, SessionLock, database_name, new_token
from dbdyno.engines.server.planner_statistics import resample_tables
from dbdyno.engines.server.settings import ServerSettings, server_settings_of
from dbdyno.engines.server.tls import Tls
from dbdyno.engines.writes import ALLOW, allowed, not_ours, reaching_statements, refuse, writing_statements
from dbdyno.model.events.answers import FactsRead, Loaded
from dbdyno.model.events.reading import E
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.serialization import as_json
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.plan.tasks import InspectTask, LoadTask, Target
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.model.result.reading import JsonObject
from dbdyno.runtime.worker import ask

# Time limit in seconds for creating, copying or dropping a database, and for any other answer.
_TIMEOUT_S = 600.0

# Resolving a name from a file or a cache takes microseconds.
_SLOW_S = 0.01
_LOOKUPS = 3
_CONNECT_TIMEOUT_S = 5.0


# A server's answer to a connection attempt, with its code, or an invalid MongoDB option. Other errors, such as an
# unreachable server, aren't caused by the settings.
_REFUSAL = re.compile(
    r"connecting to .*?: (?P<words>.*\((?:\d+, )?[0-9A-Z]{5}\)|(?:unknown option|`\w+` must be) .*)", re.DOTALL
)


# SQLSTATE of PostgreSQL, MariaDB and MySQL for a write in a read-only transaction.
_ONLY_READS = "25006"


@dataclass(kw_only=True)
class Authenticated(Ready):
    """The user's own database, in read-only sessions, so that the server rejects undetected writes."""

    system: SystemSpec

    def check(self, result: TrialResult) -> None:
        """Raise InputError if the server rejected a write."""
        for message in result.failures.values():
            if _ONLY_READS in message:
                clause = f"a statement writes for some of its values (the server rejected it: {message})"
                raise not_ours(self.system, f"the database `{self.target['database']}`", clause)


class NamedProvisioner:
    """Creates databases on one server, and removes them.

    Their names are unique to the run, which holds a lock for them. It also removes the databases of killed runs, but
    never those of running ones.
    """

    def __init__(self, system: SystemSpec, databases: Databases, context: ProvisioningContext) -> None:
        """``system``: the server; ``databases``: how to create databases on it. Doesn't connect yet."""
        self._allow_writes = context.allow_writes
        self._databases = databases
        self.observations: list[dict[str, Any]] = []
        self._resolved = False
        self._judged: set[str] = set()
        self._system = system
        self._interrupted = context.interrupted
        # The key of the data in the template database, and how long loading them took.
        self._key = ""
        self._loaded: dict[str, Any] = {}
        self._tls = Tls()
        self._lock: IO[bytes] | None = None
        self._token = new_token()
        self._ownership: OwnershipLock | None = None
        self._checked = False
        self._made: set[str] = set()

    def check(self, compiled: CompiledCell) -> None:
        """Check that the server answers, and that no other run of the user uses it."""
        if not self._resolved:
            self.observations += resolution(self._system.name, self._host, self._port)
            self._resolved = True
        self._tls = server_settings_of(compiled).tls
        self._inspect(compiled)
        if not self._checked:
            # dbdyno's own statements use the login of a system that the server accepted.
            self._system = compiled.cell.system
        self._judge(compiled)
        if _makes_data(compiled):
            if self._lock is None:
                self._lock = self._take_lock()
            self._hold()
        self._checked = True

    def _hold(self) -> None:
        """Acquire the lock on this run's databases. Raises SystemFailed.

        If the lock was lost, e.g. because the server was restarted, other runs may have dropped the databases. Then
        this run uses new names.
        """
        if self._ownership is not None and self._ownership.alive:
            return
        if self._ownership is not None:
            self._ownership.release()
            self._token, self._key = new_token(), ""
        if self._databases.session_lock:
            self._ownership = SessionLock(self._target(None, self._own_database), self._token, self._drop)
        else:
            self._ownership = FileLock(self._system, self._token, self._drop)

    def _judge(self, compiled: CompiledCell) -> None:
        """Raise InputError if a statement may write to a database that dbdyno didn't create, unless that is allowed.

        An experiment without tables of its own uses the database that the URL names. Otherwise it uses a database
        created for it, and only statements that name another database can leave it.
        """
        task = compiled.task.with_all_statements()
        texts = [compiled.before, compiled.tables, compiled.after, task.statements, task.transactions, task.prepare]
        asked = json.dumps([*as_json(texts), list(server_settings_of(compiled).parameters.items())])
        if asked in self._judged:
            return
        target = self._target(compiled, self._own_database)
        if _makes_data(compiled):
            own = [database_name(self._token, end) for end in ENDS]
            what, writings = "what it names", reaching_statements(compiled, target, own)
        else:
            what, writings = f"the database `{self._own_database}`", writing_statements(compiled, target)
        if not self._allow_writes:
            refuse(compiled.cell.system, what, writings)
        self._judged.add(asked)
        if writings:
            self.observations.append(allowed(compiled.cell.system, what, writings))

    def _inspect(self, compiled: CompiledCell) -> None:
        """Check that the server answers and accepts the session's settings.

        Raises SystemFailed, or InputError if the server answers without the settings.
        """
        target = self._target(compiled, self._own_database)
        target["session"] += [list(pair) for pair in server_settings_of(compiled).asked.items()]
        try:
            self._ask(InspectTask(target=target), FactsRead)
        except SystemFailed as error:
            refusal = _REFUSAL.fullmatch(str(error))
            if refusal is None or not target["session"]:
                raise
            self._ask(InspectTask(target=target | {"session": []}), FactsRead)
            hint = "use settings that a session of this server can change"
            raise InputError(self._system.name, f"the server rejects the settings: {refusal['words']}", hint) from None

    @contextmanager
    def ready(self, compiled: CompiledCell, block: int) -> Iterator[Ready]:
        """Provide a database with freshly loaded tables, or the URL's database if the experiment has no tables."""
        if not self._checked:
            # check() was skipped because the run continues an earlier one, or it failed because the server was down.
            self.check(compiled)
        self._judge(compiled)
        if not _makes_data(compiled):
            target = self._target(compiled, self._own_database)
            guard = self._guard(compiled)
            yield Authenticated(target=target | guard, system=compiled.cell.system) if guard else Ready(target)
            return
        self._hold()
        name = database_name(self._token, "trial")
        begun = time.monotonic()
        if self._databases.copy is not None:
            load_s = self._template(compiled)
            loaded = time.monotonic()
            copy = self._databases.copy.replace("{template}", database_name(self._token, "template"))
            self._recreate(name, copy)
            copied = time.monotonic()
            resample_tables(compiled, self._target(compiled, name), self._interrupted)
            durations = {"load_s": load_s, "copy_s": copied - loaded, "analyze_s": time.monotonic() - copied}
        else:
            self._recreate(name, self._databases.create)
            self._load(compiled, name)
            durations = {"load_s": time.monotonic() - begun}
        # Ctrl-C doesn't interrupt creating and dropping: the server would continue them after a disconnect.
        self._interrupted.check()
        yield Ready(self._target(compiled, name), durations, self._loaded)

    @contextmanager
    def copies(self, compiled: CompiledCell, tables: Sequence[JsonObject]) -> Iterator[tuple[Target, Target]]:
        """Provide two databases on the server with copies of tables of the URL's database."""
        system = compiled.cell.system
        sql = engine_of(system.engine).index_trials()
        if not self._allow_writes:
            problem = "indexes are measured on copies of the tables, in databases that dbdyno creates and drops"
            raise InputError(system.name, problem, f"allow it with `{ALLOW}`")
        if sql is None or self._databases.create is None:
            raise SystemFailed(f"{system.name}: its tables can't be copied")
        self._hold()
        source = self._target(compiled, self._own_database)
        targets = []
        names = [database_name(self._token, end) for end in ENDS]
        try:
            for name in names:
                self._recreate(name, self._databases.create)
                targets.append(self._target(compiled, name))
                sql.copy_tables(source, targets[-1], tables)
                self._interrupted.check()
            yield targets[0], targets[1]
        finally:
            for name in names:
                self._drop(name)
                self._made.discard(name)

    def bytes_of_copy(self, compiled: CompiledCell) -> int:
        """Return 0, because the server stores the copies."""
        return 0

    def close(self) -> None:
        """Remove the databases."""
        try:
            for name in sorted(self._made):
                self._drop(name)
        finally:
            self._made.clear()
            if self._ownership is not None:
                self._ownership.release()
            if self._lock is not None:
                self._lock.close()

    def _template(self, compiled: CompiledCell) -> float:
        """Load the template database; return the seconds that took, 0 if it was loaded already."""
        key = compiled.template_key("")
        if self._key == key:
            return 0.0
        begun = time.monotonic()
        self._key = ""
        name = database_name(self._token, "template")
        self._recreate(name, self._databases.create)
        self._load(compiled, name)
        self._key = key
        return time.monotonic() - begun

    def _load(self, compiled: CompiledCell, name: str) -> None:
        try:
            plan = compiled.load_plan(self._target(compiled, name))
            steps = ask(plan, Loaded, _TIMEOUT_S, self._interrupted).model_dump(mode="json")["tables"]
        except SystemFailed as error:
            raise SystemFailed(f"loading the tables: {error}") from error
        self._loaded = {"at": utc_now(), "tables": steps}

    def _recreate(self, name: str, how: str | None) -> None:
        self._made.add(name)
        self._drop(name)
        if how is not None:
            self._execute(self._own_database, how.replace("{name}", name))

    def _drop(self, name: str) -> None:
        within = name if self._databases.drop_within else self._own_database
        self._execute(within, self._databases.drop.replace("{name}", name))

    def _execute(self, database: str, statement: str) -> None:
        target = self._target(None, database)
        self._ask(LoadTask(target=target, before=[statement], tables=[], after=[]), Loaded)

    def _ask(self, task: InspectTask | LoadTask, answer: type[E]) -> None:
        ask(WorkerPlan(task=task), answer, _TIMEOUT_S)

    def _target(self, compiled: CompiledCell | None, database: str) -> dict[str, Any]:
        system = self._system
        own = server_settings_of(compiled) if compiled is not None else ServerSettings(tls=self._tls)
        return {
            "engine": system.engine,
            "host": self._host,
            "port": self._port,
            "user": system.user or (current_user(system.name) if self._databases.needs_user else None),
            # Several systems on the same server may have different passwords.
            "password": password_of(compiled.cell.system if compiled is not None else system),
            "database": database,
            "session": [list(pair) for pair in own.parameters.items()],
        } | ({"tls": own.tls.plan()} if self._databases.tls else {})

    def _guard(self, compiled: CompiledCell) -> dict[str, Any]:
        """Return the target's fields that make sessions read-only, so that the server rejects undetected writes.

        Empty if an extra statement per session would be measured, because each transaction opens a session.
        """
        when = self._databases.read_only
        supported = when == "always" or (when == "once" and compiled.task.connect == "once")
        return {"read_only": True} if supported and not self._allow_writes else {}

    @property
    def _host(self) -> str:
        # Only URLs put IPv6 addresses in brackets.
        host = self._system.host or "localhost"
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    @property
    def _port(self) -> int:
        return self._system.port or self._databases.port

    @property
    def _own_database(self) -> str:
        return self._system.database or self._databases.always

    def _take_lock(self) -> IO[bytes]:
        location = f"{self._system.engine}-{self._system.host}-{self._system.port}"
        path = cache_directory("servers") / hashlib.sha256(location.encode()).hexdigest()[:16]
        lock = path.open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            problem = "another of your runs is measuring this server"
            raise InputError(self._system.name, problem, "wait until it has finished") from None
        return lock


def resolution(name: str, host: str, port: int) -> list[dict[str, Any]]:
    """Return observations on slow name resolution of a host, which delays every connection."""
    if host.startswith("/"):
        return []
    resolved = math.inf
    try:
        # On a busy machine, a single lookup may be slow, but rarely the fastest of several.
        for _ in range(_LOOKUPS):
            begun = time.monotonic()
            addresses = [(each[0], each[4]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
            resolved = min(resolved, time.monotonic() - begun)
            if resolved < _SLOW_S:
                break
    except OSError:
        return []
    seen = {"kind": "name resolution", "system": name, "host": host}
    found: list[dict[str, Any]] = []
    if resolved >= _SLOW_S:
        found.append(seen | {"seconds": resolved})
    lost = 0.0
    for number, (family, address) in enumerate(addresses):
        begun = time.monotonic()
        try:
            with socket.socket(family, socket.SOCK_STREAM) as connection:
                connection.settimeout(_CONNECT_TIMEOUT_S)
                connection.connect(address)
        except OSError:
            lost += time.monotonic() - begun
            continue
        if number:
            found.append(seen | {"seconds": lost, "silent": addresses[0][1][0], "answers": address[0]})
        break
    return found


def _makes_data(compiled: CompiledCell) -> bool:
    return bool(compiled.tables or compiled.before or compiled.after)
