"""The gate for CI: decide whether a run is slower than a baseline by more than a margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from dbdyno.analysis.measured.comparisons import Pair
from dbdyno.analysis.measured.comparisons import judge as compare_pairs
from dbdyno.analysis.worse_plans import WorsePlan, worse_plans
from dbdyno.model.result.shape import Comparison

# failed: a condition of `--fail-on` is violated.
GateVerdict = Literal["pass", "regression", "failed", "not settled"]

REGRESSION_CODE = 3
NOT_SETTLED_CODE = 4

# The ratio changes as rounds are added: this factor makes the predicted rounds sufficient in four of five cases.
_RESERVE = 1.8
# Why more rounds cannot settle the comparison of runs measured at different times.
_BY_RUNS = (
    "the noise between runs is too large for more rounds to settle it: use `gate --against` to measure both together"
)
# Don't suggest more rounds beyond this multiple.
_MAX_ROUNDS_FACTOR = 300


@dataclass(frozen=True)
class Violation:
    """A statement that violates a condition of `--fail-on`.

    ``condition``: as typed; ``what``: what the statement does, a verb phrase; ``was``: its plan in the baseline in
    words, None if there is none; ``now``: its plan on the new side.
    """

    condition: str
    statement: str
    what: str
    was: str | None
    now: str

    @property
    def reason(self) -> str:
        """The condition, what violates it, and the plans."""
        plans = self.now if self.was is None or self.was == self.now else f"{self.was} → {self.now}"
        return f"{self.condition}: {self.what} ({plans})"


@dataclass(frozen=True)
class Judgement:
    """The gate's verdict on one cell, with its reason.

    ``more``: by what factor to increase the rounds to probably settle the verdict; None if rounds don't settle it.
    ``broken``: whether rounds of b failed; ``violation``: of a condition of `--fail-on`.
    """

    verdict: GateVerdict
    reason: str
    comparison: Comparison | None = None
    more: float | None = None
    broken: bool = False
    violation: Violation | None = None


class Compared(Protocol):
    """The part of :class:`dbdyno.analysis.compare.Compared` that the gate uses."""

    @property
    def comparisons(self) -> Sequence[Comparison]:
        """The comparisons. The other sequences have one item per comparison."""

    @property
    def lacking(self) -> Sequence[str]:
        """Why a comparison settles nothing; empty if it may settle something."""

    @property
    def failed(self) -> Sequence[str]:
        """How many rounds of b failed; empty if none did."""

    @property
    def warned(self) -> Sequence[str]:
        """Why a run may have been slower for other reasons than the system."""

    @property
    def worse_plans(self) -> Sequence[Sequence[WorsePlan]]:
        """The statements whose plans are worse in b."""

    @property
    def by_runs(self) -> Sequence[bool]:
        """Whether the noise between runs determines the interval's width."""


def judge(compared: Compared, margin: float) -> list[Judgement]:
    """Judge each cell of a comparison of b with the baseline a. ``margin``: the allowed loss as a share.

    The printed interval decides. *Regression*: the whole interval is beyond the margin. *Pass*: the interval excludes a
    loss beyond the margin (non-inferiority; Schuirmann 1987 for the principle). Otherwise the verdict is *not settled*.
    It is also *not settled* if rounds of b failed, or if a run has a warning that may explain why it was slower. A loss
    of throughput is a share of the baseline's throughput; for every other metric, an increase is a loss.

    A worse kind of plan (``worse_plans``) is a regression, unless the statement takes longer by at most the margin.
    """
    return [
        _judge(
            comparison,
            margin,
            lacking=compared.lacking[position],
            failed=compared.failed[position],
            warned=compared.warned[position],
            plans=compared.worse_plans[position],
            by_runs=compared.by_runs[position],
        )
        for position, comparison in enumerate(compared.comparisons)
    ]


def settled(pairs: Sequence[Pair], margin: float) -> bool:
    """Return whether more rounds change no verdict: each is settled, or cannot be settled by rounds."""
    made = [
        _judge(comparison, margin, lacking=comparison.lacking, plans=worse_plans(pair.a, pair.b))
        for pair, comparison in zip(pairs, compare_pairs(pairs, margin), strict=True)
        if not pair.not_comparable and not pair.is_bounded
    ]
    return all(judgement.verdict != "not settled" for judgement in made)


def overall(verdicts: Sequence[GateVerdict]) -> GateVerdict:
    """Return the worst verdict; *not settled* if there are no verdicts."""
    worst: tuple[GateVerdict, ...] = ("regression", "failed", "not settled")
    return next((verdict for verdict in worst if verdict in verdicts), "pass" if verdicts else "not settled")


def exit_code(judged: Sequence[Judgement], *, fail_if_not_settled: bool) -> int:
    """Return 3 for a regression or violated condition, 1 if trials of b failed, 4 or 0 if not settled."""
    verdict = overall([judgement.verdict for judgement in judged])
    if verdict in ("regression", "failed"):
        return REGRESSION_CODE
    if any(judgement.broken for judgement in judged):
        return 1
    return NOT_SETTLED_CODE if verdict == "not settled" and fail_if_not_settled else 0


def _judge(  # noqa: PLR0911 - the first rule that applies
    comparison: Comparison,
    margin: float,
    *,
    lacking: str = "",
    failed: str = "",
    warned: str = "",
    plans: Sequence[WorsePlan] = (),
    by_runs: bool = False,
) -> Judgement:
    broken = bool(failed)
    if comparison.not_comparable:
        reason = f"not ranked: {'; '.join(comparison.not_comparable)}"
        return Judgement("not settled", reason, comparison, broken=broken)
    measured = _change(comparison)
    ratio, ends = comparison.ratio, comparison.ci95
    lost = [plan for plan in plans if _costs(plan, ratio, comparison.metric, margin)]
    if lost:
        reason = "; ".join([*(worse_plan.reason for worse_plan in lost), *([measured] if measured else [])])
        return Judgement("regression", reason, comparison, broken=broken)
    if ratio is None or ends is None or lacking:
        return Judgement("not settled", lacking or "no interval", comparison, broken=broken)
    also = "".join(f"; {plan.reason}, which costs less than the margin" for plan in plans)
    low, high = ends
    bound, loss = _allowed(comparison.metric, margin)
    # For throughput, values below the bound are losses; for other metrics, values above it.
    falls = comparison.metric == "throughput"
    beyond, excluded = (high < bound, low >= bound) if falls else (low > bound, high <= bound)
    if beyond and warned:
        reason = f"{measured}: {loss}, but {warned}; measure again"
        return Judgement("not settled", reason, comparison, broken=broken)
    if beyond:
        return Judgement("regression", f"{measured}: {loss}", comparison, broken=broken)
    if excluded and not failed:
        return Judgement("pass", f"{measured}: {loss} is excluded{also}", comparison)
    if excluded:
        return Judgement("not settled", f"{measured}: {failed}", comparison, broken=True)
    # Limit the distance: a ratio far from the bound by chance would predict too few rounds.
    apart = min(abs(math.log(ratio / bound)), abs(math.log(bound)))
    more = None if by_runs else _times_as_many(math.log(high / low) / 2, apart)
    settles = _BY_RUNS if by_runs else _rounds(more)
    reason = f"{measured}: {loss} is neither shown nor excluded{also}; {settles}"
    return Judgement("not settled", reason + (f"; {failed}" if failed else ""), comparison, more, broken)


def _change(comparison: Comparison) -> str:
    """Write the measured change with its interval; empty if nothing was measured."""
    ratio, ends = comparison.ratio, comparison.ci95
    if ratio is None:
        return ""
    between = "" if ends is None else f" [{(ends[0] - 1) * 100:+.2f}, {(ends[1] - 1) * 100:+.2f}]"
    name = "active time" if comparison.metric == "active" else comparison.metric
    return f"{name} {(ratio - 1) * 100:+.2f} %{between}"


def _allowed(metric: str, margin: float) -> tuple[float, str]:
    """Return the ratio at which a loss exceeds the margin, and a description of such a loss."""
    if metric == "throughput":
        return 1 - margin, f"a loss of more than {margin * 100:.3g} %"
    return 1 + margin, f"an increase of more than {margin * 100:.3g} %"


def _costs(plan: WorsePlan, ratio: float | None, metric: str, margin: float) -> bool:
    """Whether the statement takes longer by more than the margin, as expected from a worse plan."""
    if plan.times is not None:
        return plan.times > 1 + margin
    bound, _ = _allowed(metric, margin)
    return ratio is not None and (ratio < bound if metric == "throughput" else ratio > bound)


def _rounds(more: float | None) -> str:
    if more is None:
        return "more rounds would probably not settle it"
    return f"about {max(2, math.ceil(more))} times as many rounds would probably settle it"


def _times_as_many(reach: float, apart: float) -> float | None:
    """Return the factor of rounds that probably reduces the half width ``reach`` below ``apart``; None if too large.

    Both are on the logarithmic scale.
    """
    times = _RESERVE * (reach / apart) ** 2 if apart > 0 else math.inf
    return max(times, 1.2) if times <= _MAX_ROUNDS_FACTOR else None
