"""Find the shares of the caches that hold the index, and the resources that each insert of a calibration used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import fmean

from dbdyno.analysis.predict.fit import Use
from dbdyno.analysis.predict.series import KeySeries, Observed
from dbdyno.analysis.predict.trees import TreeSetting, answers, way_of
from dbdyno.base.errors import InputError
from dbdyno.model.events.answers import BtreeFigures

# Candidate shares of a cache.
_SHARES = (0.03, 0.05, 0.08, 0.12, 0.18, 0.25, 0.33, 0.42, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
# Candidates for simulated trees, which are slow.
_FEW_SHARES = (0.12, 0.33, 0.6, 1.0)
# Shares if a calibration doesn't determine them: all of the engine's cache, and the part of the operating system's
# cache that written pages waiting for writeback leave (docs/explanation/prediction.md).
_ENGINE_SHARE, _SYSTEM_SHARE = 1.0, 0.6
# Difference in pages per insert that justifies a share other than the usual one.
_TOLERANCE = 0.03
# Device reads per insert from which a calibration determines the operating system's share.
_READS_SEEN = 0.05


@dataclass(frozen=True)
class Calibrated:
    """A series with its shares of the engine's cache and of the remaining memory, the operating system's cache.

    ``besides``: cache misses per insert outside the tree, independent of its size (undo, catalog); ``seen``: whether
    the device was read, so that ``system_share`` is measured and not assumed.
    """

    series: KeySeries
    engine_share: float
    system_share: float
    besides: float
    seen: bool
    used: tuple[Use, ...]
    """The use of an insert at each measured size."""

    def setting(self, rows: float, rate: float, memory: float, cache: float, share: float | None = None) -> TreeSetting:
        """Return a setting for a size and caches in bytes. ``share``: replaces ``system_share``."""
        rules = self.series.rules
        beside = max(0.0, memory - cache) if self.series.cached_by_system else 0.0
        system = beside * min(1.0, self.system_share if share is None else share) / rules.page_bytes
        # The memory that the engine doesn't use for the index doesn't grow with its cache.
        kept_free = (1.0 - self.engine_share) * rules.cache_pages
        pages = cache / rules.page_bytes
        return TreeSetting(rows, max(self.engine_share * pages, pages - kept_free), system, rate)

    def use(self, figures: BtreeFigures, seen: Observed | None = None) -> Use:
        """Return the use of an insert from the model's figures; measured values in ``seen`` replace them."""
        rules = self.series.rules
        misses = figures.reads + figures.inner_reads + self.besides
        # Pages outside the tree are hot, so the operating system's cache contains them if it caches the files.
        reads = device_reads(figures) + (0.0 if self.series.cached_by_system else self.besides)
        logged = figures.log_bytes
        if seen is not None:
            misses = misses if seen.misses is None else seen.misses
            reads = reads if seen.device_reads is None else seen.device_reads
            logged = logged if seen.log_bytes is None else seen.log_bytes
        checkpoint = figures.checkpoint_writes if rules.writer_checkpoints else 0.0
        # A page log reuses the same few pages of its file, which stay in the cache.
        entering = 0.0 if rules.commits_log_pages else logged / rules.page_bytes
        return Use(misses, reads + entering, reads, checkpoint)


def device_reads(figures: BtreeFigures) -> float:
    """Return the device reads per insert."""
    return figures.reads - figures.system_hits + figures.inner_reads - figures.inner_system_hits


def calibrate(series: KeySeries) -> Calibrated:
    """Find the shares that fit the measurements best. Raises InputError and SystemFailed."""
    usual = Calibrated(series, _ENGINE_SHARE, _SYSTEM_SHARE, 0.0, False, ())
    misses = [observed.misses for observed in series.observed]
    shares = _SHARES if way_of(series) == "formula" else _FEW_SHARES
    tried = _tried(series, [replace(usual, engine_share=share) for share in shares])
    modelled = [[each.reads + each.inner_reads for each in figures] for figures in tried]
    own = share = _closest(shares, modelled, misses, _ENGINE_SHARE)
    beyond = [one - other for one, other in zip(misses, modelled[shares.index(own)], strict=False) if one is not None]
    calibrated = replace(usual, engine_share=own, besides=max(0.0, fmean(beyond)) if beyond else 0.0)
    if series.cached_by_system:
        reads = [observed.device_reads for observed in series.observed]
        tried = _tried(series, [replace(calibrated, system_share=share) for share in shares])
        modelled = [[device_reads(each) for each in figures] for figures in tried]
        share = _closest(shares, modelled, reads, _SYSTEM_SHARE)
        seen = any(each is not None and each > _READS_SEEN for each in reads)
        calibrated = replace(calibrated, system_share=share, seen=seen)
    figures = tried[shares.index(share)]
    return replace(calibrated, used=tuple(calibrated.use(*each) for each in zip(figures, series.observed, strict=True)))


def _tried(series: KeySeries, shares: Sequence[Calibrated]) -> list[list[BtreeFigures]]:
    """Return the model's figures at the measured sizes, one list per calibration."""
    cache = float(series.rules.cache_pages * series.rules.page_bytes)
    places = [
        calibrated.setting(size.rows, size.throughput, series.memory_bytes, cache)
        for calibrated in shares
        for size in series.observed
    ]
    figures: list[BtreeFigures] = []
    for answer in answers(series, places):
        if answer.figures is None:
            raise InputError(series.name, f"calibration failed: {answer.lacking}", "calibrate with other keys or sizes")
        figures.append(answer.figures)
    sizes = len(series.observed)
    return [figures[start : start + sizes] for start in range(0, len(figures), sizes)]


def _closest(
    shares: Sequence[float], modelled: Sequence[Sequence[float]], seen: Sequence[float | None], usual: float
) -> float:
    """Return the share whose figures are closest to the measured ones, with a preference for the usual share."""

    def distance(share: float, figures: Sequence[float]) -> float:
        apart = sum((one - other) ** 2 for one, other in zip(figures, seen, strict=False) if other is not None)
        return apart + (_TOLERANCE * log(share / usual)) ** 2

    return min(zip(shares, modelled, strict=True), key=lambda pair: distance(*pair))[0]
