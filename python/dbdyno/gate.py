"""The gate: whether a run is slower than a baseline by more than a margin, for CI."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dbdyno.compare import Compared
from dbdyno.document.shape import Comparison

Answer = Literal["passed", "regression", "inconclusive"]

# A difference is shown at 0.02, which asks for an interval this much wider than that of 95 % to be clear of no change.
_STRICTER = 1.96 / 2.326
# As many more rounds as somebody might wait for.
_MOST_TIMES = 100

# Where it is no matter of rounds.
_BY_RUNS = (
    "runs differ too much from one another, however many rounds they have: `gate --against` measures both together"
)

EXIT_CODES: dict[Answer, int] = {"passed": 0, "regression": 3, "inconclusive": 4}


@dataclass(frozen=True)
class Judgement:
    """What the gate says of one cell, and why in a sentence."""

    comparison: Comparison
    answer: Answer
    why: str


def judge(compared: Compared, margin: float) -> list[Judgement]:
    """Judge each cell of a comparison whose ratios are of b to the baseline a. ``margin``: the loss allowed, a share.

    *Passed*: the interval excludes a loss beyond the margin (non-inferiority; Schuirmann 1987 for the principle).
    *Regression*: slower beyond chance (p below 0.02, corrected for the number of cells) and by more than the margin.
    Else *inconclusive*: a loss beyond the margin is neither shown nor excluded; rounds of b failed, whose throughput
    nobody knows; or one of two runs has a warning that may be why it was slower. Levels are stricter where a run ended
    itself (:func:`dbdyno.stats.decide`). A loss of throughput is a share of the baseline's; of every other metric it is
    what there is more of than in the baseline.
    """
    return [_judge(compared, place, margin) for place in range(len(compared.comparisons))]


def overall(answers: list[Answer]) -> Answer:
    """Return the worst answer; a gate that judged nothing is inconclusive."""
    worst: tuple[Answer, ...] = ("regression", "inconclusive")
    return next((answer for answer in worst if answer in answers), "passed" if answers else "inconclusive")


def _judge(compared: Compared, place: int, margin: float) -> Judgement:
    comparison, lacking = compared.comparisons[place], compared.lacking[place]
    failed, warned = compared.failed[place], compared.warned[place]
    if comparison["not_comparable"]:
        return Judgement(comparison, "inconclusive", f"not ranked: {'; '.join(comparison['not_comparable'])}")
    ratio, ci95 = comparison["ratio"], comparison["ci95"]
    if ratio is None or ci95 is None or lacking:
        return Judgement(comparison, "inconclusive", lacking)
    low, high = ci95
    change = f"{(ratio - 1) * 100:+.2f} % (95 % interval {(low - 1) * 100:+.2f} to {(high - 1) * 100:+.2f} %)"
    share = f"more than {margin * 100:.3g} %"
    if comparison["metric"] == "throughput":
        loss, bound, beyond, excluded = f"a loss of {share}", 1 - margin, ratio < 1 - margin, low >= 1 - margin
    else:
        loss, bound, beyond, excluded = f"an increase of {share}", 1 + margin, ratio > 1 + margin, high <= 1 + margin
    if comparison["verdict"] == "slower" and beyond:
        if warned:
            return Judgement(comparison, "inconclusive", f"{change}: {loss}, but {warned}: measure again")
        return Judgement(comparison, "regression", f"{change}: {loss}")
    if excluded and failed:
        return Judgement(comparison, "inconclusive", f"{change}: {failed}")
    if excluded:
        return Judgement(comparison, "passed", f"{change}: {loss} is excluded")
    # The ratio itself must be known apart from the bound, or, where it is beyond that, from no change.
    apart = abs(math.log(ratio)) * _STRICTER if beyond else abs(math.log(ratio / bound)) if bound > 0 else math.inf
    settles = _BY_RUNS if compared.by_runs[place] else _more(math.log(high / low) / 2, apart)
    why = f"{change}: {loss} is neither shown nor excluded; {settles}"
    return Judgement(comparison, "inconclusive", why + (f"; {failed}" if failed else ""))


def _more(reach: float, apart: float) -> str:
    """Say how many rounds would probably bring an interval's ``reach`` down to ``apart``, both on logarithms."""
    times = (reach / apart) ** 2 if apart > 0 else math.inf
    if times > _MOST_TIMES:
        return "no rounds will probably settle it"
    return f"about {max(2, math.ceil(times))} times as many rounds would probably settle it"
