"""Predict insert rates from a stored run: calibrate, then compute the rate, the band and the limit of each size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log10
from statistics import fmean, median

import numpy as np

from dbdyno.analysis.measured.keys import AT_THE_EDGE
from dbdyno.analysis.predict.calibration import Calibrated, calibrate, device_reads
from dbdyno.analysis.predict.device import Device
from dbdyno.analysis.predict.fit import PAGE_S, Costs, Sample, fit
from dbdyno.analysis.predict.limits import LimitedRate, rate
from dbdyno.analysis.predict.sentences import sentences, warnings
from dbdyno.analysis.predict.series import KeySeries, Observed, read_series
from dbdyno.analysis.predict.stored import Calibration
from dbdyno.analysis.predict.trees import TreeAnswer, answers, depends_on_rate, way_of
from dbdyno.base.errors import InputError
from dbdyno.model.events.answers import BtreeFigures
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.prediction import Conditions, IndexActivity, MeasuredPoint, Point, Prediction, Series
from dbdyno.model.result.prediction import Costs as TermCosts
from dbdyno.model.result.reading import count

#: Default sizes, in rows.
USUAL_ROWS = (10**6, 3 * 10**6, 10**7, 3 * 10**7, *(10**power for power in range(8, 13)))

# A band covers these shares of the operating system's cache, relative to the calibrated share.
_SHARES = (0.7, 1.0, 1.4)
_DRAWS = 200
# Standard deviations of logarithms: of a measured time in addition to the spread of its windows, of the prior of a
# page's cost, and of the time of a read under load.
_TIME_SPREAD, _PAGE_SPREAD, _READ_SPREAD = 0.03, 0.5, 0.25
# Standard deviation of the model's error, and its growth per factor of ten beyond the largest calibrated size. See
# docs/explanation/prediction.md for the runs behind these values.
_MODEL_SPREAD, _SPREAD_PER_DECADE = 0.20, 0.03
# Warn about a slower machine if the client's CPU time per insert grew by this factor.
_SLOWER = 1.25
# Iterations in which the rate and the checkpoints, which depend on each other, converge.
_ROUNDS = 2


@dataclass(frozen=True)
class Question:
    """What to predict. Values that are None are the same as in the calibration.

    ``up_to``: the largest size, in rows, to calibrate with; larger sizes of the run are compared with the prediction.
    ``device``: values by the field names of :class:`dbdyno.analysis.predict.device.Device`.
    """

    rows: Sequence[int] = USUAL_ROWS
    clients: int | None = None
    memory_bytes: float | None = None
    cache_bytes: float | None = None
    cores: int | None = None
    device: Mapping[str, float] = field(default_factory=dict)
    up_to: int | None = None


@dataclass(frozen=True)
class _Asked:
    """The question with default values filled in."""

    clients: int
    memory: float
    cache: float
    cores: int
    device: Device


def predict(calibration: Calibration, question: Question) -> Prediction:
    """Predict from a run of a growing table. Raises InputError if the run is not sufficient, and SystemFailed."""
    document = calibration.document
    location = f"run {document.id}"
    whole = read_series(calibration)
    read = whole if question.up_to is None else read_series(calibration, question.up_to)
    first = read.series[0]
    _check_alike(read.series, location)
    probed = Device.of(document.device, location)
    cache = float(first.rules.cache_pages * first.rules.page_bytes)
    as_measured = _Asked(first.clients, first.memory_bytes, cache, count(document.host, "cores") or 1, probed)
    asked = _asked(question, as_measured)
    # Show measured values only if the prediction is for the same configuration.
    same = asked == as_measured
    calibrated = [calibrate(series) for series in read.series]
    read_s = probed.read_seconds(1 if first.rules.one_writer else first.clients)
    costs = fit(_samples(calibrated), read_s, 1.0 / probed.writes_per_s)
    draws = _draws(calibrated, read_s, probed)
    seen = {series.name: series.observed for series in whole.series} if same else {}
    made = [
        _series(
            one,
            seen.get(one.series.name, one.series.observed if same else ()),
            asked,
            costs=costs,
            draws=draws,
            rows=question.rows,
        )
        for one in calibrated
    ]
    prediction: Prediction = Prediction(
        schema="dbdyno.prediction/1",
        experiment=document.experiment,
        run=document.id,
        system=str(first.factors.get("system", "")),
        calibrated_rows=sorted({observed.level for one in read.series for observed in one.observed}),
        label=document.measure.label,
        asked=_conditions(question, asked, same),
        costs=_term_costs(costs, read_s),
        series=made,
        sentences=[],
        warnings=[],
        error=_error(made),
    )
    prediction.sentences = sentences(prediction)
    prediction.warnings = warnings(
        prediction,
        unseen=[one.series.name for one in calibrated if not one.seen and one.series.keys.kind not in AT_THE_EDGE],
        left_out=read.left_out,
        more_clients=asked.clients > first.clients,
        other_device=bool(question.device),
        slower=slower_sizes(whole.series, read.series) if same else [],
        unlimited=next((refused for cell in document.cells if (refused := _refused(cell))), ""),
    )
    return prediction


def _asked(question: Question, as_measured: _Asked) -> _Asked:
    """Return the configuration of a prediction; without a value in the question, the measured value."""
    asked = _Asked(
        clients=question.clients or as_measured.clients,
        memory=question.memory_bytes or as_measured.memory,
        cache=question.cache_bytes or as_measured.cache,
        cores=question.cores or as_measured.cores,
        device=as_measured.device.changed(question.device),
    )
    if asked.memory < asked.cache:
        problem = "the engine's own cache is larger than the memory"
        raise InputError("--memory", problem, f"give at least {asked.cache:.0f} bytes, or a smaller `--cache`")
    return asked


def _conditions(question: Question, asked: _Asked, same: bool) -> Conditions:
    return Conditions(
        rows=sorted(question.rows),
        clients=asked.clients,
        memory_bytes=asked.memory,
        cache_bytes=asked.cache,
        cores=asked.cores,
        device=asked.device.shown(),
        as_calibrated=same,
    )


def _term_costs(costs: Costs, read_s: float) -> TermCosts:
    return TermCosts(
        insert=costs.insert,
        miss=costs.miss,
        page=costs.page,
        device_read=read_s,
        checkpoint_page=costs.checkpoint_page,
        cpu=costs.cpu,
        cpu_miss=costs.cpu_miss,
        cpu_page=costs.cpu_page,
        error=costs.error,
    )


def _check_alike(series: Sequence[KeySeries], location: str) -> None:
    """Raise InputError if the series differ in their system, clients, memory or cache."""
    for what, values in (
        ("systems", {str(key_series.factors.get("system", "")) for key_series in series}),
        ("numbers of clients", {str(key_series.clients) for key_series in series}),
        ("sizes of memory", {f"{key_series.memory_bytes:.0f}" for key_series in series}),
        ("sizes of the engine's cache", {str(key_series.rules.cache_pages) for key_series in series}),
    ):
        if len(values) > 1:
            problem = f"the run has several {what}: {', '.join(sorted(values))}"
            raise InputError(location, problem, "measure only one of them, with `--set` or `--system`")


def _refused(cell: Cell) -> str:
    limit = cell.memory_limit
    return "" if limit is None else limit["refused"] or ""


def slower_sizes(everything: Iterable[KeySeries], calibrating: Sequence[KeySeries]) -> list[tuple[int, float]]:
    """Return the sizes at which the client took more CPU time per insert than in the calibration, with the factor."""
    usual = [
        observed.client_cpu_s for one in calibrating for observed in one.observed if observed.client_cpu_s is not None
    ]
    if not usual:
        return []
    found = [
        (observed.level, observed.client_cpu_s / fmean(usual))
        for one in everything
        for observed in one.observed
        if observed.client_cpu_s is not None
    ]
    return [each for each in found if each[1] > _SLOWER]


def _samples(calibrated: Sequence[Calibrated]) -> list[Sample]:
    return [
        Sample(one.series.name, use, fmean(seen.seconds), seen.cpu_s)
        for one in calibrated
        for use, seen in zip(one.used, one.series.observed, strict=True)
    ]


@dataclass(frozen=True)
class _Drawn:
    """Costs fitted to resampled windows and priors.

    ``slower``: a factor for the time of a read; ``off``: the model's error in standard deviations.
    """

    costs: Costs
    slower: float
    off: float


def _draws(calibrated: Sequence[Calibrated], read_s: float, probed: Device) -> list[_Drawn]:
    random = np.random.default_rng(1)
    draws = []
    for _ in range(_DRAWS):
        samples = [
            Sample(
                one.series.name,
                use,
                float(np.mean(random.choice(seen.seconds, len(seen.seconds))) * np.exp(random.normal(0, _TIME_SPREAD))),
                seen.cpu_s,
            )
            for one in calibrated
            for use, seen in zip(one.used, one.series.observed, strict=True)
        ]
        slower = float(np.exp(random.normal(0.0, _READ_SPREAD)))
        page = PAGE_S * float(np.exp(random.normal(0.0, _PAGE_SPREAD)))
        costs = fit(samples, read_s * slower, 1.0 / probed.writes_per_s, page_s=page)
        draws.append(_Drawn(costs, slower, float(random.normal())))
    return draws


def _series(
    one: Calibrated,
    seen: Sequence[Observed],
    asked: _Asked,
    *,
    costs: Costs,
    draws: Sequence[_Drawn],
    rows: Sequence[int],
) -> Series:
    measured = {round(observed.rows): observed for observed in seen}
    sizes = sorted({*rows, *measured})
    guess = [one.series.observed[-1].throughput] * len(sizes)
    found: list[list[TreeAnswer]] = []
    for _ in range(_ROUNDS if depends_on_rate(one.series) else 1):
        places = [
            one.setting(size, each, asked.memory, asked.cache, one.system_share * share)
            for size, each in zip(sizes, guess, strict=True)
            for share in _SHARES
        ]
        flat = answers(one.series, places)
        found = [flat[start : start + len(_SHARES)] for start in range(0, len(flat), len(_SHARES))]
        guess = [
            before if figures is None else _rate(one, figures, costs, asked).throughput
            for before, figures in zip(guess, (each[1].figures for each in found), strict=True)
        ]
    rules = one.series.rules
    return Series(
        name=one.series.name,
        factors=dict(one.series.factors),
        engine=one.series.product,
        key=one.series.keys.kind,
        entry_bytes=one.series.entry_bytes,
        cache_pages=one.engine_share * asked.cache / rules.page_bytes,
        system_pages=one.setting(1, 1, asked.memory, asked.cache).system,
        points=[
            _point(
                one,
                size,
                per_share,
                costs=costs,
                draws=draws,
                asked=asked,
                seen=measured.get(size),
            )
            for size, per_share in zip(sizes, found, strict=True)
        ],
    )


def _point(
    one: Calibrated,
    rows: int,
    found: Sequence[TreeAnswer],
    *,
    costs: Costs,
    draws: Sequence[_Drawn],
    asked: _Asked,
    seen: Observed | None,
) -> Point:
    figures = found[1].figures
    calibrating = rows in {round(observed.rows) for observed in one.series.observed}
    point: Point = Point(
        rows=rows,
        throughput=None,
        band=None,
        limited_by="",
        seconds={},
        limits={},
        index_bytes=None,
        times_memory=None,
        tree=None,
        by=way_of(one.series),
        lacking=found[1].lacking,
        measured=None
        if seen is None
        else MeasuredPoint(throughput=seen.throughput, ci95=seen.ci95, calibrating=calibrating),
    )
    if figures is None:
        return point
    made = _rate(one, figures, costs, asked)
    decades = max(0.0, log10(rows / one.series.observed[-1].rows))
    spread = _MODEL_SPREAD + _SPREAD_PER_DECADE * decades
    rates = [
        _rate(one, btree_figures, drawn.costs, asked, drawn.slower).throughput * exp(spread * drawn.off)
        for number, drawn in enumerate(draws)
        if (btree_figures := found[number % len(found)].figures) is not None
    ]
    low, high = (float(each) for each in np.percentile(rates, [2.5, 97.5]))
    size = figures.leaves * one.series.rules.page_bytes
    memory = asked.memory if one.series.cached_by_system else asked.cache
    return replace(
        point,
        throughput=made.throughput,
        band=[min(low, made.throughput), max(high, made.throughput)],
        limited_by=made.limited_by,
        seconds=_terms(one, figures, costs, asked),
        limits=made.limits,
        index_bytes=size,
        times_memory=size / memory,
        tree=IndexActivity(
            leaves=figures.leaves,
            fill=figures.fill,
            misses=one.use(figures).misses,
            device_reads=device_reads(figures),
            evictions=figures.dirty_evictions,
            checkpoint_writes=figures.checkpoint_writes,
            page_images=figures.first_changes if one.series.rules.page_images else 0.0,
            log_bytes=figures.log_bytes,
        ),
    )


def _at_once(one: Calibrated, asked: _Asked) -> int:
    return 1 if one.series.rules.one_writer else asked.clients


def _terms(
    one: Calibrated, figures: BtreeFigures, costs: Costs, asked: _Asked, slower: float = 1.0
) -> dict[str, float]:
    read_s = asked.device.read_seconds(_at_once(one, asked)) * slower
    return costs.terms(one.series.name, one.use(figures), read_s)


def _rate(one: Calibrated, figures: BtreeFigures, costs: Costs, asked: _Asked, slower: float = 1.0) -> LimitedRate:
    return rate(
        _terms(one, figures, costs, asked, slower),
        costs.cpu_s(one.series.name, one.use(figures)),
        figures,
        device_reads(figures) * slower,
        asked.device,
        clients=_at_once(one, asked),
        cores=asked.cores,
    )


def _error(made: Sequence[Series]) -> dict[str, float] | None:
    """Return the relative errors at measured sizes outside the calibration; None if there are none."""
    off = [
        abs(point.throughput / point.measured.throughput - 1.0)
        for series in made
        for point in series.points
        if point.throughput and point.measured and not point.measured.calibrating
    ]
    return {"median": median(off), "worst": max(off), "sizes": float(len(off))} if off else None
