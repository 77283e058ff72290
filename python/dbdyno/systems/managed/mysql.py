"""MariaDB and MySQL: how their data are made and how they are started."""

import re
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import InputError
from dbdyno.systems.managed.family import DATABASE, Job, Places, check_value, reserved
from dbdyno.systems.managed.installations import Installation

USER = "root"
PORT = 3306
SOCKET = "socket"

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

# Seconds for a server that took the connection to greet.
_GREETING_S = 1.0

# The first packet begins with its length and number; its first byte is the protocol's version, or tells of an error.
_GREETING = re.compile(rb".{4}[\x0a\xff]", re.DOTALL)


def jobs(installation: Installation, directory: Path) -> Sequence[Job]:
    """Give the programs that make fresh data, in which `root` needs no password."""
    server = _server(installation)
    home = server.parent.parent
    if installation.product == "MySQL":
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
    bootstrap = (str(server), "--no-defaults", "--bootstrap", f"--datadir={directory}", f"--basedir={home}")
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
        own.append("--mysqlx=OFF")
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
