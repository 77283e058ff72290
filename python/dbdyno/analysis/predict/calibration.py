"""What of the caches serves the index, as the sizes of a calibration show, and what an insert used there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import fmean

from dbdyno.analysis.predict.fit import Use
from dbdyno.analysis.predict.series import KeySeries, Observed
from dbdyno.analysis.predict.trees import Place, answers, way_of
from dbdyno.base.errors import InputError
from dbdyno.model.events.answers import BtreeFigures

# Shares of a cache that are tried.
_SHARES = (0.03, 0.05, 0.08, 0.12, 0.18, 0.25, 0.33, 0.42, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
# Of simulated trees, each of which takes a while.
_FEW_SHARES = (0.12, 0.33, 0.6, 1.0)
# What is taken where a calibration does not tell: all of the engine's cache; of the operating system's what is left
# beside pages that were written and wait there (docs/explanation/prediction.md).
_ENGINE_SHARE, _SYSTEM_SHARE = 1.0, 0.6
# How far, in pages an insert, figures may be apart before a share other than the usual one is taken.
_TOLERANCE = 0.03
# Reads of the device for an insert, from which on a calibration tells of them.
_TOLD = 0.05


@dataclass(frozen=True)
class Calibrated:
    """A series with its shares: of the engine's cache, and of the memory beside it that the operating system has.

    ``besides``: pages other than the tree's that an insert misses, whatever the size (undo, catalogue); ``seen``:
    whether the device was read, so that ``system_share`` rests on more than an assumption.
    """

    series: KeySeries
    engine_share: float
    system_share: float
    besides: float
    seen: bool
    used: tuple[Use, ...]
    """At each size that was measured."""

    def place(self, rows: float, rate: float, memory: float, cache: float, share: float | None = None) -> Place:
        """Give a size with caches of so many bytes; ``share``: another one of the operating system's."""
        rules = self.series.rules
        beside = max(0.0, memory - cache) if self.series.cached_by_system else 0.0
        system = beside * min(1.0, self.system_share if share is None else share) / rules.page_bytes
        # What the engine keeps free does not grow with its cache.
        kept_free = (1.0 - self.engine_share) * rules.cache_pages
        pages = cache / rules.page_bytes
        return Place(rows, max(self.engine_share * pages, pages - kept_free), system, rate)

    def use(self, figures: BtreeFigures, seen: Observed | None = None) -> Use:
        """Give what an insert uses by the model's figures; what was ``seen`` comes first."""
        rules = self.series.rules
        misses = figures.reads + figures.inner_reads + self.besides
        # Where the operating system caches them too, they are hot there.
        reads = device_reads(figures) + (0.0 if self.series.cached_by_system else self.besides)
        logged = figures.log_bytes
        if seen is not None:
            misses = misses if seen.misses is None else seen.misses
            reads = reads if seen.device_reads is None else seen.device_reads
            logged = logged if seen.log_bytes is None else seen.log_bytes
        checkpoint = figures.checkpoint_writes if rules.writer_checkpoints else 0.0
        # A log of pages begins again in the same few pages of its file, which are in the cache.
        entering = 0.0 if rules.commits_log_pages else logged / rules.page_bytes
        return Use(misses, reads + entering, reads, checkpoint)


def device_reads(figures: BtreeFigures) -> float:
    """Give the reads of the device for an insert."""
    return figures.reads - figures.system_hits + figures.inner_reads - figures.inner_system_hits


def calibrate(series: KeySeries) -> Calibrated:
    """Find the shares that fit what was measured. Raises InputError and SystemFailed."""
    usual = Calibrated(series, _ENGINE_SHARE, _SYSTEM_SHARE, 0.0, False, ())
    misses = [each.misses for each in series.observed]
    shares = _SHARES if way_of(series) == "formula" else _FEW_SHARES
    tried = _tried(series, [replace(usual, engine_share=share) for share in shares])
    modelled = [[each.reads + each.inner_reads for each in figures] for figures in tried]
    own = share = _closest(shares, modelled, misses, _ENGINE_SHARE)
    beyond = [one - other for one, other in zip(misses, modelled[shares.index(own)], strict=False) if one is not None]
    found = replace(usual, engine_share=own, besides=max(0.0, fmean(beyond)) if beyond else 0.0)
    if series.cached_by_system:
        reads = [each.device_reads for each in series.observed]
        tried = _tried(series, [replace(found, system_share=share) for share in shares])
        modelled = [[device_reads(each) for each in figures] for figures in tried]
        share = _closest(shares, modelled, reads, _SYSTEM_SHARE)
        seen = any(each is not None and each > _TOLD for each in reads)
        found = replace(found, system_share=share, seen=seen)
    figures = tried[shares.index(share)]
    return replace(found, used=tuple(found.use(*each) for each in zip(figures, series.observed, strict=True)))


def _tried(series: KeySeries, shares: Sequence[Calibrated]) -> list[list[BtreeFigures]]:
    """Give the model's figures at the sizes that were measured, for each of several shares."""
    cache = float(series.rules.cache_pages * series.rules.page_bytes)
    places = [
        each.place(size.rows, size.throughput, series.memory_bytes, cache)
        for each in shares
        for size in series.observed
    ]
    found: list[BtreeFigures] = []
    for each in answers(series, places):
        if each.figures is None:
            raise InputError(
                series.name, f"it cannot be calibrated: {each.lacking}", "calibrate with other keys or sizes"
            )
        found.append(each.figures)
    sizes = len(series.observed)
    return [found[start : start + sizes] for start in range(0, len(found), sizes)]


def _closest(
    shares: Sequence[float], modelled: Sequence[Sequence[float]], seen: Sequence[float | None], usual: float
) -> float:
    """Give the share whose figures are closest to those seen; the usual one where another is hardly closer."""

    def distance(share: float, figures: Sequence[float]) -> float:
        apart = sum((one - other) ** 2 for one, other in zip(figures, seen, strict=False) if other is not None)
        return apart + (_TOLERANCE * log(share / usual)) ** 2

    return min(zip(shares, modelled, strict=True), key=lambda each: distance(*each))[0]
