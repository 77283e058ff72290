"""The settings of a web tier: its web servers, its proxy and its database."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.base.text import shortened
from dbdyno.engines.lookup import engine_named, engine_of
from dbdyno.engines.web.databases import DATABASES
from dbdyno.engines.web.proxies import PROXIES
from dbdyno.model.plan.settings import Scalar, Settings
from dbdyno.model.plan.system import SystemSpec

LOAD = "load"
"""The name of the load generator in CPU settings."""

TIERS = (LOAD, "proxy", "web", "db")
"""The tiers that can be pinned to CPUs, and the load generator."""

NO_PROXY = "none"

# Prefixes of the database's settings, and of a tier's CPU setting.
OF_DATABASE = "db."
_PROCESSORS = "processors."

_MAX_SERVERS = 64

# One CPU, or the first and the last of a range. Linux supports at most 8192 CPUs.
_RANGE = re.compile(r"(?P<first>[0-9]{1,4})(-(?P<last>[0-9]{1,4}))?")


@dataclass(frozen=True)
class WebSettings(Settings):
    """The settings of one system. ``database``: the engine's name; ``asked``, ``inner``: its settings, raw and checked.

    ``servers``: the number of web servers; ``persistent``: whether they keep database connections open; ``proxy``: the
    kind of proxy in front of them, ``none``: clients are assigned to web servers in turn. ``numbers``: further options
    of the web servers, by name. ``processors``: the CPUs that a tier or the load generator may use; all, if it is not
    listed.
    """

    database: str = DATABASES[0]
    asked: Mapping[str, Scalar] = field(default_factory=dict)
    inner: Settings = field(default_factory=Settings)
    servers: int = 1
    persistent: bool = True
    proxy: str = NO_PROXY
    numbers: Mapping[str, int] = field(default_factory=dict)
    processors: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def file_settings(self) -> Any:
        """The settings of the database's files."""
        return self.inner.file_settings

    @property
    def system(self) -> SystemSpec:
        """The database as a system."""
        return _system(self.database, {name: str(value) for name, value in self.asked.items()})

    @property
    def options(self) -> list[str]:
        """The command-line options of a web server."""
        made = ["--persistent", "on" if self.persistent else "off"]
        for name, value in self.numbers.items():
            made += ["--" + name.replace("_", "-"), str(value)]
        return made

    def shown(self) -> Iterator[tuple[str, str]]:
        """Yield the settings of the web tier, then those of the database."""
        yield "database", self.database
        yield "servers", str(self.servers)
        yield "persistent", "on" if self.persistent else "off"
        yield "proxy", self.proxy
        yield from ((name, str(value)) for name, value in self.numbers.items())
        for tier, processors in self.processors.items():
            yield _PROCESSORS + tier, ",".join(map(str, processors))
        for name, value in self.inner.shown():
            yield OF_DATABASE + name, value


def read_web_settings(settings: Mapping[str, Scalar], location: str) -> WebSettings:
    """Check settings. Raises InputError at ``location``."""
    rest = dict(settings)
    database = _database(str(rest.pop("database", DATABASES[0])), location)
    asked = {name.removeprefix(OF_DATABASE): rest.pop(name) for name in settings if name.startswith(OF_DATABASE)}
    processors = {
        name.removeprefix(_PROCESSORS): _processors(rest.pop(name), f"{location}: {name}")
        for name in settings
        if name.startswith(_PROCESSORS)
    }
    unknown = [tier for tier in processors if tier not in TIERS]
    if unknown:
        raise InputError(f"{location}: {_PROCESSORS}{unknown[0]}", "unknown tier", f"known: {', '.join(TIERS)}")
    engine = engine_of(database)
    if "db" in processors and not engine.is_server:
        problem = f"{engine.title} has no processes of its own: it runs in the web servers"
        raise InputError(f"{location}: {_PROCESSORS}db", problem, "leave it out")
    servers = _number("servers", rest.pop("servers", 1), location, 1, _MAX_SERVERS)
    proxy = str(rest.pop("proxy", NO_PROXY if servers == 1 else next(iter(PROXIES))))
    if proxy != NO_PROXY and proxy not in PROXIES:
        known = ", ".join(f"`{each}`" for each in (NO_PROXY, *PROXIES))
        raise InputError(f"{location}: proxy", f"unknown proxy `{proxy}`", f"known: {known}")
    if proxy == NO_PROXY:
        # An experiment may have cells with and without a proxy.
        processors.pop("proxy", None)
    persistent = _switch("persistent", rest.pop("persistent", True), location)
    numbers = {name: _number(name, rest.pop(name), location, *_NUMBERS[name]) for name in _NUMBERS if name in rest}
    for name in rest:
        known = ", ".join(("database", "servers", "persistent", "proxy", *_NUMBERS, "processors.web", "db.NAME"))
        raise InputError(f"{location}: {name}", "unknown web tier setting", f"known: {known}")
    inner = engine.read_settings(asked, f"{location}: db", named=False)
    return WebSettings(database, asked, inner, servers, persistent, proxy, numbers, processors)


def database_of(settings: Mapping[str, str]) -> str:
    """Return the engine of a system's database. Raises InputError if the application doesn't support it."""
    return _database(settings.get("database", DATABASES[0]), "web:")


def tiers_of(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Return the tiers that a system may have, according to its settings. Raises InputError for an unknown database.

    If the settings don't contain the number of web servers, the experiment may set several, with a proxy.
    """
    database = database_of(settings)
    one = settings.get("servers") == "1" and settings.get("proxy", NO_PROXY) == NO_PROXY
    known = (LOAD, "web") if one else (LOAD, "proxy", "web")
    return (*known, "db") if engine_of(database).is_server else known


def behind_of(settings: Mapping[str, str]) -> tuple[str, SystemSpec]:
    """Return the prefix of the database's settings, and the database of a system. Raises InputError."""
    asked = {name.removeprefix(OF_DATABASE): value for name, value in settings.items() if name.startswith(OF_DATABASE)}
    return OF_DATABASE, _system(database_of(settings), asked)


def _system(database: str, asked: Mapping[str, str]) -> SystemSpec:
    return SystemSpec(database, settings=asked, name=f"{database}:")


# Numeric options of web servers, with minimum and maximum.
_NUMBERS = {
    "pool": (1, 100_000),
    "threads": (1, 4096),
    "backlog": (1, 65_535),
    "open_files": (16, 1 << 30),
    "wait_ms": (0, 600_000),
    "hash_rounds": (0, 10_000_000),
}


def _database(name: str, location: str) -> str:
    found = engine_named(name)
    if found not in DATABASES:
        known = ", ".join(f"`{each}`" for each in DATABASES)
        raise InputError(
            f"{location}: database", f"the web application doesn't support the database `{name}`", f"known: {known}"
        )
    return found


def _number(name: str, value: Scalar, location: str, least: int, most: int) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = least - 1
    if isinstance(value, bool) or not least <= number <= most:
        raise InputError(
            f"{location}: {name}", f"`{value}` is not a number from {least} to {most}", f"write e.g. `{name}={least}`"
        )
    return number


def _switch(name: str, value: Scalar, location: str) -> bool:
    if isinstance(value, bool):
        return value
    if value not in ("on", "off"):
        raise InputError(
            f"{location}: {name}", f"`{value}` is neither on nor off", f"write `{name}=on` or `{name}=off`"
        )
    return value == "on"


def _processors(value: Scalar, location: str) -> tuple[int, ...]:
    """Parse CPU numbers such as ``0``, ``0,2`` or ``0-3``."""
    found: list[int] = []
    for part in str(value).split(","):
        named = _RANGE.fullmatch(part.strip())
        first, last = (int(named["first"]), int(named["last"] or named["first"])) if named else (1, 0)
        if not first <= last:
            problem = f"`{shortened(str(value), 60)}` is not a list of CPU numbers"
            raise InputError(location, problem, "write e.g. `0`, `0,2` or `0-3`")
        found += range(first, last + 1)
    return tuple(dict.fromkeys(found))
