"""The engines that can be measured, each in a folder of its own behind one interface (:mod:`dbdyno.engines.engine`)."""

from dbdyno.engines.engine import Engine
from dbdyno.engines.registry import (
    COMMON,
    ENGINES,
    NAMES,
    engine_named,
    engine_of,
    engine_of_product,
    known_engine,
    names_program,
)

__all__ = [
    "COMMON",
    "ENGINES",
    "NAMES",
    "Engine",
    "engine_named",
    "engine_of",
    "engine_of_product",
    "known_engine",
    "names_program",
]
