"""Evaluation of the changes of a run: which resource limits the cell, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import hypot, log, sqrt
from statistics import fmean

from dbdyno.analysis.measured.comparisons import Pair, more_is_better, noise_of_cells, ratio_of_pair
from dbdyno.analysis.measured.metrics import done, keeps_up, rates_by_block
from dbdyno.analysis.why.cells import Why as Planned
from dbdyno.analysis.why.inference import resource_of
from dbdyno.analysis.why.metric import Metric, is_bounded, is_overloaded, metric_of, p99_beside, speeds_by_block
from dbdyno.analysis.why.pilot import ASSUMED, Pilot
from dbdyno.analysis.why.resource_names import RESOURCE_NAMES
from dbdyno.analysis.why.sentences import inferred_sentences, sentences
from dbdyno.model.plan.change import AGAIN, CHANGE, INJECTED, UNCHANGED, Change, Resource
from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.reading import number, part
from dbdyno.model.result.why import ChangeEffect, ResourceTest, Why, WhyResource
from dbdyno.stats import CONFIDENCE, Rate, Rates, Ratio, paired_rates
from dbdyno.stats.elasticity import MAIN, ResourceVerdict, Slope, saved, slope, verdict, verdict_of_slower
from dbdyno.stats.intervals import Noise, block_logs, ratio_of

# Above this half-width of the interval of the elasticities' sum, the unexplained time is not reported.
_UNSURE = 0.25

# Resources that a change removes only in part: messages over a Unix socket also take time.
_IN_PART: tuple[Resource, ...] = ("message",)

# Resources that clients wait for without using a CPU.
_WAITED_FOR: tuple[Resource, ...] = ("flush", "locks", "message")

Ends = tuple[float, float] | None

_SHOWN: tuple[ResourceVerdict, ...] = ("bottleneck", "part")


_TestVerdict = tuple["_Test", Ends, ResourceVerdict]


@dataclass(frozen=True)
class _Baseline:
    """The unchanged cell, its values by block, and the confidence of each interval.

    ``speeds``: values of the compared metric, more is better; ``rates``: throughput. ``variance``: chance variance of
    a block's value, as a multiple of one trial's variance; 0.5 for two trials per block. ``noise``: noise of a trial,
    estimated from all cells.
    """

    cell: Cell
    metric: Metric
    speeds: Mapping[int, float]
    rates: Rates
    confidence: float
    variance: float
    noise: Noise | None

    def ratio(self, cell: Cell) -> Ratio | None:
        """Return the speed of a cell as a multiple of the unchanged cell's speed."""
        scale = sqrt(1 + self.variance)
        if self.metric == "throughput":
            return paired_rates(self.rates, rates_by_block(cell), self.confidence, self.noise, scale)
        logs = block_logs(self.speeds, speeds_by_block(cell, self.metric))
        return ratio_of(logs, self.confidence, noise=self.noise, scale=scale)

    @property
    def has_slopes(self) -> bool:
        """Whether slopes can be estimated, which is impossible if its response time is a lower bound."""
        return self.metric == "throughput" or not is_bounded(self.cell)

    def is_known(self, cell: Cell) -> bool:
        """Whether the speed of a cell is known, and not only a bound of its response time."""
        return self.metric == "throughput" or not is_bounded(cell)

    def may_be_faster(self, cell: Cell) -> bool:
        """Whether a cell serves the offered load and the unchanged cell doesn't: its gain is then a lower bound."""
        return is_overloaded(self.cell) and keeps_up(cell)


@dataclass(frozen=True)
class _Test:
    """All changes of one kind to one resource, with their cells.

    ``slope``: result of the changes that make the resource slower; ``best``: cell and ratio of the change with the
    largest gain, if the changes make the resource free.
    """

    resource: Resource
    kind: str
    changes: Sequence[tuple[Change, Cell]]
    slope: Slope | None = None
    best: tuple[Cell, Ratio] | None = None

    @property
    def share(self) -> float | None:
        """The share of a transaction's time."""
        if self.kind == "slower":
            return None if self.slope is None else self.slope.mean
        return None if self.best is None else _gained(self, self.best[1])[0]


def conclude(planned: Planned, cells: Sequence[Cell], confidence: float = CONFIDENCE) -> Why | None:
    """Return the result; None if the unchanged cell has not been measured yet.

    ``confidence``: nominal confidence of the run's intervals.
    """
    by_level = {str(cell.factors.get(CHANGE)): cell for cell in cells}
    base = by_level.get(UNCHANGED)
    if base is None or not rates_by_block(base):
        return None
    again = by_level.get(AGAIN)
    twice = again is not None and bool(rates_by_block(again))
    metric = metric_of(base)
    noise = noise_of_cells(cells, metric)
    changes = [
        change for change in planned.changes if change.level in by_level and rates_by_block(by_level[change.level])
    ]
    own = _Baseline(
        base,
        metric,
        _base_speeds(base, again, metric),
        _base_rates(base, again),
        _confidence_of_each(changes, confidence),
        0.5 if twice else 1.0,
        noise,
    )
    tests = _tests(changes, by_level, own)
    inferred = None if base.bottleneck is None else base.bottleneck.resource
    named = resource_of(inferred, metric)
    resources = _judged_resources(tests, own, planned.pilot, named)
    untested = [
        _untested(each["resource"], str(each["why"]), each["share"], named)
        for each in planned.untried
        if not any(one.resource == each["resource"] for one in resources)
    ]
    total, unsure = _sum_of_elasticities(resources)
    times = {block: 1 / speed for block, speed in _base_speeds(base, again, "p99").items()}
    why: Why = Why(
        cell=planned.cell,
        unchanged=base.id,
        metric=metric,
        p99_ms=p99_beside(times, [by_level[change.level] for change in changes]),
        p99_is_bound=is_bounded(base),
        bottleneck=next((resource.resource for resource in resources if resource.verdict == "bottleneck"), None),
        inferred=inferred,
        resources=[*resources, *untested],
        elasticities=total,
        missing=None if total is None or unsure > _UNSURE else 1 - total,
        tests=len(tests),
        fixes=None,
        text=[],
    )
    why.text = sentences(why, base, planned.pilot) if planned.changes else inferred_sentences(why, base)
    return why


def _confidence_of_each(changes: Sequence[Change], confidence: float) -> float:
    """Return the confidence of each interval: all changes that free a resource and all slowed resources share it."""
    family = sum(change.kind != "slower" for change in changes)
    family += len({change.resource for change in changes if change.kind == "slower"})
    return 1 - (1 - confidence) / max(family, 1)


def _judged_resources(
    tests: Sequence[_Test], own: _Baseline, pilot: Pilot, named: Resource | None
) -> list[WhyResource]:
    """Return the tested resources with their verdicts, the bottleneck first."""
    judged = _verdicts([(test, _interval(test, own)) for test in tests])
    resources = [
        _resource(resource, [each for each in judged if each[0].resource == resource], own, named)
        for resource in dict.fromkeys(test.resource for test in tests)
    ]
    _choose_bottleneck(resources, named, own.metric)
    # Inconclusive shares may be large by chance, so a resource that took most of the pilot's time precedes them.
    resources.sort(
        key=lambda resource: (
            resource.verdict != "bottleneck",
            pilot.seen(_known(resource.resource)) < MAIN,
            -(resource.share if resource.share is not None else -1),
        )
    )
    return resources


def settled(why: Why | None) -> bool:
    """Whether no further round is needed: all tests have a verdict, and the bottleneck is known or excluded."""
    if why is None:
        return False
    known = all(resource.verdict != "inconclusive" or resource.untested for resource in why.resources)
    return known and (why.bottleneck is not None or not any(map(may_be_main, why.resources)))


def may_be_main(resource: WhyResource) -> bool:
    """Whether the tests of a resource don't exclude that it is the bottleneck."""
    return resource.verdict != "not" and any(test.ci95 is None or test.ci95[1] >= MAIN for test in resource.tests)


def _base_rates(base: Cell, again: Cell | None) -> Rates:
    """Return the rates of the unchanged cell by block, merging both trials of blocks that have two."""
    first, second = rates_by_block(base), {} if again is None else rates_by_block(again)
    return {block: _merge_rates(rate, second[block]) if block in second else rate for block, rate in first.items()}


def _base_speeds(base: Cell, again: Cell | None, metric: Metric) -> Mapping[int, float]:
    """Return the speeds of the unchanged cell by block: the geometric mean of both trials of blocks that have two."""
    first = speeds_by_block(base, metric)
    second = {} if again is None else speeds_by_block(again, metric)
    return {block: sqrt(speed * second.get(block, speed)) for block, speed in first.items()}


def _merge_rates(a: Rate, b: Rate) -> Rate:
    return Rate(
        sqrt(a.value * b.value),
        a.time + b.time,
        a.count + b.count,
        a.seconds + b.seconds,
        a.squares + b.squares,
        max(a.resolution, b.resolution),
        sqrt(a.other * b.other),
    )


def _tests(changes_measured: Sequence[Change], by_level: Mapping[str, Cell], own: _Baseline) -> list[_Test]:
    kept: dict[tuple[Resource, str], list[tuple[Change, Cell]]] = {}
    for change in changes_measured:
        kept.setdefault((change.resource, change.kind), []).append((change, by_level[change.level]))
    tests = []
    for (resource, kind), changes in kept.items():
        if kind == "slower":
            tests.append(_Test(resource, kind, changes, slope=_slope(changes, own)))
        else:
            # If several changes free a resource, the largest gain shows the resource's cost.
            tests.append(_Test(resource, kind, changes, best=_best(changes, own)))
    return _subtract_client(tests)


def _best(changes: Sequence[tuple[Change, Cell]], own: _Baseline) -> tuple[Cell, Ratio] | None:
    found = [(cell, own.ratio(cell)) for _, cell in changes if own.is_known(cell)]
    known = [(cell, ratio) for cell, ratio in found if ratio is not None]
    return max(known, key=lambda pair: pair[1].mean, default=None)


def _slope(changes: Sequence[tuple[Change, Cell]], own: _Baseline) -> Slope | None:
    """Return the slope of one resource's changes, from the blocks in which all of these were measured."""
    if not own.has_slopes:
        return None
    # The response times of an overloaded system depend on the length of the window.
    changes = [each for each in changes if own.is_known(each[1])] or changes[:1]
    speeds = [speeds_by_block(cell, own.metric) for _, cell in changes]
    rounds = [{round_.block: round_ for round_ in done(cell)} for _, cell in changes]
    before = {round_.block: round_ for round_ in done(own.cell)}
    points: dict[int, list[tuple[float, float]]] = {}
    for block in sorted(set(own.speeds).intersection(before, *speeds)):
        row = []
        for (change, _), speed, each in zip(changes, speeds, rounds, strict=True):
            x = _relative_delay(change, before[block], each[block])
            if x is None:
                break
            row.append((x, -log(speed[block] / own.speeds[block])))
        if len(row) == len(changes):
            points[block] = row
    return slope(points, own.confidence, of_logarithms=changes[0][0].scale == "ratio")


def _relative_delay(change: Change, base: Round, changed: Round) -> float | None:
    """Return the added time of a resource as a multiple of its own time; for sizes, the logarithm of the reduction."""
    match change.scale:
        case "delay":
            own, added = _own_us(change, base), _added_us(change, base, changed)
            return None if not own or added is None else added / own
        case "share":
            took = changed.competitor if changed.competitor is not None else change.size
            # The system computes in the share of CPU time that the competing program leaves.
            return took / (1 - took) if took < 1 else None
        case "ratio":
            return log(change.size)
    return None


def _own_us(change: Change, base: Round) -> float | None:
    """Return the time of a call in the unchanged cell in microseconds, including planted delays."""
    counts = part(base.changes, INJECTED[change.resource])
    calls, added = number(counts, "calls"), number(counts, "added_s") or 0.0
    own_s = None if change.resource in ASSUMED else number(counts, "own_s")
    if calls and own_s is not None:
        return (own_s + added) * 1e6 / calls
    return change.own_us


def _added_us(change: Change, base: Round, changed: Round) -> float | None:
    """Return the measured delay of a call compared with the unchanged cell, in microseconds."""
    kind = INJECTED[change.resource]

    def added_us(one: Round) -> float | None:
        counts = part(one.changes, kind)
        calls, added = number(counts, "calls"), number(counts, "added_s")
        return added * 1e6 / calls if calls and added is not None else None

    more, before = added_us(changed), added_us(base)
    return change.size if more is None or before is None else more - before


def _subtract_client(tests: list[_Test]) -> list[_Test]:
    """Subtract the client's elasticity, if it was tested, from the processors' elasticity to get the system's part."""
    slopes = {test.resource: test.slope for test in tests if test.kind == "slower" and test.slope is not None}
    client, processors = slopes.get("client"), slopes.get("processors")
    if client is None or processors is None or len(client.values) != len(processors.values):
        return tests
    rest = tuple(all_of - own for all_of, own in zip(processors.values, client.values, strict=True))
    apart = Slope(
        processors.mean - client.mean,
        rest,
        tuple(size - client.mean for size in processors.sizes),
        processors.linear,
        processors.of_base - client.of_base,
        processors.of_sizes + client.of_sizes,
    )
    return [
        replace(test, slope=apart) if test.resource == "processors" and test.kind == "slower" else test
        for test in tests
    ]


def _verdicts(tests: Sequence[tuple[_Test, Ends]]) -> list[_TestVerdict]:
    """Decide the verdict of each test from its interval.

    A competing program also delays lock holders and threads that wait for the end of a flush, so it can cost more than
    the CPU time it uses. Clients don't compute while they wait. The gain without these waits thus limits the share of
    computing. A competitor's cost above this limit is inconclusive.
    """
    words = [(verdict_of_slower if test.kind == "slower" else verdict)(ends) for test, ends in tests]
    waited = [
        ends[0]
        for (test, ends), word in zip(tests, words, strict=True)
        if test.resource in _WAITED_FOR and test.kind == "free" and word in _SHOWN and ends is not None
    ]
    most = 1 - max(waited, default=0.0)
    found: list[_TestVerdict] = []
    for (test, ends), word in zip(tests, words, strict=True):
        competed = test.kind == "slower" and test.changes[0][0].scale == "share"
        more = competed and bool(waited) and ends is not None and ends[0] > most
        found.append((test, ends, "inconclusive" if more else word))
    return found


def _interval(test: _Test, own: _Baseline) -> Ends:
    if test.kind == "slower":
        return None if test.slope is None else test.slope.interval(own.confidence, own.noise, own.variance)
    if test.best is None:
        return None
    cell, ratio = test.best
    ends = _gained(test, ratio)[1]
    # The cell served all of the offered load; how much more it could serve is unknown.
    return (ends[0], max(ends[1], 1.0)) if ends is not None and own.may_be_faster(cell) else ends


def _gained(test: _Test, ratio: Ratio) -> tuple[float, Ends]:
    """Return the share of the time that freeing a resource saved, and its interval.

    One more processor doesn't make computing free. The result then is the elasticity ln rate / ln((n + 1) / n).
    """
    processors = len(test.changes[0][0].processors)
    if not processors:
        return saved(ratio)
    more = log(processors / (processors - 1))
    ends = None if ratio.ends is None else (log(ratio.ends[0]) / more, log(ratio.ends[1]) / more)
    return log(ratio.mean) / more, ends


def _resource(
    resource: Resource,
    judged: Sequence[_TestVerdict],
    own: _Baseline,
    named: Resource | None,
) -> WhyResource:
    slower = next((each for each in judged if each[0].kind == "slower"), None)
    free = next((each for each in judged if each[0].kind == "free"), None)
    # Prefer the gain, which was measured, to the elasticity, which only holds for small changes.
    first = free if free is not None and free[0].share is not None else slower
    shown = free is not None and free[2] == "bottleneck"
    if free is not None and slower is not None and not shown and (slower[0].share or 0.0) > (free[0].share or 0.0):
        # The change freed only a part of the resource, for example by adding one processor.
        first = slower if resource in ("processors", "read", *_IN_PART) else first
    share, ends, _ = (None, None, "") if first is None else (first[0].share, first[1], "")
    return WhyResource(
        resource=resource,
        name=RESOURCE_NAMES[resource].name,
        verdict=_verdict(slower, free),
        share=share,
        ci95=None if ends is None else list(ends),
        elasticity=None if slower is None else slower[0].share,
        elasticity_ci95=None if slower is None or slower[1] is None else list(slower[1]),
        tests=[_test_result(each, own) for each in judged],
        untested="",
        inferred=resource == named,
        inferred_right=None,
    )


def _verdict(slower: _TestVerdict | None, free: _TestVerdict | None) -> ResourceVerdict:
    """Return the verdict of a resource from both of its tests.

    A positive result of either test decides. Otherwise the test with a slower resource decides: if slowing a resource
    has no effect, it isn't a limit, but a change without a gain may have freed only a part of the resource.
    """
    words = [each[2] for each in (slower, free) if each is not None]
    shown = next((word for word in _SHOWN if word in words), None)
    return shown or words[0]


def _test_result(judged: _TestVerdict, own: _Baseline) -> ResourceTest:
    test, ends, word = judged
    return ResourceTest(
        kind="slower" if test.kind == "slower" else "free",
        changes=[_effect(change, cell, own) for change, cell in test.changes],
        share=test.share,
        ci95=None if ends is None else list(ends),
        linear=test.slope is None or test.slope.linear,
        verdict=word,
    )


def _effect(change: Change, cell: Cell, own: _Baseline) -> ChangeEffect:
    rate, p99 = (
        more_is_better(own.ratio(cell), metric)
        if metric == own.metric
        else ratio_of_pair(Pair(own.cell, cell, metric=metric, confidence=own.confidence))
        for metric in ("throughput", "p99")
    )
    return ChangeEffect(
        change=change.level,
        cell=cell.id,
        does=change.does,
        size=change.size,
        observed=_observed(change, cell, own.cell),
        rate=None if rate is None else rate.mean,
        rate_ci95=None if rate is None else rate.ends,
        p99=None if p99 is None else p99.mean,
        p99_ci95=None if p99 is None else p99.ends,
        p99_is_bound=is_bounded(cell),
        blocks=0 if rate is None else rate.count,
    )


def _observed(change: Change, cell: Cell, base: Cell) -> float | None:
    rounds, before = done(cell), {round_.block: round_ for round_ in done(base)}
    if change.scale == "share":
        took = [round_.competitor for round_ in rounds if round_.competitor is not None]
        return fmean(took) if took else None
    if change.scale != "delay":
        return None
    kind = INJECTED[change.resource]
    seen = [
        added
        for round_ in rounds
        if round_.block in before
        and number(part(round_.changes, kind), "calls")
        and (added := _added_us(change, before[round_.block], round_)) is not None
    ]
    return fmean(seen) if seen else None


def _choose_bottleneck(resources: list[WhyResource], named: Resource | None, metric: Metric) -> None:
    """Keep the verdict "bottleneck" for the largest candidate only, and check the bottleneck that the report inferred.

    If freeing another resource more than doubled the rate, computing takes less than half of the time, however much
    a competing program costs.
    """
    candidates = [resource for resource in resources if resource.verdict == "bottleneck"]
    freed = [candidate for candidate in candidates if _is_freed(candidate)]
    if freed:
        candidates = [candidate for candidate in candidates if candidate.resource != "processors" or candidate in freed]
    # Arrivals that wait for each other increase all elasticities.
    total = max(_sum_of_elasticities(resources)[0] or 1.0, 1.0) if metric == "p99" else None
    main = max(candidates, key=lambda resource: _weight(resource, total), default=None)
    for resource in resources:
        if resource.verdict == "bottleneck" and resource is not main:
            resource.verdict = "part"
        if resource.resource == named:
            resource.inferred_right = {"bottleneck": True, "not": False}.get(resource.verdict)
            if main is not None and resource is not main:
                # Parsing is a part of computing.
                resource.inferred_right = named == "processors" and main.resource == "parsing"


def _weight(resource: WhyResource, total: float | None) -> float:
    """Return the weight by which the bottleneck is chosen: the gain without the resource, otherwise its elasticity.

    The gain comes first because calls made while a lock is held have an elasticity although the lock is the cause.
    ``total``: the sum of the elasticities of response times. Elasticities are then divided by it, and the larger of
    gain and elasticity counts.
    """
    free = [test.share for test in resource.tests if test.kind == "free" and test.share is not None]
    if total is not None:
        return max([*free, (resource.elasticity or 0.0) / total])
    if free and resource.resource not in _IN_PART:
        return max(free)
    return max(resource.share or 0.0, resource.elasticity or 0.0)


def _is_freed(resource: WhyResource) -> bool:
    """Whether the rate was more than twice as high without the resource."""
    return any(test.kind == "free" and test.verdict == "bottleneck" for test in resource.tests)


def _known(resource: str) -> Resource:
    return next(each for each in RESOURCE_NAMES if each == resource)


def _untested(resource: str, why: str, share: float | None, named: Resource | None) -> WhyResource:
    return WhyResource(
        resource=resource,
        name=RESOURCE_NAMES[_known(resource)].name,
        verdict="not" if share is not None else "inconclusive",
        share=share,
        ci95=None,
        elasticity=None,
        elasticity_ci95=None,
        tests=[],
        untested=why,
        inferred=resource == named,
        inferred_right=False if resource == named and share is not None else None,
    )


def _sum_of_elasticities(resources: Sequence[WhyResource]) -> tuple[float | None, float]:
    """Return the sum of the elasticities and the half-width of its interval, without the cache, which takes no time."""
    own = [resource for resource in resources if resource.elasticity is not None and resource.resource != "cache"]
    if not own:
        return None, 0.0
    ends = [resource.elasticity_ci95 for resource in own]
    halves = [(each[1] - each[0]) / 2 if each is not None else float("inf") for each in ends]
    return sum(resource.elasticity or 0.0 for resource in own), hypot(*halves)
