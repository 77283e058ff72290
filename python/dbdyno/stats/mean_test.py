"""Test whether the mean of correlated differences is 0, for instance between the intervals of a window."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

# Minimum number of differences for the test.
MIN_DIFFERENCES = 5


def p_value(differences: Sequence[float]) -> float | None:
    """Return the p value of a two-sided t test that the mean is 0, or ``None`` for fewer than five differences.

    Neighboring differences are correlated. The test therefore uses an effective sample size of n (1 - r) / (1 + r),
    where r is the autocorrelation at lag 1, or 0 if that is negative (Zwiers and von Storch 1995, "Taking serial
    correlation into account in tests of the mean", Journal of Climate 8).
    """
    count = len(differences)
    if count < MIN_DIFFERENCES:
        return None
    from scipy.stats import t

    values = np.asarray(differences, dtype=float)
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if spread == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    centred = values - mean
    alike = max(0.0, float((centred[1:] * centred[:-1]).sum() / (centred**2).sum()))
    effective = max(2.0, count * (1 - alike) / (1 + alike))
    return float(2 * t.sf(abs(mean) / (spread / math.sqrt(effective)), effective - 1))
