"""Decide whether the trials of a round are interleaved: which cells allow it, and when it is the default."""

from collections.abc import Sequence
from typing import Any

import psutil

from dbdyno.base.errors import DbdynoError, InputError
from dbdyno.engines import engine_of
from dbdyno.engines.writes import writing_transactions
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.run.provisioners import Provisioners

#: In seconds. A slice starts with cold caches, which costs tens of microseconds, and the kernel schedules threads for
#: some milliseconds at a time. Shorter slices cost too much; longer ones don't cancel out changes of the machine.
USUAL_SLICE_S = 0.02

# In seconds.
_MIN_SLICE_S = 0.001

# Largest share of the free memory or disk that the copies of all cells may take. If they displace each other from
# memory, interleaving doesn't help.
_MAX_SHARE_OF_FREE = 0.5


def check_interleaving(compiled: CompiledCell, slice_s: float) -> None:
    """Raise InputError if a cell cannot be interleaved with others."""
    if slice_s < _MIN_SLICE_S:
        raise InputError(
            "--interleave", "a slice lasts a millisecond at least", f"`--interleave {USUAL_SLICE_S * 1e3:g}ms` is usual"
        )
    problem = _problem(compiled)
    if problem is not None:
        raise InputError(f"--interleave: {compiled.cell.id}", problem, "`--interleave none`, or choose other cells")


def decide(compiled: Sequence[CompiledCell], provisioners: Provisioners) -> float | None:
    """Return the seconds of a slice for a run with ``rounds = "auto"``; None to measure one cell after another.

    Interleaved cells need the fewest rounds. All of them have to support it, their data has to fit, and no cell may
    leave unsynced writes to the slices of other cells. Errors are ignored here, because the trial repeats and reports
    them.
    """
    if len(compiled) == 1 or any(_problem(cell) is not None for cell in compiled):
        return None
    try:
        needed = sum(_bytes_of_copy(cell, provisioners) for cell in compiled)
        if sync_differently(compiled, provisioners):
            return None
    except DbdynoError:
        return None
    memory, disk = psutil.virtual_memory().available, psutil.disk_usage(str(provisioners.workspace.path)).free
    return USUAL_SLICE_S if needed <= _MAX_SHARE_OF_FREE * min(memory, disk) else None


def sync_differently(compiled: Sequence[CompiledCell], provisioners: Provisioners) -> list[CompiledCell]:
    """Return the cells if some of them write and they sync differently; empty otherwise.

    The kernel writes unsynced data to the device later, in the slices of all cells. Raises DbdynoError.
    """
    alike = len({_syncing(cell) for cell in compiled}) == 1
    if alike and not any(_sets_syncing(cell) or _acknowledges_unsynced(cell) for cell in compiled):
        return []
    writing = [cell for cell in compiled if any(writing_transactions(cell, provisioners).values())]
    if any(_sets_syncing(cell) for cell in writing) or len({_syncing(cell) for cell in writing}) > 1:
        return list(compiled)
    # Cells that only read are also slowed down when the kernel writes the data of other cells.
    return (
        list(compiled) if len(writing) < len(compiled) and any(_acknowledges_unsynced(cell) for cell in writing) else []
    )


def differing_syncs(compiled: Sequence[CompiledCell], provisioners: Provisioners) -> list[dict[str, Any]]:
    """Return an observation if the user interleaved cells that sync differently."""
    try:
        differing = sync_differently(compiled, provisioners)
    except DbdynoError:
        return []
    settings = {cell.cell.id: dict(_syncing(cell)) for cell in differing}
    return [{"kind": "interleaved cells sync differently", "settings": settings}] if settings else []


def _syncing(compiled: CompiledCell) -> tuple[tuple[str, str], ...]:
    """Return the settings that decide which of a cell's writes are synced, and when."""
    return engine_of(compiled.cell.system.engine).syncing(compiled.settings)


def _acknowledges_unsynced(compiled: CompiledCell) -> bool:
    """Whether a cell reports a commit before it has synced all of its writes."""
    return engine_of(compiled.cell.system.engine).acknowledges_unsynced(compiled.settings)


def _sets_syncing(compiled: CompiledCell) -> bool:
    """Whether a statement of a cell's transactions names a setting that decides about syncs."""
    engine = engine_of(compiled.cell.system.engine)
    return any(engine.sets_syncing(statement.sql) for statement in compiled.task.statements)


def _bytes_of_copy(compiled: CompiledCell, provisioners: Provisioners) -> int:
    return provisioners.of(compiled).bytes_of_copy(compiled)


def _problem(compiled: CompiledCell) -> str | None:
    if not engine_of(compiled.cell.system.engine).in_worker:
        return f"`{compiled.cell.system.name}` is not suspended between the slices of its clients"
    if compiled.definition.load.clients_as == "processes":
        return "its clients are processes of their own"
    if compiled.definition.load.memory_limit_mb is not None:
        return "its memory is limited"
    if compiled.task.arrival.loop != "closed":
        return "its transactions start by the clock"
    if compiled.task.beside:
        return "other work runs beside its clients"
    return None
