"""Engines by their names, for whoever is told one: the registry makes them known when the package is imported."""

from collections.abc import Iterable, Sequence

from dbdyno.engines.engine import Engine

_ALL: list[Engine] = []
_BY_NAME: dict[str, Engine] = {}
_ALIASES: dict[str, str] = {}
_BY_PRODUCT: dict[str, Engine] = {}


def make_known(engines: Iterable[Engine]) -> None:
    """Add engines, in the order in which they are shown."""
    for engine in engines:
        _ALL.append(engine)
        _BY_NAME[engine.name] = engine
        _ALIASES.update(dict.fromkeys(engine.aliases, engine.name))
        _BY_PRODUCT.update({product.lower(): engine for product in (engine.name, *engine.products)})


def all_engines() -> Sequence[Engine]:
    """Give all, in the order in which they are shown."""
    return tuple(_ALL)


def engine_names() -> Sequence[str]:
    """Give the names that experiments and URLs may use."""
    return tuple(_BY_NAME)


def engine_aliases() -> Sequence[str]:
    """Give the further names that URLs may use."""
    return tuple(_ALIASES)


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
    """Whether a URL, as it was typed and perhaps with a name before it, names a program of the user's own."""
    name = engine_named(url.strip().partition(":")[0].rpartition("=")[2])
    return name is not None and _BY_NAME[name].runs_programs


def engine_of_product(product: str | None) -> Engine:
    """Give the engine of which a product is, by the name in a result; one that says nothing where that is unknown."""
    return _BY_PRODUCT.get((product or "").lower(), _UNKNOWN)


class _Unknown(Engine):
    """An engine of which nothing is known: of a result that says none, or another version's."""


_UNKNOWN = _Unknown()
