"""The engines that dbdyno can measure; each package implements the interface :mod:`dbdyno.engines.engine`."""

from dbdyno.engines.engine import Engine
from dbdyno.engines.lookup import all_engines, engine_named, engine_of, engine_of_product, known_engine, names_program
from dbdyno.engines.registry import COMMON, ENGINES, NAMES

__all__ = [
    "COMMON",
    "ENGINES",
    "NAMES",
    "Engine",
    "all_engines",
    "engine_named",
    "engine_of",
    "engine_of_product",
    "known_engine",
    "names_program",
]
