"""What can be set on a server: its own parameters, by name, and how dbdyno uses it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dbdyno.errors import InputError
from dbdyno.systems.tls import Tls, split_tls

Scalar = bool | int | float | str

# The storage engines of MariaDB and MySQL whose tables dbdyno makes.
STORAGE_ENGINES = ("innodb", "myisam", "aria", "memory", "rocksdb")

# Those that each MariaDB and MySQL has, and the parameter for which a server looks whether it has another.
COMMON_ENGINES = frozenset(("innodb", "myisam", "memory"))
DEFAULT_STORAGE_ENGINE = "default_storage_engine"

# A number as the command line of MariaDB and MySQL takes it, in units of 1024 and its powers.
_SIZE = re.compile(r"(?P<number>\d+)(?P<unit>[KMGTPE])", re.IGNORECASE)
_UNITS = "KMGTPE"


@dataclass(frozen=True)
class ServerSettings:
    """The settings of one system. ``parameters``: as the server names them, with values in the form it takes.

    ``storage_engine``: of the tables on MariaDB and MySQL; ``None``: the server's default. ``tls``: of a named server.
    ``program``: the server that dbdyno starts, where it is not the first found.
    """

    parameters: Mapping[str, str] = field(default_factory=dict)
    storage_engine: str | None = None
    tls: Tls = field(default_factory=Tls)
    program: str | None = None


def read_server_settings(
    engine: str, settings: Mapping[str, Scalar], place: str, named: bool = False
) -> ServerSettings:
    """Check settings as far as can be without the server. Raises InputError that begins with ``place``.

    ``named``: of a server that runs already, among whose settings are those of the connection to it.
    """
    yes, no = ("true", "false") if engine == "mongodb" else ("on", "off")
    values = {
        name: (yes if value else no) if isinstance(value, bool) else str(value) for name, value in settings.items()
    }
    tls = Tls()
    # There is no TLS to MongoDB yet: its option is refused as one that is not known.
    if named and engine != "mongodb":
        tls, values = split_tls(engine, values, place)
    program = values.pop("program", None)
    if program is not None and named:
        raise InputError(f"{place}: program", "a server that runs already has its program", "leave it out")
    storage_engine = None
    if engine == "mysql" and "engine" in values:
        storage_engine = values.pop("engine").lower()
        if storage_engine not in STORAGE_ENGINES:
            known = ", ".join(STORAGE_ENGINES)
            raise InputError(f"{place}: engine", f"there is no storage engine `{storage_engine}`", f"known: {known}")
    if named and engine == "mysql":
        values = {name: _bytes(value) for name, value in values.items()}
    return ServerSettings(values, storage_engine, tls, program)


def _bytes(value: str) -> str:
    """Write `16M` as a number, which is all that a session takes; what is no such size stays as it is."""
    size = _SIZE.fullmatch(value)
    if size is None:
        return value
    return str(int(size["number"]) << 10 * (_UNITS.index(size["unit"].upper()) + 1))
