"""All engines, a line for each: the one place that names them."""

from collections.abc import Mapping

from dbdyno.engines.duckdb import Duckdb
from dbdyno.engines.engine import Engine
from dbdyno.engines.mongodb import Mongodb
from dbdyno.engines.mysql import Mysql
from dbdyno.engines.null import Null
from dbdyno.engines.postgresql import Postgresql
from dbdyno.engines.program import Program
from dbdyno.engines.sqlite import Sqlite
from dbdyno.engines.sqlserver import Sqlserver

_ALL: tuple[Engine, ...] = (
    Sqlite(),
    Duckdb(),
    Postgresql(),
    Mysql(),
    Mongodb(),
    Sqlserver(),
    Null(),
    Program(),
)

_BY_NAME: Mapping[str, Engine] = {engine.name: engine for engine in _ALL}
_ALIASES: Mapping[str, str] = {alias: engine.name for engine in _ALL for alias in engine.aliases}
_BY_PRODUCT: Mapping[str, Engine] = {
    product.lower(): engine for engine in _ALL for product in (engine.name, *engine.products)
}

ENGINES: tuple[str, ...] = tuple(_BY_NAME)
"""The names that experiments and URLs may use."""

NAMES: tuple[str, ...] = (*ENGINES, *_ALIASES)
"""All names that URLs may use."""

COMMON = Sqlite.name
"""The engine in whose SQL a statement for all is written."""


def all_engines() -> tuple[Engine, ...]:
    """Give all, in the order in which they are shown."""
    return _ALL


def engine_of(name: str) -> Engine:
    """Give an engine by its name in experiments. Raises KeyError where there is none."""
    return _BY_NAME[name]


def known_engine(name: str) -> Engine:
    """Give an engine by its name in experiments; one that says nothing where there is none, as for ``any``."""
    return _BY_NAME.get(name, _UNKNOWN)


def engine_named(name: str) -> str | None:
    """Give the name of an engine that a URL calls so; ``None``: there is none."""
    name = name.lower()
    return _ALIASES.get(name, name if name in _BY_NAME else None)


def names_program(url: str) -> bool:
    """Whether a URL, as it was typed, names a program of the user's own."""
    name = engine_named(url.strip().partition(":")[0])
    return name is not None and _BY_NAME[name].runs_programs


def engine_of_product(product: str | None) -> Engine:
    """Give the engine of which a product is, by the name in a result; one that says nothing where that is unknown."""
    return _BY_PRODUCT.get((product or "").lower(), _UNKNOWN)


class _Unknown(Engine):
    """An engine of which nothing is known: of a result that says none, or another version's."""


_UNKNOWN = _Unknown()
