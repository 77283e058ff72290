"""Runs over numbers of clients that follow the Universal Scalability Law: what is said of them, and how often right."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

from dbdyno.analysis.measured.scalability import scalability
from dbdyno.model.result.scalability import Scalability, ScalabilityCurve
from synthetic_cells import cell

RATE = 1000.0
"""Throughput of one client."""

TERMS = ((0.0, 0.0), (0.05, 0.0), (0.0, 0.002), (0.02, 0.0002), (0.05, 0.002), (0.3, 0.01), (0.1, 0.05))
"""Contention and coherency: both none, either, and peaks at 70, 22, 8 and 4 clients."""


@dataclass(frozen=True)
class Simulated:
    """A run, and what its machine does.

    ``noise``: the standard deviation of a trial's logarithm, which at the largest number of clients is ``louder`` times
    as great; ``of_block``: of what a block adds to all cells. ``form``: what throughput is in place of the law.
    """

    clients: Sequence[int]
    contention: float
    coherency: float
    blocks: int
    noise: float
    louder: float = 1.0
    of_block: float = 0.05
    form: Callable[[float], float] | None = None

    def true(self, clients: float) -> float:
        """The throughput of so many clients."""
        if self.form is not None:
            return self.form(clients)
        taken = 1 + self.contention * (clients - 1) + self.coherency * clients * (clients - 1)
        return RATE * clients / taken

    @property
    def peak(self) -> float:
        """The clients at the peak; infinite where there is none."""
        if self.coherency == 0:
            return math.inf
        return max(math.sqrt((1 - self.contention) / self.coherency), 1.0)

    def model(self, seed: int) -> Scalability:
        """Run it, and say how it scales."""
        random = numpy.random.default_rng(seed)
        of_block = random.normal(0, self.of_block, self.blocks)
        spreads = self.noise * numpy.linspace(1, self.louder, len(self.clients))
        cells: list[Any] = []
        for number, spread in zip(self.clients, spreads, strict=True):
            logs = math.log(self.true(number)) + random.normal(0, spread, self.blocks) + of_block
            values = [float(each) for each in numpy.exp(logs)]
            cells.append(cell(f"clients={number}", values, {"clients": number}, window={"clients": number}))
        (model,) = scalability(cells, {"clients": []}, 0.95)
        return model

    def held(self, curve: ScalabilityCurve) -> dict[str, bool]:
        """Say which of the intervals of a curve hold the truth."""
        last = next(each for each in curve.points if each.clients >= max(self.clients) * (1 - 1e-9))
        found = {
            "one client": _within(RATE, curve.one_client.ci95),
            "contention": _within(self.contention, curve.contention.ci95),
            "coherency": _within(self.coherency, curve.coherency.ci95),
            "the curve": _within(self.true(last.clients), last.ci95),
        }
        peak = curve.peak
        if peak.clients_ci95 is not None and peak.throughput is not None:
            # Where there is no peak, one was told that is not there.
            there = math.isfinite(self.peak)
            found["where it peaks"] = _within(self.peak, peak.clients_ci95)
            found["the peak"] = there and _within(self.true(self.peak), peak.throughput.ci95)
        else:
            found["where it peaks"] = self.peak >= peak.at_least * (1 - 1e-9)
        return found


def _within(value: float, ends: Sequence[float]) -> bool:
    return ends[0] * (1 - 1e-9) <= value <= ends[1] * (1 + 1e-9)


@dataclass
class Told:
    """How often each interval holds, of how many; the reasons of refusals; how many peaks were told."""

    runs: int = 0
    curves: int = 0
    peaks: int = 0
    held: Counter[str] = field(default_factory=Counter)
    stated: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    @property
    def coverage(self) -> Mapping[str, float]:
        return {name: self.held[name] / of for name, of in self.stated.items()}

    def add(self, other: Told) -> None:
        self.runs, self.curves, self.peaks = (
            self.runs + other.runs,
            self.curves + other.curves,
            self.peaks + other.peaks,
        )
        self.held.update(other.held)
        self.stated.update(other.stated)
        self.refused.update(other.refused)


def tell(simulated: Simulated, runs: int, seed: int = 0) -> Told:
    """Count over so many runs."""
    told = Told()
    for run in range(runs):
        told.runs += 1
        model = simulated.model(seed * 1_000_000 + run)
        curve = model.curve
        if curve is None:
            told.refused[model.refused.partition(":")[0]] += 1
            continue
        told.curves += 1
        told.peaks += curve.peak.told == "peak"
        for name, holds in simulated.held(curve).items():
            told.stated[name] += 1
            told.held[name] += holds
    return told
