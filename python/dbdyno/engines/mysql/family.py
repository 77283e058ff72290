"""MariaDB and MySQL: how their data are made and how they are started."""

import re
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines.server.family import Job, Places, check_value, reserved
from dbdyno.engines.server.programs import Installation, beside, complete, on_path, programs_in, version_of

_LOADING = {
    "innodb_flush_log_at_trx_commit": "0",
    "innodb_doublewrite": "OFF",
    "innodb_buffer_pool_size": "512M",
    "innodb_fast_shutdown": "0",
}

ACCOUNT: str | None = "mysql"
INSTALL = "`apt install mariadb-server` brings one"
PROGRAMS = "name `mariadbd`, with `mariadb-install-db` in its installation, or `mysqld`"
LOADING: Mapping[str, Mapping[str, str]] = {"MariaDB": _LOADING, "MySQL": _LOADING}
CONNECTIONS: str | None = "max_connections"

DATABASE = "dbdyno"
USER = "root"
PORT = 3306
SOCKET = "socket"

# Before it servers make no data by themselves: the scripts beside them are given to them.
_INITIALIZES = (5, 7, 6)
_SCRIPTS = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")

# The server's temporary files are named, and would stay in /tmp if it were killed.
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

# The database's encoding is said, because it is not the same in all versions.
_CREATE = f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4;\n"

# `mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for ...`, `mysqld  Ver 8.0.36 ...`
_MARIADB = re.compile(r"Ver (?P<version>[0-9.]+)-MariaDB")
_MYSQL = re.compile(r"mysqld.*? Ver (?P<version>[0-9.]+)")

# Where the packages of distributions put servers that are not on the PATH.
_PLACES = ("usr/sbin", "usr/libexec")

# Seconds for a server that took the connection to greet.
_GREETING_S = 1.0

# The first packet begins with its length and number; its first byte is the protocol's version, or tells of an error.
_GREETING = re.compile(rb".{4}[\x0a\xff]", re.DOTALL)


def servers() -> Iterator[Path]:
    """Find the programs of MariaDB, then those of MySQL: on the PATH, and where packages put them."""
    places = [*on_path(), *(Path("/") / place for place in _PLACES)]
    for name in ("mariadbd", "mysqld"):
        yield from programs_in(places, name)


def describe(server: Path) -> Installation | None:
    """Give the installation of a program that says it is MariaDB, with what makes its data, or MySQL."""
    # Packages link their programs together in places of their own, wrappers among them: the real ones are side by side.
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


def address(places: Places) -> Path:
    """Give the socket itself."""
    return places.socket / SOCKET


def jobs(installation: Installation, directory: Path) -> Sequence[Job]:
    """Give the programs that make fresh data, in which `root` needs no password."""
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
        # Under /usr it knows where its own files are better than we do.
        *(() if home == Path("/usr") else (f"--basedir={home}",)),
    )
    return Job(install), Job(bootstrap, _CREATE)


def check_settings(installation: Installation, settings: Mapping[str, str]) -> None:
    """Raise InputError for a setting that is dbdyno's to make, or no name at all."""
    for name, value in settings.items():
        if not _NAME.fullmatch(name):
            product = installation.product
            problem = f"this is not the name of a {product} setting"
            raise InputError(name, problem, "write one such as `innodb_buffer_pool_size`")
        # Each server takes an option by the beginning of its name too. `loose` hides that it does not know one.
        plain = name.replace("-", "_").lower()
        if plain.startswith("loose_"):
            raise InputError(name, "a setting that the server may pass over is none", f"write `{name[6:]}`")
        if any(option.startswith(plain) for option in _RESERVED):
            raise reserved(name)
        check_value(name, value)


def command(
    installation: Installation, places: Places, settings: Mapping[str, str], tcp_port: int | None = None
) -> Sequence[str]:
    """Give the server's command line."""
    server = _server(installation)
    own = [
        "--no-defaults",
        f"--basedir={server.parent.parent}",
        f"--datadir={places.data}",
        f"--socket={places.socket / SOCKET}",
        f"--pid-file={places.own / 'pid'}",
        # Tables are filled by LOAD DATA LOCAL, which MySQL forbids unless told otherwise.
        "--local-infile=ON",
        *(("--bind-address=127.0.0.1", f"--port={tcp_port}") if tcp_port else ("--skip-networking",)),
    ]
    if installation.product == "MySQL":
        # Older servers know nothing of it.
        own.append("--loose-mysqlx=OFF")
    if not any(name.replace("-", "_").lower() == "tmpdir" for name in settings):
        own.append(f"--tmpdir={places.own / _TEMPORARY}")
    return str(server), *own, *(f"--{name}={value}" for name, value in settings.items())


def is_ready(places: Places, pid: int) -> bool:  # noqa: ARG001
    """Whether the server greets who connects to its socket, which lies in a directory of its own."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_GREETING_S)
        try:
            connection.connect(str(places.socket / SOCKET))
            return _GREETING.match(connection.recv(5, socket.MSG_WAITALL)) is not None
        except OSError:
            return False


def _server(installation: Installation) -> Path:
    return installation.programs["mysqld" if installation.product == "MySQL" else "mariadbd"]


def _system_tables(home: Path) -> str:
    """Read the statements that make the tables of an older server. Raises SystemFailed where they are not there."""
    for place in (home / "share", home / "share" / "mysql"):
        try:
            return "\n".join((place / name).read_text(errors="replace") for name in _SCRIPTS) + "\n"
        except OSError:
            continue
    raise SystemFailed(f"{home / 'share' / _SCRIPTS[0]}: there is no such file, and without it no data can be made")
