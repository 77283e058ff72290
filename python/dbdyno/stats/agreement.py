"""Whether what is told for each interval of a window differs from nothing by more than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

# Of fewer intervals nothing is said.
FEWEST = 5


def chance(differences: Sequence[float]) -> float | None:
    """Return how probable a mean so far from 0 is where it is 0 in truth; ``None`` of fewer than five differences.

    The t test of the mean, two-sided. Neighbours in time are alike, so that they count as fewer: n (1 - r) / (1 + r),
    r being the correlation with the next where it is positive (Zwiers and von Storch 1995, "Taking serial correlation
    into account in tests of the mean", Journal of Climate 8).
    """
    count = len(differences)
    if count < FEWEST:
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
