"""Statistics: intervals over rounds, verdicts, stopping rules, models of scalability and elasticity, outliers.

The functions take plain numbers and return dataclasses. They know neither cells nor documents; ``analysis`` does.
"""

from dbdyno.stats.intervals import (
    CONFIDENCE,
    Interval,
    Ratio,
    inverse,
    paired_ratio,
    standard_error,
    t_quantile,
    unpaired_ratio,
    welch,
)
from dbdyno.stats.rates import Rate, Rates, paired_rates, pooled, rate_interval, unpaired_rates
from dbdyno.stats.sequential import APART_CONFIDENCE, SEQUENTIAL_CONFIDENCE, Stopping
from dbdyno.stats.stability import outliers, trend, two_levels
from dbdyno.stats.verdicts import (
    MARGIN,
    MAX_ROUNDS,
    Criteria,
    Decision,
    Verdict,
    decide,
    detectable,
    more_rounds,
    verdict,
)

__all__ = [
    "APART_CONFIDENCE",
    "CONFIDENCE",
    "MARGIN",
    "MAX_ROUNDS",
    "SEQUENTIAL_CONFIDENCE",
    "Criteria",
    "Decision",
    "Interval",
    "Rate",
    "Rates",
    "Ratio",
    "Stopping",
    "Verdict",
    "decide",
    "detectable",
    "inverse",
    "more_rounds",
    "outliers",
    "paired_rates",
    "paired_ratio",
    "pooled",
    "rate_interval",
    "standard_error",
    "t_quantile",
    "trend",
    "two_levels",
    "unpaired_rates",
    "unpaired_ratio",
    "verdict",
    "welch",
]
