"""The settings of MySQL and MariaDB: variables, the storage engine, and TLS."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dbdyno.base.errors import InputError
from dbdyno.engines.server.settings import ServerSettings, read_server_settings
from dbdyno.engines.server.tls import LIBPQ, TlsOptions
from dbdyno.model.plan.settings import Scalar

# The supported storage engines of tables that dbdyno creates.
_STORAGE_ENGINES = ("innodb", "myisam", "aria", "memory", "rocksdb")

# Storage engines of every MariaDB and MySQL, and the parameter that checks whether a server has another one.
_COMMON_ENGINES = frozenset(("innodb", "myisam", "memory"))
_DEFAULT_STORAGE_ENGINE = "default_storage_engine"

# Storage engines without durable commits.
_VOLATILE = ("myisam", "aria", "memory")

# A size as on the command line, in powers of 1024.
_SIZE = re.compile(r"(?P<number>\d+)(?P<unit>[KMGTPE])", re.IGNORECASE)
_UNITS = "KMGTPE"

TLS = TlsOptions(
    names={**LIBPQ.names, "ssl-mode": "mode", "ssl-ca": "roots"},
    modes={
        "disabled": "disable",
        "preferred": "prefer",
        "required": "require",
        "verify_ca": "verify-ca",
        "verify_identity": "verify-full",
    },
)
"""TLS options with the names of libpq and of MySQL's client."""


@dataclass(frozen=True)
class MysqlSettings(ServerSettings):
    """``storage_engine``: the tables' storage engine; ``None``: the server's default."""

    storage_engine: str | None = None

    def shown(self) -> Iterator[tuple[str, str]]:
        """Yield the settings: dbdyno's own, then the server's variables."""
        if self.program:
            yield "program", self.program
        if self.storage_engine:
            yield "engine", self.storage_engine
        yield from self.parameters.items()

    @property
    def asked(self) -> Mapping[str, str]:
        """The storage engine, if not every server has it."""
        if self.storage_engine is None or self.storage_engine in _COMMON_ENGINES:
            return {}
        return {_DEFAULT_STORAGE_ENGINE: self.storage_engine}

    def lacking(self, title: str) -> tuple[str, str, str]:
        """Return that the server lacks the storage engine."""
        problem = f"{title} doesn't have the storage engine `{self.storage_engine}`"
        return "engine", problem, "install its plugin, or use another storage engine"


def read_settings(settings: Mapping[str, Scalar], location: str, *, named: bool) -> MysqlSettings:
    """Check settings, as :func:`read_server_settings`."""
    given = {name: value for name, value in settings.items() if name != "engine"}
    storage_engine = None
    read = read_server_settings(given, location, named=named, tls_options=TLS)
    if "engine" in settings:
        storage_engine = str(settings["engine"]).lower()
        if storage_engine not in _STORAGE_ENGINES:
            known = ", ".join(_STORAGE_ENGINES)
            raise InputError(f"{location}: engine", f"unknown storage engine `{storage_engine}`", f"known: {known}")
    parameters = {name: _bytes(value) for name, value in read.parameters.items()} if named else read.parameters
    return MysqlSettings(parameters, read.tls, read.program, storage_engine=storage_engine)


def never_durable(settings: Mapping[str, str]) -> tuple[str, str] | None:
    """Return tables of a storage engine without a log, and a hint; ``None`` for other storage engines."""
    engine = settings.get("engine", "")
    return (f"tables of {engine}", "use engine=innodb") if engine.lower() in _VOLATILE else None


def _bytes(value: str) -> str:
    """Convert a size such as `16M` to a number, as session variables require; return other values unchanged."""
    size = _SIZE.fullmatch(value)
    if size is None:
        return value
    return str(int(size["number"]) << 10 * (_UNITS.index(size["unit"].upper()) + 1))
