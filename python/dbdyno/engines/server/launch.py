"""Look up how the servers of an engine are started."""

from dbdyno.engines.lookup import engine_of
from dbdyno.engines.server.family import Family


def family_of(engine: str) -> Family:
    """Return the family of an engine's servers. Raises KeyError if dbdyno can't start them."""
    family = engine_of(engine).family()
    if family is None:
        raise KeyError(engine)
    return family
