"""Trials of a block that take turns: what can, and what each saw of the machine without the others."""

from collections.abc import Sequence

from dbdyno.compile import CompiledCell
from dbdyno.errors import InputError
from dbdyno.worker import Event

#: Seconds. The kernel lets a thread run for some milliseconds at a time, and what a turn begins with (its caches were
#: the others') takes some tens of microseconds: shorter turns cost, and longer ones see the machine change.
USUAL_TURN_S = 0.02


# Seconds.
_SHORTEST = 0.001


def check_turns(compiled: CompiledCell, turn_s: float) -> None:
    """Raise InputError where a cell cannot take turns with others."""
    if turn_s < _SHORTEST:
        raise InputError(
            "--turns", "a turn lasts a millisecond at least", f"`--turns {USUAL_TURN_S * 1e3:g}ms` is usual"
        )
    problem = _problem(compiled)
    if problem is not None:
        raise InputError(f"--turns: {compiled.cell.id}", problem, "leave `--turns` out, or choose other cells")


def _problem(compiled: CompiledCell) -> str | None:
    if compiled.cell.system.engine not in ("sqlite", "null"):
        return f"`{compiled.cell.system.name}` does not pause between the turns of its clients"
    if compiled.definition.load.clients_as == "processes":
        return "its clients are processes of their own"
    if compiled.trial["arrival"]["loop"] != "closed":
        return "its transactions start by the clock"
    return None


def without_one_another(results: Sequence[Event]) -> None:
    """Take from what each result says of the whole machine (``machine_percent``) what the others' trials used of it."""

    def own_s(result: Event) -> float:
        return float(result["cpu"]["process_percent"]) / 100 * float(result["elapsed_s"])

    used_s = sum(own_s(result) for result in results)
    for result in results:
        cpu, real_s = result["cpu"], float(result["turns"]["real_s"])
        others = float(cpu["machine_percent"]) - (100 * used_s / real_s if real_s > 0 else 0.0)
        cpu["machine_percent"] = float(cpu["process_percent"]) + max(0.0, others)
