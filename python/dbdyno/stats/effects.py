"""Main effect of a factor and interaction of two factors, with rounds as the replicates.

A context is one combination of the other factors' levels. ``d_ci`` is the change of the metric's logarithm between two
levels of the factor, in round i and context c. The effect is the mean of ``d_ci`` over the contexts: the main effect of
a balanced factorial design (Montgomery 2017, Design and Analysis of Experiments, ch. 5). Its standard error comes from
the spread of that mean between rounds, with one degree of freedom less than there are rounds. A disturbance that
affects every context of a round, such as a device that is slow for a while, therefore counts as error.
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
    """The change between two levels in one context: a difference of logarithms per round.

    ``least``: a lower bound for the standard error of the mean. ``blunt``: a systematic error that all rounds share.
    ``scale``: the standard deviation of ``values`` as a multiple of a single trial's.
    """

    values: Mapping[int, float] = field(default_factory=dict)
    least: float = 0.0
    blunt: float = 0.0
    scale: float = math.sqrt(2)


def contrast_of_rates(a: Rates, b: Rates) -> Contrast:
    """Return the contrast between rates ``a`` and ``b`` over their common rounds."""
    blocks = sorted(a.keys() & b.keys())
    if not blocks:
        return Contrast()
    least, blunt = paired_errors(a, b)
    return Contrast(dict(zip(blocks, block_values(a, b), strict=True)), least, blunt)


def contrast_of_values(a: Mapping[int, float], b: Mapping[int, float]) -> Contrast:
    """Return the contrast between values ``a`` and ``b`` over the rounds in which both are positive."""
    blocks = [block for block in sorted(a.keys() & b.keys()) if a[block] > 0 and b[block] > 0]
    return Contrast(dict(zip(blocks, block_logs(a, b), strict=True)))


def pooled(contexts: Sequence[Contrast], confidence: float = CONFIDENCE, noise: Noise | None = None) -> Ratio | None:
    """Return the effect over several equally weighted contexts, or None if no context has a round.

    ``noise``: the noise of a trial, estimated from all cells of the run.
    """
    return _ratio(_mean(contexts), confidence, noise)


def difference(
    a: Sequence[Contrast], b: Sequence[Contrast], confidence: float = CONFIDENCE, noise: Noise | None = None
) -> Ratio | None:
    """Return the interaction: the effect in contexts ``b`` divided by the effect in contexts ``a``."""
    mean_a, mean_b = _mean(a), _mean(b)
    rounds = sorted(mean_a.values.keys() & mean_b.values.keys())
    interaction = Contrast(
        {number: mean_b.values[number] - mean_a.values[number] for number in rounds},
        math.hypot(mean_a.least, mean_b.least),
        mean_a.blunt + mean_b.blunt,
        math.hypot(mean_a.scale, mean_b.scale),
    )
    return _ratio(interaction, confidence, noise)


def _mean(contexts: Sequence[Contrast]) -> Contrast:
    """Return the mean of the contexts per round.

    If a trial failed, its context lacks a value in that round; the context's own mean takes its place. Otherwise the
    rounds would average different sets of contexts.
    """
    measured = [contrast for contrast in contexts if contrast.values]
    if not measured:
        return Contrast()
    means = [fmean(contrast.values.values()) for contrast in measured]
    rounds = sorted(set().union(*(contrast.values for contrast in measured)))
    values = {
        number: fmean(contrast.values.get(number, mean) for contrast, mean in zip(measured, means, strict=True))
        for number in rounds
    }
    least = math.sqrt(sum(contrast.least**2 for contrast in measured)) / len(measured)
    scale = math.sqrt(sum(contrast.scale**2 for contrast in measured)) / len(measured)
    return Contrast(values, least, fmean(contrast.blunt for contrast in measured), scale)


def _ratio(contrast: Contrast, confidence: float, noise: Noise | None) -> Ratio | None:
    logs = [contrast.values[block] for block in sorted(contrast.values)]
    return ratio_of(logs, confidence, least=contrast.least, blunt=contrast.blunt, noise=noise, scale=contrast.scale)
