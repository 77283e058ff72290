"""Look up engines by name. The registry registers them when the package is imported."""

from collections.abc import Iterable, Sequence

from dbdyno.engines.engine import Engine

_ALL: list[Engine] = []
_BY_NAME: dict[str, Engine] = {}
_ALIASES: dict[str, str] = {}
_BY_PRODUCT: dict[str, Engine] = {}


def make_known(engines: Iterable[Engine]) -> None:
    """Register engines, in the order in which they are listed."""
    for engine in engines:
        _ALL.append(engine)
        _BY_NAME[engine.name] = engine
        _ALIASES.update(dict.fromkeys(engine.aliases, engine.name))
        _BY_PRODUCT.update({product.lower(): engine for product in (engine.name, *engine.products)})


def all_engines() -> Sequence[Engine]:
    """Return all engines, in the order in which they are listed."""
    return tuple(_ALL)


def engine_names() -> Sequence[str]:
    """Return the names that experiments and URLs may use."""
    return tuple(_BY_NAME)


def engine_aliases() -> Sequence[str]:
    """Return the additional names that URLs may use."""
    return tuple(_ALIASES)


def engine_of(name: str) -> Engine:
    """Return an engine by its name in experiments. Raises KeyError for an unknown name."""
    return _BY_NAME[name]


def known_engine(name: str) -> Engine:
    """Return an engine by its name in experiments; for other names, such as ``any``, an engine with defaults only."""
    return _BY_NAME.get(name, _UNKNOWN)


def engine_named(name: str) -> str | None:
    """Return the engine's name for a name or alias in a URL; ``None`` for an unknown one."""
    name = name.lower()
    return _ALIASES.get(name, name if name in _BY_NAME else None)


def names_program(url: str) -> bool:
    """Whether a URL as typed, perhaps with a label before it, names the user's own program."""
    name = engine_named(url.strip().partition(":")[0].rpartition("=")[2])
    return name is not None and _BY_NAME[name].runs_programs


def engine_of_product(product: str | None) -> Engine:
    """Return a product's engine, by the product name in a result; for other names, an engine with defaults only."""
    return _BY_PRODUCT.get((product or "").lower(), _UNKNOWN)


class _Unknown(Engine):
    """An engine with defaults only, for results without an engine or from another version of dbdyno."""


_UNKNOWN = _Unknown()
