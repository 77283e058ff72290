"""Build a cell of the result document from its trials."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from statistics import median
from typing import Any, TypeVar, get_origin, get_type_hints

from dbdyno.analysis.measured.bottlenecks import bottleneck_of
from dbdyno.analysis.measured.data import cell_growth, cell_memory_limit, cell_space, cell_timed, unmeasured_data
from dbdyno.analysis.measured.durable import POWER_SAFE, observe, rolls_back
from dbdyno.analysis.measured.histograms import Histogram, HistogramError, merge
from dbdyno.analysis.measured.metrics import merged, rate_of
from dbdyno.analysis.measured.operations import cell_operations
from dbdyno.analysis.measured.rounds import Measure, build_round
from dbdyno.analysis.measured.stages import cell_beside, cell_stages
from dbdyno.analysis.measured.statements import cell_load, cell_statements, other_plans
from dbdyno.analysis.measured.trial import ReadTrial
from dbdyno.analysis.row_differences import ROWS_COMPARED
from dbdyno.engines.lookup import engine_of_product
from dbdyno.model.events import observations
from dbdyno.model.events.facts import Facts, LostUpdates
from dbdyno.model.events.observations import Observed as EngineCounts
from dbdyno.model.events.program import ProgramResult
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.result.cell import (
    Bottleneck,
    Cell,
    CpuPercent,
    Disk,
    Latency,
    Mutex,
    MutexSite,
    Published,
    Round,
    ShareOfCeiling,
    Stage,
    System,
    Throughput,
    Time,
    Waits,
)
from dbdyno.model.result.reading import (
    JsonObject,
    count,
    mean,
    number,
    objects,
    part,
    ratio,
    shown_times,
    text,
    texts,
)
from dbdyno.stats import outliers, rate_interval, standard_error
from dbdyno.stats.rates import merged_rate
from dbdyno.store.records import RunRecord

_MUTEX_SITES = 10

_Part = TypeVar("_Part", CpuPercent, Disk)


def build_cell(
    planned: JsonObject,
    trials: Sequence[ReadTrial],
    run: RunRecord,
    *,
    published: Published | None,
    confidence: float,
    latencies: bool = True,
    diagnosed: bool = True,
) -> tuple[Cell, list[str]]:
    """Return the cell of a planned cell and its trials (one per block, in order), and errors in its data.

    ``confidence``: confidence of the interval, above 95 % if the run stopped as soon as its intervals were narrow
    enough. Without ``latencies`` the histograms of rounds are not merged. Without ``diagnosed`` the histograms of
    operations are not merged and bottlenecks are not determined.
    """
    measure = Measure.of(run.design)
    rounds = [build_round(trial, measure, bottleneck_of(trial) if diagnosed else None) for trial in trials]
    done = [round_ for round_ in rounds if round_.status == "done"]
    read = [trial for trial, round_ in zip(trials, rounds, strict=True) if round_.status == "done"]
    results = [trial.result for trial in read if trial.result is not None]
    # Results of external programs contain no internals.
    within = [result for result in results if isinstance(result, TrialResult)]
    measured = [round_ for round_ in done if round_.throughput is not None]
    for index in outliers([round_.throughput or 0.0 for round_ in measured]):
        measured[index].outlier = True
    latency, histograms, troubles = _latencies(done if latencies else [])
    operations, unreadable = cell_operations(within if diagnosed else [])
    stages, unreadable_stages = _stages(read, within if latencies else [])
    system = system_of(planned, results)
    for round_, trial in zip(done, read, strict=True):
        round_.plans = other_plans(trial, system)
    time = _time(done, within)
    windows = count(part(run.design, "growth"), "windows") or 1
    throughput = _throughput(measured, measure, confidence, windows)
    cell: Cell = Cell(
        id=str(planned.get("id", "")),
        system=system,
        factors=part(planned, "factors"),
        throughput=throughput,
        instructions=mean(round_.instructions for round_ in done),
        latency_ms=latency,
        histograms=histograms,
        cpu_percent=_averaged(CpuPercent, [round_.cpu_percent for round_ in done]),
        disk=_averaged(Disk, [round_.disk for round_ in done]),
        io_per_transaction=_io_per_transaction(done),
        observed=observe(
            done,
            [_engine_counts(result) for result in results],
            system.durability,
            rolls_back(next((trial.of_worker for trial in trials if trial.of_worker), None)),
            number(run.device or {}, "sync_min_us"),
        ),
        rows_per_transaction=ratio(_sum(round_.rows for round_ in done), sum(round_.completed for round_ in done)),
        rows_standard_error=_rows_standard_error(done),
        rows_differ=_rows_differ(run, str(planned.get("id", ""))),
        retries_per_transaction=ratio(sum(round_.retries for round_ in done), sum(round_.completed for round_ in done)),
        time=time,
        mutex=_mutex(within),
        waits=_waits(within),
        bottleneck=_bottleneck(done),
        share_of_ceiling=_shares(run, done, system),
        published=published,
        failed=dict(sum((Counter(round_.failed) for round_ in rounds), Counter())),
        statements=cell_statements(trials, done, system),
        operations=operations,
        stages=stages,
        beside=cell_beside(within),
        load=cell_load(read),
        growth=cell_growth(read, windows),
        space=cell_space(read),
        timed=cell_timed(read),
        not_looked_at=unmeasured_data(read),
        memory_limit=cell_memory_limit(read),
        rounds=rounds,
    )
    return cell, [*troubles, *unreadable, *unreadable_stages]


def _stages(trials: Sequence[ReadTrial], results: Sequence[TrialResult]) -> tuple[list[Stage], list[str]]:
    """Return the stages of a cell, and errors in their data."""
    task = next((trial.of_worker for trial in trials if trial.of_worker is not None), None)
    try:
        return cell_stages(task, results), []
    except HistogramError as error:
        return [], [f"the response times of the stages could not be merged across rounds: {error}"]


def _engine_counts(result: TrialResult | ProgramResult) -> EngineCounts | None:
    return result.observed if isinstance(result, TrialResult) else None


def _rows_differ(run: RunRecord, cell: str) -> dict[str, str]:
    found = {}
    for seen in run.observations:
        cells = texts(seen.get("cells"))
        if seen.get("kind") == ROWS_COMPARED and seen.get("verdict") == "differ" and cell in cells:
            found.update({each: text(seen, "words") or "" for each in cells if each != cell})
    return found


def _rows_standard_error(done: Sequence[Round]) -> float | None:
    """Return the standard error of the rows per transaction; None if squares were not counted.

    The larger one of the estimates from the differences between transactions and between rounds.
    """
    counted = [(round_.completed, round_.rows, round_.rows_squared) for round_ in done if round_.completed]
    known = [(ok, rows, squared) for ok, rows, squared in counted if rows is not None and squared is not None]
    if not known or len(known) < len(counted):
        return None
    number_of, total = sum(ok for ok, _, _ in known), sum(rows for _, rows, _ in known)
    variance = sum(squared for _, _, squared in known) / number_of - (total / number_of) ** 2
    within = math.sqrt(max(variance, 0.0) / number_of)
    return max(within, standard_error([rows / ok for ok, rows, _ in known]))


def _throughput(measured: Sequence[Round], measure: Measure, confidence: float, windows: int) -> Throughput:
    unit = measure.rate
    rates = {round_.block: rate for round_ in measured if (rate := rate_of(round_)) is not None}
    if not rates:
        return Throughput(mean=None, ci95=None, unit=unit)
    interval = rate_interval(list(merged(rates, windows, merged_rate).values()), confidence)
    ci95 = None if interval.low is None or interval.high is None else [interval.low, interval.high]
    return Throughput(mean=interval.mean, ci95=ci95, unit=unit)


def _latencies(done: Sequence[Round]) -> tuple[dict[str, Latency], dict[str, str], list[str]]:
    """Merge the histograms of the rounds; return latencies, encoded histograms and errors.

    A single round without a histogram keeps its own percentiles. Percentiles of several rounds cannot be averaged.
    """
    latency: dict[str, Latency] = {}
    histograms: dict[str, str] = {}
    troubles: list[str] = []
    names = list(dict.fromkeys(chain.from_iterable(round_.histograms for round_ in done)))
    for name in names:
        try:
            merged = merge(round_.histograms[name] for round_ in done if name in round_.histograms)
        except HistogramError as error:
            troubles.append(f"the {name} latencies could not be merged across rounds: {error}")
            continue
        if merged is not None:
            latency[name] = merged.latency_ms()
            histograms[name] = merged.encode()
    answers = shown_times({name: name for name in histograms})
    if answers is not None and "at_least" in histograms:
        latency[answers] = Histogram(histograms[answers]).latency_ms(Histogram(histograms["at_least"]))
    if len(done) == 1:
        latency = {**done[0].latency_ms, **latency}
    return latency, histograms, troubles


def system_of(planned: JsonObject, results: Sequence[TrialResult | ProgramResult]) -> System:
    """Return a system as it reports itself. ``planned``: with its URL as ``system``."""
    engine = results[0].engine if results else None
    facts = engine if isinstance(engine, Facts) else None
    named = planned.get("system")
    stated = named if isinstance(named, dict) else {"name": named} if isinstance(named, str) else {}
    known = None if engine is None else engine.engine
    durable = facts if engine_of_product(known).durability_is_known else None
    return System(
        name=text(stated, "name") or text(stated, "url") or known or "",
        engine=known or text(stated, "engine"),
        version=(facts and facts.version) or text(stated, "version"),
        source_id=(facts and facts.source_id) or None,
        compile_options=[] if facts is None else facts.compile_options,
        settings={} if engine is None else dict(engine.settings),
        durability=None if durable is None else durable.durability.durability_class,
        durability_because=None if durable is None else durable.durability.because,
        plans={} if facts is None else facts.plans,
        passed_over={} if facts is None else facts.passed_over,
        catalog={} if facts is None else facts.catalog.model_dump(),
        lost_updates=_lost_updates([result.engine for result in results if isinstance(result, TrialResult)]),
    )


def _lost_updates(engines: Sequence[Facts]) -> JsonObject:
    """Add up the lost-update tests before the trials."""
    tried: list[LostUpdates] = [facts.lost_updates for facts in engines if facts.lost_updates is not None]
    if not tried:
        return {}
    return {
        "sessions": max(lost_updates.sessions for lost_updates in tried),
        "acknowledged": sum(lost_updates.acknowledged for lost_updates in tried),
        "counted": sum(lost_updates.counted for lost_updates in tried),
    }


def _averaged(kind: type[_Part], parts: Sequence[_Part]) -> _Part:
    """Average numeric fields, also within dictionaries; use the first known value of other fields."""
    hints = get_type_hints(kind)
    return kind(**{name: _mean_of(hint, [getattr(each, name) for each in parts]) for name, hint in hints.items()})


def _mean_of(hint: Any, values: Sequence[Any]) -> Any:
    if hint == float | None:
        return mean(values)
    if hint == dict[str, float | None]:
        return {name: mean(value.get(name) for value in values) for name in dict.fromkeys(chain.from_iterable(values))}
    return next((value for value in values if value), {} if get_origin(hint) is dict else None)


def _io_per_transaction(done: Sequence[Round]) -> dict[str, float | None]:
    completed = sum(round_.completed for round_ in done)
    if not completed:
        return {}
    names = dict.fromkeys(chain.from_iterable(round_.io for round_ in done))
    return {name: ratio(_sum(round_.io.get(name) for round_ in done), completed) for name in names}


def _time(done: Sequence[Round], results: Sequence[TrialResult]) -> Time | None:
    client_s = _sum(round_.client_s for round_ in done)
    if not client_s:
        return None
    names = dict.fromkeys(chain.from_iterable(round_.segments for round_ in done))
    segments = {name: _sum(round_.segments.get(name) for round_ in done) for name in names}
    # Leave out rounds that did not measure a segment.
    seen_s = {name: _sum(round_.client_s for round_ in done if round_.segments.get(name) is not None) for name in names}
    return Time(
        client_s=client_s,
        cpu_s=sum(result.time.cpu_s for result in results),
        segments=segments,
        shares={name: ratio(seconds, seen_s[name]) for name, seconds in segments.items()},
    )


def _mutex(results: Sequence[TrialResult]) -> Mutex | None:
    """Add up the contended mutexes by function and mutex, with the stack of the longest wait."""
    recorded = [(result.mutex, result.time.client_s) for result in results if result.mutex is not None]
    if not recorded:
        return None
    sites: dict[tuple[str, str], MutexSite] = {}
    longest: dict[tuple[str, str], float] = {}
    for each in chain.from_iterable(mutex.sites for mutex, _ in recorded):
        key = (each.function, each.mutex)
        site = sites.setdefault(key, MutexSite(function=key[0], mutex=key[1], waits=0, wait_s=0.0, stack=[]))
        site.waits += each.waits
        site.wait_s += each.wait_s
        if each.wait_s >= longest.get(key, 0.0):
            longest[key] = each.wait_s
            site.stack = each.stack
    wait_s = sum(mutex.wait_s for mutex, _ in recorded)
    return Mutex(
        contended=sum(mutex.contended for mutex, _ in recorded),
        wait_s=wait_s,
        wait_share=ratio(wait_s, sum(client_s for _, client_s in recorded)),
        sites=sorted(sites.values(), key=lambda site: -site.wait_s)[:_MUTEX_SITES],
    )


def _waits(results: Sequence[TrialResult]) -> Waits | None:
    """Average the sampled states of a server's sessions over all samples."""
    looked = [result.waits for result in results if isinstance(result.waits, observations.Waits)]
    samples = sum(waits.samples for waits in looked)
    if not samples:
        return None
    sessions: dict[str, float] = {}
    for waits in looked:
        for name, seen in waits.seen.items():
            sessions[name] = sessions.get(name, 0.0) + seen / samples
    return Waits(
        samples=samples,
        query_s=sum(waits.query_s for waits in looked),
        sessions=dict(sorted(sessions.items(), key=lambda item: -item[1])),
    )


def _bottleneck(done: Sequence[Round]) -> Bottleneck | None:
    """Return the most frequent bottleneck, with the evidence of the agreeing round with the median throughput."""
    diagnosed = [(round_.bottleneck, round_.throughput or 0.0) for round_ in done if round_.bottleneck is not None]
    if not diagnosed:
        return None
    resource, rounds = Counter(bottleneck.resource for bottleneck, _ in diagnosed).most_common(1)[0]
    agreeing = [(bottleneck, value) for bottleneck, value in diagnosed if bottleneck.resource == resource]
    middle = median(value for _, value in agreeing)
    typical = min(agreeing, key=lambda pair: abs(pair[1] - middle))[0]
    return replace(typical, rounds=rounds, of=len(diagnosed))


def _shares(run: RunRecord, done: Sequence[Round], system: System) -> ShareOfCeiling:
    """Return the cell's shares of the maximum rates of this machine, averaged over rounds."""
    clients = mean(count(round_.window, "clients") for round_ in done)
    one_client = number(run.ceiling or {}, "operations_per_s")
    cores = next((round_.cpu_percent.cores for round_ in done if round_.cpu_percent.cores), None)
    cores = next((len(own) for round_ in done if (own := round_.cpu_percent.processors.get("load"))), cores)
    # The null engine has no shared state: its rate grows with clients until all cores are busy.
    ceiling = one_client * min(clients, cores or clients) if one_client and clients else one_client
    commits = mean(round_.transactions_per_s for round_ in done)
    of_each = ratio(_sum(round_.statements for round_ in done), sum(round_.completed for round_ in done))
    statements = None if commits is None or of_each is None else commits * of_each
    synced = any(round_.io.get("syncs") for round_ in done)
    sync_per_s = number(run.device or {}, "sync_per_s")
    random_reads = [number(each, "per_s") or 0.0 for each in objects((run.device or {}).get("random_read"))]
    return ShareOfCeiling(
        harness=ratio(statements, ceiling),
        device_sync=ratio(commits, sync_per_s) if synced and system.durability == POWER_SAFE else None,
        device_read=ratio(mean(round_.disk.reads_per_s for round_ in done), max(random_reads, default=None)),
    )


def _sum(values: Any) -> Any:
    """Return the sum of the known values; None if all are unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
