"""What can be set on MySQL and MariaDB: variables, the storage engine, and TLS by their client's names too."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dbdyno.base.errors import InputError
from dbdyno.engines.server.settings import ServerSettings, read_server_settings
from dbdyno.engines.server.tls import LIBPQ, TlsOptions
from dbdyno.model.plan.settings import Scalar

# The storage engines whose tables dbdyno makes.
_STORAGE_ENGINES = ("innodb", "myisam", "aria", "memory", "rocksdb")

# Those that each MariaDB and MySQL has, and the parameter for which a server looks whether it has another.
_COMMON_ENGINES = frozenset(("innodb", "myisam", "memory"))
_DEFAULT_STORAGE_ENGINE = "default_storage_engine"

# Tables that no commit makes durable.
_VOLATILE = ("myisam", "aria", "memory")

# A number as the command line takes it, in units of 1024 and its powers.
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
"""Of libpq's names and those of MySQL's own client."""


@dataclass(frozen=True)
class MysqlSettings(ServerSettings):
    """``storage_engine``: of the tables; ``None``: the server's default."""

    storage_engine: str | None = None

    def shown(self) -> Iterator[tuple[str, str]]:
        """Give what is set: what dbdyno does with it, then its variables."""
        if self.program:
            yield "program", self.program
        if self.storage_engine:
            yield "engine", self.storage_engine
        yield from self.parameters.items()

    @property
    def asked(self) -> Mapping[str, str]:
        """The storage engine, where not every server has it."""
        if self.storage_engine is None or self.storage_engine in _COMMON_ENGINES:
            return {}
        return {_DEFAULT_STORAGE_ENGINE: self.storage_engine}

    def lacking(self, title: str) -> tuple[str, str, str]:
        """Say that it has no such storage engine."""
        problem = f"{title} has no storage engine `{self.storage_engine}`"
        return "engine", problem, "add its plugin to the server, or take another engine"


def read_settings(settings: Mapping[str, Scalar], place: str, *, named: bool) -> MysqlSettings:
    """Check settings, as :func:`read_server_settings`."""
    given = {name: value for name, value in settings.items() if name != "engine"}
    storage_engine = None
    read = read_server_settings(given, place, named=named, tls_options=TLS)
    if "engine" in settings:
        storage_engine = str(settings["engine"]).lower()
        if storage_engine not in _STORAGE_ENGINES:
            known = ", ".join(_STORAGE_ENGINES)
            raise InputError(f"{place}: engine", f"there is no storage engine `{storage_engine}`", f"known: {known}")
    parameters = {name: _bytes(value) for name, value in read.parameters.items()} if named else read.parameters
    return MysqlSettings(parameters, read.tls, read.program, storage_engine=storage_engine)


def never_durable(settings: Mapping[str, str]) -> tuple[str, str] | None:
    """Say that tables of a storage engine without a log are not, and what to use in its place."""
    engine = settings.get("engine", "")
    return (f"tables of {engine}", "use engine=innodb") if engine.lower() in _VOLATILE else None


def _bytes(value: str) -> str:
    """Write `16M` as a number, which is all that a session takes; what is no such size stays as it is."""
    size = _SIZE.fullmatch(value)
    if size is None:
        return value
    return str(int(size["number"]) << 10 * (_UNITS.index(size["unit"].upper()) + 1))
