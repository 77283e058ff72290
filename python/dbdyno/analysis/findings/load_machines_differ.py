"""Load machines of one trial that did not do alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.measured.metrics import done
from dbdyno.model.result.cell import Cell, LoadMachineRound, Round
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject
from dbdyno.model.result.shape import Finding

LOAD_MACHINES_DIFFER = Kind("load machines differ", ("warning", "trials", "machine"))

# How often a trial whose machines are alike may be said to have unlike ones: for all its machines together.
_LEVEL = 0.01

# Differences that matter, as shares: of a client's rate, and of the median service time, of which less is known.
_RATE = 0.02
_TIME = 0.10


def load_machines_differ(material: Material) -> Iterator[Finding]:
    """Say of which cells one load machine did less, or took longer, than chance explains."""
    for cell in material.cells:
        said = _differing(cell)
        if said is not None:
            words, observed = said
            yield LOAD_MACHINES_DIFFER.found(words, [cell["id"]], {"warning": LOAD_MACHINES_DIFFER.name, **observed})


def _differing(cell: Cell) -> tuple[str, JsonObject] | None:
    trials = [each for each in done(cell) if each["load_machines"]]
    found = [furthest for each in trials if (furthest := _slowest(each)) is not None]
    if not found:
        return None
    worst = min(found, key=lambda each: each.behind).machine
    rate, time = worst["rate_ratio"], worst["time_ratio"]
    words = (
        f"In {len(found)} of {len(trials)} trials the load machines differed by more than chance: machine "
        f"{worst['name']} did {rate or 0.0:.2f} times the rate of a client on all"
    )
    if time is not None:
        words += f", and its service time was {time:.2f} times that of the others"
    return words + ". See what else runs on it, and how far it is from the system.", {
        "trials": len(found),
        "machine": worst["name"],
        "rate_ratio": rate,
        "rate_p": worst["rate_p"],
        "time_ratio": time,
        "time_p": worst["time_p"],
    }


@dataclass(frozen=True)
class _Slowest:
    """The machine that is furthest behind in a trial. ``behind``: less where it is further."""

    machine: LoadMachineRound
    behind: tuple[int, float]


def _slowest(each: Round) -> _Slowest | None:
    """Give the machine that was furthest behind, where one was by more than chance; each has two chances.

    It is one that did less, where any did. Only of machines that did alike it is told by how long they took: a service
    time of a microsecond may be twice another's, and costs the load nothing.
    """
    machines = each["load_machines"]
    bound = _LEVEL / (2 * len(machines))
    behind: list[_Slowest] = []
    unlike = False
    for machine in machines:
        rate, time = machine["rate_ratio"], machine["time_ratio"]
        did_unlike = _is_unlike(rate, machine["rate_p"], bound, _RATE)
        took_unlike = _is_unlike(time, machine["time_p"], bound, _TIME)
        unlike = unlike or did_unlike or took_unlike
        if did_unlike and rate is not None and rate < 1:
            behind.append(_Slowest(machine, (0, rate)))
        elif took_unlike and time is not None and time > 1:
            behind.append(_Slowest(machine, (1, 1 / time)))
        else:
            behind.append(_Slowest(machine, (2, (1.0 if rate is None else rate) / (time or 1.0))))
    return min(behind, key=lambda each: each.behind) if unlike else None


def _is_unlike(ratio: float | None, p: float | None, bound: float, margin: float) -> bool:
    return ratio is not None and p is not None and p < bound and abs(ratio - 1) > margin


RULE = Rule(load_machines_differ, (LOAD_MACHINES_DIFFER,))
