"""What an insert costs, from the sizes that a calibration measured.

The time that a client takes for an insert is taken as a sum: what it takes when all is cached, and so much for each
page that the engine's cache lacks, for each that enters the operating system's cache, for each read of the device, and
for each page of a checkpoint that the session writes itself. Device reads cost what the probe says. The others are
found by least squares, none below 0, with weak prior values where a calibration shows little of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from scipy.optimize import lsq_linear

# Relative standard deviation of a measured time, whatever its windows say: layouts and neighbours differ.
_NOISE = 0.05
# Prior of what making room for a page takes, seconds, and of how sure that is: some system calls and a copy.
PAGE_S, _PAGE_SD = 30e-6, 30e-6
# Prior of a miss: the same without a device. It is weak.
_MISS, _MISS_SD = 10e-6, 200e-6
_CPU_SD = 100e-6
# The least that an insert takes by itself, as a share of the quickest that was measured: where all of the time seems to
# be reads, as these look slower than they were, it would be nothing, and as many inserts as one likes a second.
_LEAST = 0.01


@dataclass(frozen=True)
class Use:
    """What an insert uses.

    Pages that the engine's cache lacks, pages that enter the operating system's, reads of the device, and pages of
    checkpoints that the session writes.
    """

    misses: float
    pages: float
    device_reads: float
    checkpoint_pages: float


@dataclass(frozen=True)
class Sample:
    """A size of the calibration: which series, what an insert used there, its seconds and its CPU seconds."""

    series: str
    use: Use
    seconds: float
    cpu_s: float | None


@dataclass(frozen=True)
class Costs:
    """Seconds of each; ``insert`` and ``cpu`` by series. ``error``: root of the mean square of relative residuals."""

    insert: dict[str, float]
    miss: float
    page: float
    checkpoint_page: float
    cpu: dict[str, float]
    cpu_miss: float
    cpu_page: float
    error: float = field(default=0.0)

    def terms(self, series: str, use: Use, read_s: float) -> dict[str, float]:
        """Give the seconds of a client's time for an insert, by what they go to; a device read takes ``read_s``."""
        return {
            "insert itself": self.insert[series],
            "cache misses": self.miss * use.misses,
            "room in the page cache": self.page * use.pages,
            "device reads": read_s * use.device_reads,
            "checkpoint": self.checkpoint_page * use.checkpoint_pages,
        }

    def cpu_s(self, series: str, use: Use) -> float:
        """Give the CPU seconds of an insert."""
        return self.cpu[series] + self.cpu_miss * use.misses + self.cpu_page * use.pages


def fit(samples: Sequence[Sample], read_s: float, write_s: float, *, page_s: float = PAGE_S) -> Costs:
    """Find the costs.

    ``read_s``: what a device read takes; ``write_s``: prior of a written page; ``page_s``: prior of a page that enters
    the operating system's cache.
    """
    names = list(dict.fromkeys(each.series for each in samples))
    uses = np.array([[one.use.misses, one.use.pages, one.use.checkpoint_pages] for one in samples])
    seconds = np.array([one.seconds - read_s * one.use.device_reads for one in samples])
    measured = np.array([one.seconds for one in samples])
    priors = [(_MISS, _MISS_SD), (page_s, _PAGE_SD), (write_s, write_s)]
    least = [_LEAST * min(one.seconds for one in samples if one.series == name) for name in names]
    found = _least_squares(
        names, samples, uses, wanted=seconds, deviations=measured * _NOISE, priors=priors, least=least
    )
    residuals = (_made(names, samples, uses, found) - seconds) / measured
    insert, (miss, page, checkpoint) = dict(zip(names, found, strict=False)), found[len(names) :]
    told = [one for one in samples if one.cpu_s is not None]
    cpu, cpu_miss, cpu_page = dict.fromkeys(names, 0.0), 0.0, 0.0
    if told:
        spent = np.array([one.cpu_s or 0.0 for one in told])
        columns = np.array([[one.use.misses, one.use.pages] for one in told])
        known = list(dict.fromkeys(one.series for one in told))
        of = _least_squares(
            known,
            told,
            columns,
            wanted=spent,
            deviations=spent * _NOISE,
            priors=[(0.0, _CPU_SD), (0.0, _CPU_SD)],
            least=[0.0] * len(known),
        )
        cpu |= dict(zip(known, of, strict=False))
        cpu_miss, cpu_page = of[len(known) :]
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
    """Solve for what each series takes itself, then for the columns of ``uses``; a row for each prior is added.

    ``least``: of what each series takes itself; the others are not below 0.
    """
    own = np.array([[float(one.series == name) for name in names] for one in samples])
    rows = np.hstack([own, uses]) / deviations[:, None]
    prior = np.hstack([np.zeros((len(priors), len(names))), np.diag([1.0 / sd for _, sd in priors])])
    right = np.concatenate([wanted / deviations, [value / sd for value, sd in priors]])
    # Scaled to about 1, since seconds of an insert are some 1e-5.
    unit = float(np.mean(np.abs(wanted))) or 1.0
    lowest = np.array([*least, *(0.0 for _ in priors)]) / unit
    solved = lsq_linear(np.vstack([rows, prior]) * unit, right, bounds=(lowest, np.inf))
    return [float(each) * unit for each in solved.x]
