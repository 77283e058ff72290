"""Fit the cost of an insert to the sizes that a calibration measured.

The client's time for an insert is modeled as a sum: a base time with everything cached, plus a cost per miss of the
engine's cache, per page that enters the operating system's cache, per device read, and per checkpoint page that the
session writes itself. The cost of a device read comes from the probe. The other costs are found by non-negative least
squares, with weak priors for costs that a calibration hardly shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from scipy.optimize import lsq_linear

# Relative standard deviation of a measured time beyond the spread of its windows: memory layouts and neighbors differ.
_NOISE = 0.05
# Prior of the seconds to make room for a page, and its standard deviation: some system calls and a copy.
PAGE_S, _PAGE_SD = 30e-6, 30e-6
# Weak prior of a miss that doesn't read from a device.
_MISS, _MISS_SD = 10e-6, 200e-6
_CPU_SD = 100e-6
# Minimum base time of an insert, as a share of the shortest measured time. Overestimated reads could otherwise account
# for all of the time, and the predicted rate without reads would be unlimited.
_MIN_BASE_TIME = 0.01


@dataclass(frozen=True)
class Use:
    """The resources that an insert uses.

    Misses of the engine's cache, pages that enter the operating system's cache, device reads, and checkpoint pages that
    the session writes.
    """

    misses: float
    pages: float
    device_reads: float
    checkpoint_pages: float


@dataclass(frozen=True)
class Sample:
    """One size of a calibration: the series, and the use, seconds and CPU seconds of an insert."""

    series: str
    use: Use
    seconds: float
    cpu_s: float | None


@dataclass(frozen=True)
class Costs:
    """Costs in seconds; ``insert`` and ``cpu`` by series. ``error``: root mean square of the relative residuals."""

    insert: dict[str, float]
    miss: float
    page: float
    checkpoint_page: float
    cpu: dict[str, float]
    cpu_miss: float
    cpu_page: float
    error: float = field(default=0.0)

    def terms(self, series: str, use: Use, read_s: float) -> dict[str, float]:
        """Return the client's seconds per insert by kind of cost. ``read_s``: seconds of a device read."""
        return {
            "insert itself": self.insert[series],
            "cache misses": self.miss * use.misses,
            "room in the page cache": self.page * use.pages,
            "device reads": read_s * use.device_reads,
            "checkpoint": self.checkpoint_page * use.checkpoint_pages,
        }

    def cpu_s(self, series: str, use: Use) -> float:
        """Return the CPU seconds of an insert."""
        return self.cpu[series] + self.cpu_miss * use.misses + self.cpu_page * use.pages


def fit(samples: Sequence[Sample], read_s: float, write_s: float, *, page_s: float = PAGE_S) -> Costs:
    """Return the costs that fit the samples best.

    ``read_s``: seconds of a device read; ``write_s``: prior for a written page; ``page_s``: prior for a page that
    enters the operating system's cache.
    """
    names = list(dict.fromkeys(sample.series for sample in samples))
    uses = np.array([[one.use.misses, one.use.pages, one.use.checkpoint_pages] for one in samples])
    seconds = np.array([one.seconds - read_s * one.use.device_reads for one in samples])
    measured = np.array([one.seconds for one in samples])
    priors = [(_MISS, _MISS_SD), (page_s, _PAGE_SD), (write_s, write_s)]
    least = [_MIN_BASE_TIME * min(one.seconds for one in samples if one.series == name) for name in names]
    found = _least_squares(
        names, samples, uses, wanted=seconds, deviations=measured * _NOISE, priors=priors, least=least
    )
    residuals = (_made(names, samples, uses, found) - seconds) / measured
    insert, (miss, page, checkpoint) = dict(zip(names, found, strict=False)), found[len(names) :]
    with_cpu = [one for one in samples if one.cpu_s is not None]
    cpu, cpu_miss, cpu_page = dict.fromkeys(names, 0.0), 0.0, 0.0
    if with_cpu:
        spent = np.array([one.cpu_s or 0.0 for one in with_cpu])
        columns = np.array([[one.use.misses, one.use.pages] for one in with_cpu])
        known = list(dict.fromkeys(one.series for one in with_cpu))
        fitted = _least_squares(
            known,
            with_cpu,
            columns,
            wanted=spent,
            deviations=spent * _NOISE,
            priors=[(0.0, _CPU_SD), (0.0, _CPU_SD)],
            least=[0.0] * len(known),
        )
        cpu |= dict(zip(known, fitted, strict=False))
        cpu_miss, cpu_page = fitted[len(known) :]
    return Costs(
        insert, miss, page, checkpoint, cpu, cpu_miss, cpu_page, error=sqrt(float(np.mean(np.square(residuals))))
    )


def _made(
    names: Sequence[str], samples: Sequence[Sample], uses: np.ndarray, found: Sequence[float]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    own = np.array([found[names.index(one.series)] for one in samples])
    made: np.ndarray[tuple[int], np.dtype[np.float64]] = own + uses @ np.array(found[len(names) :])
    return made


def _least_squares(
    names: Sequence[str],
    samples: Sequence[Sample],
    uses: np.ndarray,
    *,
    wanted: np.ndarray,
    deviations: np.ndarray,
    priors: Sequence[tuple[float, float]],
    least: Sequence[float],
) -> list[float]:
    """Return the base value of each series, then one coefficient per column of ``uses``. Each prior adds a row.

    ``least``: lower bounds of the base values; the coefficients are at least 0.
    """
    own = np.array([[float(one.series == name) for name in names] for one in samples])
    rows = np.hstack([own, uses]) / deviations[:, None]
    prior = np.hstack([np.zeros((len(priors), len(names))), np.diag([1.0 / sd for _, sd in priors])])
    right = np.concatenate([wanted / deviations, [value / sd for value, sd in priors]])
    # Scale the values to about 1, because an insert takes about 1e-5 s.
    unit = float(np.mean(np.abs(wanted))) or 1.0
    lowest = np.array([*least, *(0.0 for _ in priors)]) / unit
    solved = lsq_linear(np.vstack([rows, prior]) * unit, right, bounds=(lowest, np.inf))
    return [float(each) * unit for each in solved.x]
