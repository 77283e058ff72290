"""MongoDB, and FerretDB with its SQLite backend: how to start them. Both create their data themselves."""

import os
import re
import signal
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from dbdyno.base.errors import InputError
from dbdyno.engines.server.family import Job, ServerPaths, check_value, reserved
from dbdyno.engines.server.programs import Installation, complete, on_path, programs_in, version_of

# Both can run as root.
ACCOUNT: str | None = None
INSTALL = "put `mongod` or `ferretdb` (version 1) on the PATH, or `make ferretdb` and name it in DBDYNO_FERRETDB"
PROGRAMS = "name `mongod`, or `ferretdb` of version 1"
LOADING: Mapping[str, Mapping[str, str]] = {"FerretDB": {"synchronous": "off"}, "MongoDB": {}}
CONNECTIONS: str | None = None

DATABASE = "dbdyno"
# No login is necessary.
USER = ""
PORT = 27017
SOCKET = "socket"
DIRECTORIES: tuple[str, ...] = ()

STOP: tuple[int, ...] = (signal.SIGTERM,)
DEATH: int = signal.SIGKILL

# `db version v7.0.5`, `version: v1.24.0`. FerretDB versions after 1 don't have the SQLite backend.
_MONGODB = re.compile(r"db version v(?P<version>[0-9.]+)")
_FERRETDB = re.compile(r"^version: v(?P<version>1\.[0-9.]+)", re.MULTILINE)

# The environment variable with the path of a FerretDB program that isn't on the PATH.
_FERRETDB_VARIABLE = "DBDYNO_FERRETDB"

# PRAGMAs of the SQLite backend, applied to each of FerretDB's connections, and their valid values.
_NUMBER = re.compile(r"-?\d+")
_PRAGMAS: Mapping[str, re.Pattern[str]] = {
    "busy_timeout": _NUMBER,
    "cache_size": _NUMBER,
    "journal_mode": re.compile(r"delete|truncate|persist|memory|wal|off"),
    "journal_size_limit": _NUMBER,
    "mmap_size": _NUMBER,
    "synchronous": re.compile(r"off|normal|full|extra|[0-3]"),
    "temp_store": re.compile(r"default|file|memory|[0-2]"),
    "wal_autocheckpoint": _NUMBER,
}

# MongoDB's command-line options. All other settings are server parameters.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
_OPTIONS = frozenset(
    (
        "cpu",
        "directoryperdb",
        "journalCommitInterval",
        "maxConns",
        "networkMessageCompressors",
        "nojournal",
        "noscripting",
        "notablescan",
        "oplogSize",
        "profile",
        "slowms",
        "storageEngine",
        "syncdelay",
        "wiredTigerCacheSizeGB",
        "wiredTigerCollectionBlockCompressor",
        "wiredTigerDirectoryForIndexes",
        "wiredTigerIndexPrefixCompression",
        "wiredTigerJournalCompressor",
    )
)
# Options without a value.
_SWITCHES = frozenset(("directoryperdb", "nojournal", "noscripting", "notablescan", "wiredTigerDirectoryForIndexes"))
_RESERVED = frozenset(
    (
        "auth",
        "bind_ip",
        "bind_ip_all",
        "config",
        "dbpath",
        "fork",
        "ipv6",
        "keyFile",
        "logappend",
        "logpath",
        "nounixsocket",
        "pidfilepath",
        "port",
        "replSet",
        "setParameter",
        "shutdown",
        "unixSocketPrefix",
    )
)

# Time limit in seconds for the answer of a server that accepted the connection.
_ANSWER_S = 1.0

# A message's header: length, request id, id of the request that it answers, and opcode.
_HEAD = struct.Struct("<iiii")
_OP_MSG = 2013


def servers() -> Iterator[Path]:
    """Find the programs of MongoDB and FerretDB on the PATH, and the FerretDB in the environment variable."""
    yield from programs_in(on_path(), "mongod")
    yield from programs_in(on_path(), "ferretdb")
    named = Path(os.environ.get(_FERRETDB_VARIABLE) or "/")
    if named.is_absolute():
        yield from programs_in([named.parent], named.name)


def describe(server: Path) -> Installation | None:
    """Return the installation of a MongoDB or FerretDB server, regardless of its file name."""
    version = version_of(_MONGODB, server, "--version")
    if version is not None:
        return complete("mongodb", "MongoDB", version, {"mongod": server.resolve()}, ("mongod",))
    version = version_of(_FERRETDB, server, "--version")
    return complete("mongodb", "FerretDB", version, {"ferretdb": server.resolve()}, ("ferretdb",))


def address(paths: ServerPaths) -> Path:
    """Return the socket's path."""
    return paths.socket / SOCKET


def jobs(installation: Installation, directory: Path) -> Sequence[Job]:  # noqa: ARG001
    """Return no programs, because servers create their data in an empty directory."""
    return ()


def check_settings(installation: Installation, settings: Mapping[str, str]) -> None:
    """Raise InputError for a setting that dbdyno sets itself, or an invalid one."""
    for name, value in settings.items():
        check_value(name, value)
        if installation.product == "FerretDB":
            _check_pragma(name, value)
        elif name in _RESERVED:
            raise reserved(name)
        elif not _NAME.fullmatch(name):
            problem = "not the name of a MongoDB setting"
            raise InputError(name, problem, "write one such as `wiredTigerCacheSizeGB`")
        elif name in _SWITCHES and value not in ("true", "false"):
            raise InputError(name, f"`{value}` is neither `true` nor `false`", "write one of these")


def _check_pragma(name: str, value: str) -> None:
    known = _PRAGMAS.get(name)
    if known is None:
        problem = "not a setting of FerretDB's SQLite backend"
        raise InputError(name, problem, f"known: {', '.join(_PRAGMAS)}")
    if not known.fullmatch(value.lower()):
        hint = "write an integer" if known is _NUMBER else f"known: {', '.join(known.pattern.split('|'))}"
        raise InputError(name, f"FerretDB's SQLite doesn't accept `{value}`", hint)


def command(
    installation: Installation, paths: ServerPaths, settings: Mapping[str, str], tcp_port: int | None = None
) -> Sequence[str]:
    """Return the server's command line. ``tcp_port``: an additional port on the loopback interface."""
    socket_path = str(paths.socket / SOCKET)
    if installation.product == "FerretDB":
        query = "&".join(f"_pragma={name}({value.lower()})" for name, value in settings.items())
        url = f"file:{quote(str(paths.data))}/" + (f"?{query}" if query else "")
        return (
            str(installation.programs["ferretdb"]),
            "--handler=sqlite",
            f"--sqlite-url={url}",
            f"--listen-unix={socket_path}",
            f"--listen-addr={f'127.0.0.1:{tcp_port}' if tcp_port else ''}",
            "--state-dir=-",
            "--debug-addr=-",
            "--telemetry=disable",
            "--log-level=warn",
        )
    options = []
    for name, value in settings.items():
        if name in _SWITCHES:
            options += [f"--{name}"] if value == "true" else []
        elif name in _OPTIONS:
            options += [f"--{name}", value]
        else:
            options += ["--setParameter", f"{name}={value}"]
    addresses = f"{socket_path},127.0.0.1" if tcp_port else socket_path
    own = ("--dbpath", str(paths.data), "--bind_ip", addresses, "--unixSocketPrefix", str(paths.socket))
    port = ("--port", str(tcp_port)) if tcp_port else ()
    return str(installation.programs["mongod"]), *own, *port, *options


def is_ready(paths: ServerPaths, pid: int) -> bool:  # noqa: ARG001
    """Whether the server answers a `hello` on its socket, which is in a private directory."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_ANSWER_S)
        try:
            connection.connect(str(paths.socket / SOCKET))
            connection.sendall(_greeting())
            head = connection.recv(_HEAD.size, socket.MSG_WAITALL)
        except OSError:
            return False
    return len(head) == _HEAD.size and _HEAD.unpack(head)[3] == _OP_MSG


def _greeting() -> bytes:
    """Return the message with the command `{hello: 1, $db: "admin"}`."""
    fields = b"\x10hello\0" + struct.pack("<i", 1) + b"\x02$db\0" + struct.pack("<i", 6) + b"admin\0"
    document = struct.pack("<i", len(fields) + 5) + fields + b"\0"
    body = struct.pack("<I", 0) + b"\0" + document
    return _HEAD.pack(_HEAD.size + len(body), 1, 0, _OP_MSG) + body
