"""Runs of factorial designs whose effects are known: what is said of them, and how often it is right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy

from dbdyno.analysis.measured.effects import effects
from dbdyno.model.result.effects import Effect
from dbdyno.stats import MARGIN
from synthetic_cells import cell


@dataclass(frozen=True)
class Simulated:
    """A full factorial design, and what its machine does.

    ``levels``: how many each factor has. ``planted``: by factor, the logarithm that each further level adds to that of
    the one before; ``interacting``: what the last levels of the first two factors add together. ``noise``: the standard
    deviation of a trial's logarithm; ``of_level``: of what a block adds to all cells of a level of the first factor, as
    a device does that is slower for a while.
    """

    levels: Sequence[int]
    blocks: int
    planted: dict[str, float] = field(default_factory=dict)
    interacting: float = 0.0
    noise: float = 0.05
    of_level: float = 0.0

    @property
    def factors(self) -> dict[str, list[int]]:
        """The levels by factor."""
        return {f"f{place}": list(range(count)) for place, count in enumerate(self.levels)}

    def effects(self, seed: int) -> list[Effect]:
        """Run it, and say what each factor does."""
        random = numpy.random.default_rng(seed)
        block_level = random.normal(0, 1, (self.levels[0], self.blocks)) * self.of_level
        blocks = random.normal(0, 0.1, self.blocks)
        cells: list[Any] = []
        for own in product(*self.factors.values()):
            named = dict(zip(self.factors, own, strict=True))
            logs = self.true(named) + random.normal(0, self.noise, self.blocks) + blocks + block_level[own[0]]
            cells.append(cell(str(own), [float(each) for each in numpy.exp(logs)], named))
        return effects(cells, {}, margin=MARGIN, confidence=0.95, factors=self.factors, family=len(cells) - 1)

    def true(self, levels: dict[str, Any]) -> float:
        """The logarithm of a cell's throughput."""
        own = 7.0 + sum(self.planted.get(name, 0.0) * level for name, level in levels.items())
        both = [levels[name] == self.levels[place] - 1 for place, name in enumerate(list(self.factors)[:2])]
        return float(own + self.interacting * (len(both) == 2 and all(both)))

    def true_effect(self, effect: Effect) -> float:
        """The logarithm of what an effect really is."""
        pairs = list(product(*(range(count) for name, count in self._without(effect.factor))))
        names = [name for name, _ in self._without(effect.factor)]
        told = []
        for pair in pairs:
            others = dict(zip(names, pair, strict=True))
            if all(others[name] == level for name, level in effect.at.items()):
                a, b = ({**others, effect.factor: getattr(effect, side)} for side in ("against", "level"))
                told.append(self.true(b) - self.true(a))
        return sum(told) / len(told)

    def _without(self, factor: str) -> list[tuple[str, int]]:
        return [(name, len(levels)) for name, levels in self.factors.items() if name != factor]


@dataclass
class Told:
    """``held``, ``intervals``: how many intervals hold the truth, of how many. ``false``: runs with a false effect."""

    runs: int = 0
    intervals: int = 0
    held: int = 0
    false: int = 0
    found: int = 0
    differing: int = 0

    @property
    def coverage(self) -> float:
        return self.held / self.intervals

    @property
    def false_share(self) -> float:
        return self.false / self.runs


def tell(simulated: Simulated, runs: int, seed: int = 0) -> Told:
    """Count over so many runs."""
    told = Told()
    for run in range(runs):
        wrong = False
        told.runs += 1
        for each in simulated.effects(seed * 1_000_000 + run):
            true = simulated.true_effect(each)
            differs = each.verdict in ("faster", "slower")
            if each.ci95 is not None and not each.at:
                told.intervals += 1
                told.held += math.log(each.ci95[0]) <= true <= math.log(each.ci95[1])
            # Also one in the wrong direction, and a dependence on a factor that there is none on.
            wrong |= differs and (abs(true) < 1e-9 or (true > 0) != (each.verdict == "faster"))
            wrong |= bool(each.depends_on) and not simulated.interacting
            if not each.at and abs(true) > 1e-9:
                told.differing += 1
                told.found += differs
        told.false += wrong
    return told
