"""What can be set on a server: its own parameters, by name, and how dbdyno uses it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbdyno.errors import InputError
from dbdyno.systems.tls import Tls, split_tls

Scalar = bool | int | float | str

# The storage engines of MariaDB and MySQL whose tables dbdyno makes.
STORAGE_ENGINES = ("innodb", "myisam", "aria", "memory", "rocksdb")


@dataclass(frozen=True)
class ServerSettings:
    """The settings of one system. ``parameters``: as the server names them, with values in the form it takes.

    ``storage_engine``: of the tables on MariaDB and MySQL; ``None``: the server's default. ``tls``: of a named server.
    """

    parameters: Mapping[str, str] = field(default_factory=dict)
    storage_engine: str | None = None
    tls: Tls = field(default_factory=Tls)


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
    storage_engine = None
    if engine == "mysql" and "engine" in values:
        storage_engine = values.pop("engine").lower()
        if storage_engine not in STORAGE_ENGINES:
            known = ", ".join(STORAGE_ENGINES)
            raise InputError(f"{place}: engine", f"there is no storage engine `{storage_engine}`", f"known: {known}")
    return ServerSettings(values, storage_engine, tls)
