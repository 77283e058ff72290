"""Effects of an experiment beyond dbdyno's own files: programs it runs, code it loads, hosts it connects to."""

from collections.abc import Collection, Iterator

from dbdyno.engines import engine_of
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.system import SystemSpec

# Settings that refer to code, and what dbdyno does with it.
_CODE = {
    "library": "loads the library `{}`",
    "source": "compiles SQLite from `{}`",
    "cflags": "compiles SQLite with `{}`",
    "program": "starts the program `{}`",
}

_THIS_MACHINE = {"localhost", "127.0.0.1", "::1", "[::1]"}


def outside_effects(compiled: CompiledCell, typed: Collection[SystemSpec] = ()) -> Iterator[str]:
    """Yield what a cell runs, loads, compiles, connects to and uploads, a clause each.

    ``typed``: systems from the command line, whose URLs needn't be repeated to the person who typed them.
    """
    system = compiled.cell.system
    is_typed = any(spec.name == system.name for spec in typed)
    if not is_typed:
        yield from _system_effects(system)
    for name, value in compiled.settings.shown():
        key = name.rpartition(".")[2]
        if key in _CODE and not (is_typed and name in system.settings):
            yield _CODE[key].format(value)
    if _is_remote(system):
        yield from (f"sends `{table.file}` to {system.name}" for table in compiled.tables if table.file)


def _system_effects(system: SystemSpec) -> Iterator[str]:
    engine = engine_of(system.engine)
    if engine.runs_programs:
        yield f"runs `{system.command}`"
    if system.host is not None:
        yield f"connects to {system.name}"
    behind = engine.behind(system.settings)
    if behind is not None:
        yield from _system_effects(behind[1])


def _is_remote(system: SystemSpec) -> bool:
    """Whether a system runs on another machine, as far as its URL says."""
    return system.host is not None and not system.host.startswith("/") and system.host not in _THIS_MACHINE
