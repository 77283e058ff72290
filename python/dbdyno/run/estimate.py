"""The estimate of a run's length that is printed before the run."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.experiment.screening import screened, worth_screening
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.run.pace import AROUND_S
from dbdyno.stats import Stopping

# Seconds from which a screening design is suggested.
_LONG_S = 180.0


def estimate(
    cells: Sequence[CompiledCell],
    rounds: int,
    left: int,
    *,
    stopping: Stopping | None,
    all_cells: int,
    levels: Sequence[Sequence[str]],
    verdicts: bool = False,
) -> str:
    """Return the number of cells and rounds of a run, and its approximate duration if the experiment determines it.

    ``left``: remaining trials; ``all_cells``: cells of the whole design, with the ``levels`` of each
    factor. Suggests a screening design if the whole design takes long. ``verdicts``: the run ends when they are
    settled.
    """
    count = len(cells)
    words = f"{count} cell{'s' * (count != 1)}{f' of {all_cells}' if count < all_cells else ''}, "
    round_s = _round_s(cells)
    if stopping is not None:
        until = "each verdict is settled" if verdicts else f"the interval is within {stopping.precision}"
        words += f"{stopping.minimum} to {rounds} rounds, until {until}"
        if stopping.budget_s is None:
            return words
        words += f" or {duration(stopping.budget_s)} have passed"
        least_s = 0.0 if round_s is None else stopping.kept * round_s
        if least_s > stopping.budget_s:
            words += f"; the {stopping.kept} rounds that it needs take longer: about {duration(least_s)}"
        return words
    words += f"{rounds} round{'s' * (rounds != 1)}"
    if round_s is None:
        return words + ": how long that takes, the first trials will tell"
    whole = round_s / count * left
    words += f": about {duration(whole)}"
    part = len(screened([cell.cell for cell in cells], levels)) if count == all_cells and whole > _LONG_S else count
    if worth_screening(part, count):
        less = duration(whole * part / count)
        words += f"; `--design screening` measures {part} cells in about {less} and estimates the effect of each factor"
    return words


def _round_s(cells: Sequence[CompiledCell]) -> float | None:
    """Return the approximate seconds of a round; None if its windows end by an amount of work."""
    loads = [cell.definition.load for cell in cells]
    if any(load.stop.amounts or load.stop.seconds is None for load in loads):
        return None
    return sum(load.warmup.seconds + (load.stop.seconds or 0.0) + AROUND_S for load in loads)


# From this number on, use the next unit: minutes instead of seconds, hours instead of minutes.
_MAX_OF_UNIT = 90


def duration(seconds: float) -> str:
    """Return a duration such as ``40 s``, ``4 min`` or ``2 h 5 min``."""
    if seconds < _MAX_OF_UNIT:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < _MAX_OF_UNIT else f"{minutes // 60} h {minutes % 60} min"
