"""How the servers of each engine are started."""

from dbdyno.engines.known import engine_of
from dbdyno.engines.server.family import Family


def family_of(engine: str) -> Family:
    """Say how the servers of an engine are started; KeyError where dbdyno starts none."""
    family = engine_of(engine).family()
    if family is None:
        raise KeyError(engine)
    return family
