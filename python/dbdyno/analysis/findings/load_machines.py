"""Load machines of a cluster, and clients that are too busy."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.analysis.measured.client import BUSY, share_of_busy_client
from dbdyno.analysis.measured.metrics import done
from dbdyno.engines import engine_of_product
from dbdyno.model.result.cell import Cell, LoadMachineRound, Round
from dbdyno.model.result.reading import JsonObject, objects, text
from dbdyno.model.result.shape import Finding


def _busy_client(cell: Cell, material: Material) -> tuple[str, JsonObject] | None:
    engine = engine_of_product(cell.system.engine)
    share = share_of_busy_client(cell)
    if share is None:
        return None
    words = (
        f"The client reached {share * 100:.0f} % of its maximum with the null engine, so the result is as much "
        "about the client"
    )
    if not engine.is_server:
        # The clients of an embedded database run in the same process.
        return f"{words}. Give it more threads.", {"share": share}
    machines = len(objects(material.run.options.get("load_machines"))) or 1
    needed = _machines(share, machines)
    clients = max((round_.window.get("clients") or 1 for round_ in done(cell)), default=1)
    words += f". {needed} load machines like {'this one' if machines == 1 else 'these'} would be less than half as busy"
    if clients < needed:
        words += f", with {needed} clients or more"
    words += f": `{_command(material, needed)}`, with a server that they can reach by its host name."
    return words, {"share": share, "machines": machines, "needed": needed}


def _machines(share: float, machines: int) -> int:
    """Return the number of machines that keeps the clients below the share at which they affect the result."""
    return max(machines + 1, math.floor(machines * share / BUSY) + 1)


def _command(material: Material, needed: int) -> str:
    """Return the command that repeats the run with this number of load machines."""
    words = [each for each in material.run.command if each]
    if "--cluster" in words:
        at = words.index("--cluster")
        del words[at : at + 2]
    words = [word for word in words if not word.startswith("--cluster=")]
    words = words if len(words) > 1 else ["dbdyno", "run", material.run.experiment]
    return shlex.join(words) + f" --cluster 'ray://HOST:PORT?machines={needed}'"


@finding(
    "busy client",
    needs=("warning", "share"),
    meaning="The client was so busy that the result depends on the client as well as on the system.",
    remedy="Give an embedded database's client more threads, or use more load machines.",
)
def busy_client(material: Material) -> Iterator[Finding]:
    """Report cells whose result depends on the client, and how many load machines would avoid that."""
    for cell in material.cells:
        said = _busy_client(cell, material)
        if said is not None:
            words, observed = said
            yield busy_client.found(words, [cell.id], {"warning": busy_client.name, **observed})


@finding(
    "load machine lost",
    needs=("lost",),
    meaning="A load machine failed during a trial, and dbdyno repeated the trial with as many machines.",
    remedy="Check the load machine and its network.",
)
def load_machine_lost(material: Material) -> Iterator[Finding]:
    """Report trials that were repeated because a load machine failed, with the error."""
    for cell in material.cells:
        lost = [why for round_ in cell.rounds for why in round_.lost_machines]
        if lost:
            tries = "1 trial was" if len(lost) == 1 else f"{len(lost)} trials were"
            words = f"{tries} aborted and repeated with as many load machines: {'; '.join(dict.fromkeys(lost))}."
            yield load_machine_lost.found(words, [cell.id], {"lost": lost})


# Probability of a false report for a trial with equal machines, over all its machines.
_LEVEL = 0.01

# Differences that matter, as shares: of a client's rate, and of the median service time, which is less certain.
_RATE = 0.02
_TIME = 0.10


@finding(
    "load machines differ",
    needs=("warning", "trials", "machine"),
    meaning="One load machine had a lower rate or longer service times than the others, beyond chance.",
    remedy="Look at other programs on that machine, and at its distance from the system.",
)
def load_machines_differ(material: Material) -> Iterator[Finding]:
    """Report cells in which a load machine had a lower rate or longer service times than chance explains."""
    for cell in material.cells:
        said = _differing(cell)
        if said is not None:
            words, observed = said
            yield load_machines_differ.found(words, [cell.id], {"warning": load_machines_differ.name, **observed})


def _differing(cell: Cell) -> tuple[str, JsonObject] | None:
    trials = [round_ for round_ in done(cell) if round_.load_machines]
    found = [furthest for round_ in trials if (furthest := _slowest(round_)) is not None]
    if not found:
        return None
    worst = min(found, key=lambda slowest: slowest.behind).machine
    rate, time = worst.rate_ratio, worst.time_ratio
    words = (
        f"In {len(found)} of {len(trials)} trials the load machines differed by more than chance: machine "
        f"{worst.name} reached {rate or 0.0:.2f} times the average rate per client"
    )
    if time is not None:
        words += f", and its service time was {time:.2f} times as long as on the others"
    return words + ". Look for other programs on it, and at its distance from the system.", {
        "trials": len(found),
        "machine": worst.name,
        "rate_ratio": rate,
        "rate_p": worst.rate_p,
        "time_ratio": time,
        "time_p": worst.time_p,
    }


@dataclass(frozen=True)
class _Slowest:
    """The machine that is furthest behind in a trial. ``behind``: sort key, smaller if further behind."""

    machine: LoadMachineRound
    behind: tuple[int, float]


def _slowest(round_: Round) -> _Slowest | None:
    """Return the machine that was furthest behind, if one was by more than chance (two tests per machine).

    Prefers machines with a lower rate. The service time decides only if the rates are equal: a service time of a
    microsecond can be twice another machine's without any effect on the load.
    """
    machines = round_.load_machines
    bound = _LEVEL / (2 * len(machines))
    behind: list[_Slowest] = []
    unlike = False
    for machine in machines:
        rate, time = machine.rate_ratio, machine.time_ratio
        did_unlike = _is_unlike(rate, machine.rate_p, bound, _RATE)
        took_unlike = _is_unlike(time, machine.time_p, bound, _TIME)
        unlike = unlike or did_unlike or took_unlike
        if did_unlike and rate is not None and rate < 1:
            behind.append(_Slowest(machine, (0, rate)))
        elif took_unlike and time is not None and time > 1:
            behind.append(_Slowest(machine, (1, 1 / time)))
        else:
            behind.append(_Slowest(machine, (2, (1.0 if rate is None else rate) / (time or 1.0))))
    return min(behind, key=lambda slowest: slowest.behind) if unlike else None


def _is_unlike(ratio: float | None, p: float | None, bound: float, margin: float) -> bool:
    return ratio is not None and p is not None and p < bound and abs(ratio - 1) > margin


# Report windows of which a larger share, at either end, was not measured on all machines.
_APART_SHARE = 0.05


@finding(
    "load machines apart",
    needs=("warning", "trials", "began_ms"),
    meaning="The windows of the load machines began at different times, so their rates don't add up to one rate.",
    remedy="Make the window longer.",
)
def load_machines_apart(material: Material) -> Iterator[Finding]:
    """Report cells whose window was partly without the load of all machines."""
    for cell in material.cells:
        trials = [round_ for round_ in done(cell) if round_.load_machines]
        late = [
            apart for round_ in trials if (apart := _apart_ms(round_)) > _APART_SHARE * 1e3 * (round_.elapsed_s or 0.0)
        ]
        if late:
            words = (
                f"In {len(late)} of {len(trials)} trials the windows of the load machines began up to "
                f"{max(late):,.0f} ms apart, so the sum of their rates mixes different times. Make the window longer."
            )
            observed = {"warning": load_machines_apart.name, "trials": len(late), "began_ms": max(late)}
            yield load_machines_apart.found(words, [cell.id], observed)


def _apart_ms(round_: Round) -> float:
    """Return the minimum difference of the start times in milliseconds, given the uncertainty of the clocks."""
    began = [(machine.began_ms, machine.clock_ms) for machine in round_.load_machines if machine.began_ms is not None]
    if len(began) <= 1:
        return 0.0
    return max(0.0, max(at - wrong for at, wrong in began) - min(at + wrong for at, wrong in began))


@finding(
    "load machines shared",
    needs=("warning", "machines", "hosts"),
    meaning="Several load machines are the same computer and share its CPUs.",
    remedy="Use separate computers as load machines.",
)
def load_machines_shared(material: Material) -> Iterator[Finding]:
    """Report load machines that are the same computer."""
    machines = objects(material.run.options.get("load_machines"))
    hosts = {boot for machine in machines if (boot := text(machine, "boot"))}
    if not hosts or len(hosts) == len(machines):
        return
    one = "one computer" if len(hosts) == 1 else f"only {len(hosts)} computers"
    words = f"The {len(machines)} load machines are {one} and share CPUs, so they can't generate more load than that."
    observed = {"warning": load_machines_shared.name, "machines": len(machines), "hosts": len(hosts)}
    yield load_machines_shared.found(words, [], observed)
