"""Effects of a factor, pooled over cells that differ in nothing else, with blocks as the replicates.

A context is a combination of the other factors' levels. In block i and context c the factor's level changed the
logarithm of what was measured by ``d_ci``. The effect is the mean over contexts, which is the main effect of a balanced
factorial design (Montgomery 2017, Design and Analysis of Experiments, ch. 5); its error is told by how its value for a
whole block differs from block to block, with one degree of freedom less than there are blocks. What disturbs all
contexts of a block alike is then part of the error, as a device that is slower for a while is of the effect of syncing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from dbdyno.stats.intervals import CONFIDENCE, Noise, Ratio, block_logs, ratio_of
from dbdyno.stats.rates import Rates, block_values, paired_errors


@dataclass(frozen=True, slots=True)
class Contrast:
    """What a change of level did in one context: the difference of logarithms by block.

    ``least``: the least standard error of its mean; ``blunt``: by how much all blocks alike may be off. ``scale``: the
    standard deviation of its values if that of a trial is 1.
    """

    values: Mapping[int, float] = field(default_factory=dict)
    least: float = 0.0
    blunt: float = 0.0
    scale: float = math.sqrt(2)


def contrast_of_rates(a: Rates, b: Rates) -> Contrast:
    """Return what leads from rates ``a`` to ``b``, in the blocks that both have."""
    blocks = sorted(a.keys() & b.keys())
    if not blocks:
        return Contrast()
    least, blunt = paired_errors(a, b)
    return Contrast(dict(zip(blocks, block_values(a, b), strict=True)), least, blunt)


def contrast_of_values(a: Mapping[int, float], b: Mapping[int, float]) -> Contrast:
    """Return what leads from values ``a`` to ``b``, in the blocks in which both are above 0."""
    blocks = [block for block in sorted(a.keys() & b.keys()) if a[block] > 0 and b[block] > 0]
    return Contrast(dict(zip(blocks, block_logs(a, b), strict=True)))


def pooled(contexts: Sequence[Contrast], confidence: float = CONFIDENCE, noise: Noise | None = None) -> Ratio | None:
    """Return the effect over several contexts, each of the same weight; None if no context has a block.

    ``noise``: of a trial, as all cells of the run show it.
    """
    return _ratio(_mean(contexts), confidence, noise)


def difference(
    a: Sequence[Contrast], b: Sequence[Contrast], confidence: float = CONFIDENCE, noise: Noise | None = None
) -> Ratio | None:
    """Return by what factor the effect in contexts ``b`` is greater than that in contexts ``a``: their interaction."""
    of_a, of_b = _mean(a), _mean(b)
    blocks = sorted(of_a.values.keys() & of_b.values.keys())
    apart = {block: of_b.values[block] - of_a.values[block] for block in blocks}
    both = Contrast(
        apart, math.hypot(of_a.least, of_b.least), of_a.blunt + of_b.blunt, math.hypot(of_a.scale, of_b.scale)
    )
    return _ratio(both, confidence, noise)


def _mean(contexts: Sequence[Contrast]) -> Contrast:
    """Return the mean of contexts by block.

    A context that lacks a block counts there with its own mean: else a block in which a trial failed would tell of
    other contexts than the others do.
    """
    there = [each for each in contexts if each.values]
    if not there:
        return Contrast()
    own = [fmean(each.values.values()) for each in there]
    blocks = sorted(set().union(*(each.values for each in there)))
    values = {
        block: fmean(each.values.get(block, mean) for each, mean in zip(there, own, strict=True)) for block in blocks
    }
    least = math.sqrt(sum(each.least**2 for each in there)) / len(there)
    scale = math.sqrt(sum(each.scale**2 for each in there)) / len(there)
    return Contrast(values, least, fmean(each.blunt for each in there), scale)


def _ratio(contrast: Contrast, confidence: float, noise: Noise | None) -> Ratio | None:
    logs = [contrast.values[block] for block in sorted(contrast.values)]
    return ratio_of(logs, confidence, least=contrast.least, blunt=contrast.blunt, noise=noise, scale=contrast.scale)
