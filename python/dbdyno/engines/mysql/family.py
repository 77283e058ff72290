"""MariaDB and MySQL: how to create their data and how to start them."""

import re
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines.server.family import Job, ServerPaths, check_value, reserved
from dbdyno.engines.server.programs import Installation, beside, complete, on_path, programs_in, version_of

_LOADING = {
    "innodb_flush_log_at_trx_commit": "0",
    "innodb_doublewrite": "OFF",
    "innodb_buffer_pool_size": "512M",
    "innodb_fast_shutdown": "0",
}

ACCOUNT: str | None = "mysql"
INSTALL = "`apt install mariadb-server` installs one"
PROGRAMS = "name `mariadbd`, with `mariadb-install-db` in its installation, or `mysqld`"
LOADING: Mapping[str, Mapping[str, str]] = {"MariaDB": _LOADING, "MySQL": _LOADING}
CONNECTIONS: str | None = "max_connections"

DATABASE = "dbdyno"
USER = "root"
PORT = 3306
SOCKET = "socket"

# First version that creates its own data. Earlier servers get the scripts in their installation as input.
_INITIALIZES = (5, 7, 6)
_SCRIPTS = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")

# The server's temporary files have names, so they would remain in /tmp if it were killed.
_TEMPORARY = "tmp"
DIRECTORIES: tuple[str, ...] = (_TEMPORARY,)

STOP: tuple[int, ...] = (signal.SIGTERM,)
DEATH: int = signal.SIGKILL

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_RESERVED = (
    "basedir",
    "bind_address",
    "bootstrap",
    "chroot",
    "console",
    "daemonize",
    "datadir",
    "defaults_extra_file",
    "defaults_file",
    "help",
    "initialize",
    "initialize_insecure",
    "log_error",
    "mysqlx",
    "no_defaults",
    "pid_file",
    "port",
    "print_defaults",
    "skip_networking",
    "socket",
    "user",
    "verbose",
    "version",
)

# Name the encoding, because its default differs between versions.
_CREATE = f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4;\n"

# `mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for ...`, `mysqld  Ver 8.0.36 ...`
_MARIADB = re.compile(r"Ver (?P<version>[0-9.]+)-MariaDB")
_MYSQL = re.compile(r"mysqld.*? Ver (?P<version>[0-9.]+)")

# Directories of distribution packages that are not on the PATH.
_PLACES = ("usr/sbin", "usr/libexec")

# Time limit in seconds for the greeting of a server that accepted the connection.
_GREETING_S = 1.0

# The first packet begins with its length and number; the next byte is the protocol's version or marks an error.
_GREETING = re.compile(rb".{4}[\x0a\xff]", re.DOTALL)


def servers() -> Iterator[Path]:
    """Find the programs of MariaDB, then those of MySQL: on the PATH, and in directories of packages."""
    paths = [*on_path(), *(Path("/") / directory for directory in _PLACES)]
    for name in ("mariadbd", "mysqld"):
        yield from programs_in(paths, name)


def describe(server: Path) -> Installation | None:
    """Return the installation of a MariaDB or MySQL server; MariaDB needs its script that creates data."""
    # Packages link programs, including wrappers, into other directories. The real programs are in one directory.
    home = server.resolve().parent
    version = version_of(_MARIADB, server, "--no-defaults", "--version")
    if version is not None:
        programs = {"mariadbd": server.resolve()}
        for name, older in (("mariadb-install-db", "mysql_install_db"), ("mariadb", "mysql")):
            programs[name] = beside(home, name, older)
        return complete("mysql", "MariaDB", version, programs, ("mariadbd", "mariadb-install-db"))
    version = version_of(_MYSQL, server, "--no-defaults", "--version")
    programs = {"mysqld": server.resolve(), "mysql": beside(home, "mysql")}
    return complete("mysql", "MySQL", version, programs, ("mysqld",))


def address(paths: ServerPaths) -> Path:
    """Return the socket's path."""
    return paths.socket / SOCKET


def jobs(installation: Installation, directory: Path) -> Sequence[Job]:
    """Return the programs that create new data, in which `root` doesn't need a password."""
    server = _server(installation)
    home = server.parent.parent
    bootstrap = (str(server), "--no-defaults", "--bootstrap", f"--datadir={directory}", f"--basedir={home}")
    if installation.product == "MySQL":
        if tuple(map(int, installation.version.split("."))) < _INITIALIZES:
            return (Job(bootstrap, f"CREATE DATABASE mysql;\nUSE mysql;\n{_system_tables(home)}{_CREATE}"),)
        initialize = (str(server), "--no-defaults", "--initialize-insecure", f"--datadir={directory}")
        return (Job((*initialize, f"--basedir={home}", "--init-file=/dev/stdin"), _CREATE),)
    install = (
        str(installation.programs["mariadb-install-db"]),
        "--no-defaults",
        f"--datadir={directory}",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        "--skip-name-resolve",
        # Under /usr, the script finds its files by itself, at paths that depend on the distribution.
        *(() if home == Path("/usr") else (f"--basedir={home}",)),
    )
    return Job(install), Job(bootstrap, _CREATE)


def check_settings(installation: Installation, settings: Mapping[str, str]) -> None:
    """Raise InputError for a setting that dbdyno sets itself, or an invalid name."""
    for name, value in settings.items():
        if not _NAME.fullmatch(name):
            product = installation.product
            problem = f"not the name of a {product} setting"
            raise InputError(name, problem, "write one such as `innodb_buffer_pool_size`")
        # Servers also accept abbreviated option names. The prefix `loose` makes them ignore unknown options.
        plain = name.replace("-", "_").lower()
        if plain.startswith("loose_"):
            raise InputError(name, "`loose_` settings may be ignored by the server", f"write `{name[6:]}`")
        if any(option.startswith(plain) for option in _RESERVED):
            raise reserved(name)
        check_value(name, value)


def command(
    installation: Installation, paths: ServerPaths, settings: Mapping[str, str], tcp_port: int | None = None
) -> Sequence[str]:
    """Return the server's command line."""
    server = _server(installation)
    own = [
        "--no-defaults",
        f"--basedir={server.parent.parent}",
        f"--datadir={paths.data}",
        f"--socket={paths.socket / SOCKET}",
        f"--pid-file={paths.own / 'pid'}",
        # Tables are loaded with LOAD DATA LOCAL, which MySQL forbids by default.
        "--local-infile=ON",
        *(("--bind-address=127.0.0.1", f"--port={tcp_port}") if tcp_port else ("--skip-networking",)),
    ]
    if installation.product == "MySQL":
        # Older servers don't have this option.
        own.append("--loose-mysqlx=OFF")
    if not any(name.replace("-", "_").lower() == "tmpdir" for name in settings):
        own.append(f"--tmpdir={paths.own / _TEMPORARY}")
    return str(server), *own, *(f"--{name}={value}" for name, value in settings.items())


def is_ready(paths: ServerPaths, pid: int) -> bool:  # noqa: ARG001
    """Whether the server sends a greeting on its socket, which is in a private directory."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_GREETING_S)
        try:
            connection.connect(str(paths.socket / SOCKET))
            return _GREETING.match(connection.recv(5, socket.MSG_WAITALL)) is not None
        except OSError:
            return False


def _server(installation: Installation) -> Path:
    return installation.programs["mysqld" if installation.product == "MySQL" else "mariadbd"]


def _system_tables(home: Path) -> str:
    """Read the statements that create the system tables of an older server. Raises SystemFailed if they are missing."""
    for place in (home / "share", home / "share" / "mysql"):
        try:
            return "\n".join((place / name).read_text(errors="replace") for name in _SCRIPTS) + "\n"
        except OSError:
            continue
    raise SystemFailed(f"{home / 'share' / _SCRIPTS[0]}: no such file, but creating data requires it")
