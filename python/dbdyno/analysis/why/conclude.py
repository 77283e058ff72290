"""What the changes of a run say: which resource decides how fast the cell is, and how far."""

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
from dbdyno.analysis.why.pilot import ASSUMED
from dbdyno.analysis.why.resource_names import RESOURCE_NAMES
from dbdyno.analysis.why.sentences import sentences
from dbdyno.model.plan.change import AGAIN, CHANGE, INJECTED, UNCHANGED, Change, Resource
from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.reading import number, part
from dbdyno.model.result.why import ChangeEffect, ResourceTest, Why, WhyResource
from dbdyno.stats import CONFIDENCE, Rate, Rates, Ratio, paired_rates
from dbdyno.stats.elasticity import MAIN, Slope, Verdict, saved, slope, verdict, verdict_of_slower
from dbdyno.stats.intervals import Noise, block_logs, ratio_of

# Half the interval of a sum of elasticities, beyond which nothing is said of what is missing.
_UNSURE = 0.25

# What is made free in part alone: a Unix socket is a way as well.
_IN_PART: tuple[Resource, ...] = ("message",)

# What clients wait for without computing.
_WAITED_FOR: tuple[Resource, ...] = ("flush", "locks", "message")

Ends = tuple[float, float] | None

_SHOWN: tuple[Verdict, ...] = ("bottleneck", "part")


_Judged = tuple["_Test", Ends, Verdict]


@dataclass(frozen=True)
class _Own:
    """The cell as it is, its figures by block, and the confidence of each interval against it.

    ``speeds``: what is compared, more of which is better; ``rates``: its throughput. ``variance``: of its figure by
    chance, by that of one trial's: it may have two in a block. ``noise``: of a trial, as all cells show it.
    """

    cell: Cell
    metric: Metric
    speeds: Mapping[int, float]
    rates: Rates
    confidence: float
    variance: float
    noise: Noise | None

    def ratio(self, cell: Cell) -> Ratio | None:
        """Return how many times as fast as it a cell is."""
        scale = sqrt(1 + self.variance)
        if self.metric == "throughput":
            return paired_rates(self.rates, rates_by_block(cell), self.confidence, self.noise, scale)
        logs = block_logs(self.speeds, speeds_by_block(cell, self.metric))
        return ratio_of(logs, self.confidence, noise=self.noise, scale=scale)

    @property
    def has_slopes(self) -> bool:
        """Whether it shows what makes it slower: a time that is a lower bound does not."""
        return self.metric == "throughput" or not is_bounded(self.cell)

    def is_known(self, cell: Cell) -> bool:
        """Whether it is known how fast a cell is, and not only that it takes so long at least."""
        return self.metric == "throughput" or not is_bounded(cell)

    def may_be_faster(self, cell: Cell) -> bool:
        """Whether a cell would carry more than it was offered, as the cell as it is does not."""
        return is_overloaded(self.cell) and keeps_up(cell)


@dataclass(frozen=True)
class _Test:
    """The changes of one kind of a resource, with their cells.

    ``slope``: of those that make it slower; ``best``: of those that make it free the one that gains most, with its
    ratio.
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
    """Say what was found; None where the cell as it is has not been measured yet.

    ``confidence``: the nominal one of the run's intervals.
    """
    by_level = {str(cell.factors.get(CHANGE)): cell for cell in cells}
    base = by_level.get(UNCHANGED)
    if base is None or not rates_by_block(base):
        return None
    again = by_level.get(AGAIN)
    twice = again is not None and bool(rates_by_block(again))
    metric = metric_of(base)
    noise = noise_of_cells(cells, metric)
    changes = [each for each in planned.changes if each.level in by_level and rates_by_block(by_level[each.level])]
    # All intervals hold with the confidence: of each way to make a resource free, and of each resource made slower.
    family = sum(each.kind != "slower" for each in changes)
    family += len({each.resource for each in changes if each.kind == "slower"})
    each_confidence = 1 - (1 - confidence) / max(family, 1)
    own = _Own(
        base,
        metric,
        _twice(base, again, metric),
        _rates(base, again),
        each_confidence,
        0.5 if twice else 1.0,
        noise,
    )
    tests = _tests(changes, by_level, own)
    judged = _judged([(test, _ends(test, own)) for test in tests])
    inferred = None if base.bottleneck is None else base.bottleneck.resource
    named = resource_of(inferred, metric)
    found = [
        _resource(resource, [each for each in judged if each[0].resource == resource], own, named)
        for resource in dict.fromkeys(test.resource for test in tests)
    ]
    _name_the_bottleneck(found, named, metric)
    # What is open may seem larger by chance; where the pilot saw most of the time go does not.
    found.sort(
        key=lambda each: (
            each.verdict != "bottleneck",
            planned.pilot.seen(_known(each.resource)) < MAIN,
            -(each.share if each.share is not None else -1),
        )
    )
    untested = [
        _untested(each["resource"], str(each["why"]), each["share"], named)
        for each in planned.untried
        if not any(one.resource == each["resource"] for one in found)
    ]
    total, unsure = _total(found)
    times = {block: 1 / speed for block, speed in _twice(base, again, "p99").items()}
    why: Why = Why(
        cell=planned.cell,
        unchanged=base.id,
        metric=metric,
        p99_ms=p99_beside(times, [by_level[each.level] for each in changes]),
        p99_is_bound=is_bounded(base),
        bottleneck=next((each.resource for each in found if each.verdict == "bottleneck"), None),
        inferred=inferred,
        resources=[*found, *untested],
        elasticities=total,
        missing=None if total is None or unsure > _UNSURE else 1 - total,
        tests=len(tests),
        fixes=None,
        text=[],
    )
    why.text = sentences(why, base, planned.pilot)
    return why


def settled(why: Why | None) -> bool:
    """Whether no further round is needed: it is known what each resource is, and no other may be the bottleneck."""
    if why is None:
        return False
    known = all(each.verdict != "inconclusive" or each.untested for each in why.resources)
    return known and (why.bottleneck is not None or not any(map(may_be_main, why.resources)))


def may_be_main(each: WhyResource) -> bool:
    """Whether the tests of a resource leave it open that it is the bottleneck."""
    return each.verdict != "not" and any(test.ci95 is None or test.ci95[1] >= MAIN for test in each.tests)


def _rates(base: Cell, again: Cell | None) -> Rates:
    """Return the rates of the cell as it is: of both its trials in a block, where it has two."""
    first, second = rates_by_block(base), {} if again is None else rates_by_block(again)
    return {block: _both(rate, second[block]) if block in second else rate for block, rate in first.items()}


def _twice(base: Cell, again: Cell | None, metric: Metric) -> Mapping[int, float]:
    """Return the speeds of the cell as it is, as :func:`_rates` does."""
    first = speeds_by_block(base, metric)
    second = {} if again is None else speeds_by_block(again, metric)
    return {block: sqrt(speed * second.get(block, speed)) for block, speed in first.items()}


def _both(a: Rate, b: Rate) -> Rate:
    return Rate(
        sqrt(a.value * b.value),
        a.time + b.time,
        a.count + b.count,
        a.seconds + b.seconds,
        a.squares + b.squares,
        max(a.resolution, b.resolution),
        sqrt(a.other * b.other),
    )


def _tests(changes_measured: Sequence[Change], by_level: Mapping[str, Cell], own: _Own) -> list[_Test]:
    kept: dict[tuple[Resource, str], list[tuple[Change, Cell]]] = {}
    for change in changes_measured:
        kept.setdefault((change.resource, change.kind), []).append((change, by_level[change.level]))
    tests = []
    for (resource, kind), changes in kept.items():
        if kind == "slower":
            tests.append(_Test(resource, kind, changes, slope=_slope(changes, own)))
        else:
            # Of several ways to be rid of a resource, the best one tells what it costs.
            tests.append(_Test(resource, kind, changes, best=_best(changes, own)))
    return _without_the_client(tests)


def _best(changes: Sequence[tuple[Change, Cell]], own: _Own) -> tuple[Cell, Ratio] | None:
    found = [(cell, own.ratio(cell)) for _, cell in changes if own.is_known(cell)]
    known = [(cell, ratio) for cell, ratio in found if ratio is not None]
    return max(known, key=lambda each: each[1].mean, default=None)


def _slope(changes: Sequence[tuple[Change, Cell]], own: _Own) -> Slope | None:
    """Return the slope of one resource's changes, from the blocks that have all of them."""
    if not own.has_slopes:
        return None
    # Beyond what the system carries, a response time tells how long the window is.
    changes = [each for each in changes if own.is_known(each[1])] or changes[:1]
    speeds = [speeds_by_block(cell, own.metric) for _, cell in changes]
    rounds = [{each.block: each for each in done(cell)} for _, cell in changes]
    before = {each.block: each for each in done(own.cell)}
    points: dict[int, list[tuple[float, float]]] = {}
    for block in sorted(set(own.speeds).intersection(before, *speeds)):
        row = []
        for (change, _), speed, each in zip(changes, speeds, rounds, strict=True):
            x = _longer(change, before[block], each[block])
            if x is None:
                break
            row.append((x, -log(speed[block] / own.speeds[block])))
        if len(row) == len(changes):
            points[block] = row
    return slope(points, own.confidence, of_logarithms=changes[0][0].scale == "ratio")


def _longer(change: Change, base: Round, changed: Round) -> float | None:
    """Return by which multiple of its time a resource takes longer; of a size, the logarithm of what it is less."""
    match change.scale:
        case "delay":
            own, added = _own_us(change, base), _added_us(change, base, changed)
            return None if not own or added is None else added / own
        case "share":
            took = changed.competitor if changed.competitor is not None else change.size
            # What computes has what is left of the processor.
            return took / (1 - took) if took < 1 else None
        case "ratio":
            return log(change.size)
    return None


def _own_us(change: Change, base: Round) -> float | None:
    """Return what a call takes in the cell as it is, in microseconds, with what is planted."""
    told = part(base.changes, INJECTED[change.resource])
    calls, added = number(told, "calls"), number(told, "added_s") or 0.0
    own_s = None if change.resource in ASSUMED else number(told, "own_s")
    if calls and own_s is not None:
        return (own_s + added) * 1e6 / calls
    return change.own_us


def _added_us(change: Change, base: Round, changed: Round) -> float | None:
    """Return by how much a call took longer than in the cell as it is, as the clock saw it."""
    kind = INJECTED[change.resource]

    def each(of: Round) -> float | None:
        told = part(of.changes, kind)
        calls, added = number(told, "calls"), number(told, "added_s")
        return added * 1e6 / calls if calls and added is not None else None

    more, before = each(changed), each(base)
    return change.size if more is None or before is None else more - before


def _without_the_client(tests: list[_Test]) -> list[_Test]:
    """Take the client's own work, where that was tested, off what all computing decides: the rest is the system's."""
    slopes = {test.resource: test.slope for test in tests if test.kind == "slower" and test.slope is not None}
    client, processors = slopes.get("client"), slopes.get("processors")
    if client is None or processors is None or len(client.values) != len(processors.values):
        return tests
    rest = tuple(all_of - own for all_of, own in zip(processors.values, client.values, strict=True))
    apart = Slope(
        processors.mean - client.mean,
        rest,
        tuple(each - client.mean for each in processors.sizes),
        processors.linear,
        processors.of_base - client.of_base,
        processors.of_sizes + client.of_sizes,
    )
    return [
        replace(test, slope=apart) if test.resource == "processors" and test.kind == "slower" else test
        for test in tests
    ]


def _judged(tests: Sequence[tuple[_Test, Ends]]) -> list[_Judged]:
    """Say what each test shows by its interval.

    A competing program also stops who holds a lock, and who is to hear that a flush has ended, and so costs more than
    it takes. While clients wait for such things they do not compute: what was gained without them leaves so much for
    computing at most. Where a competitor cost more than that, its loss tells nothing.
    """
    words = [(verdict_of_slower if test.kind == "slower" else verdict)(ends) for test, ends in tests]
    waited = [
        ends[0]
        for (test, ends), word in zip(tests, words, strict=True)
        if test.resource in _WAITED_FOR and test.kind == "free" and word in _SHOWN and ends is not None
    ]
    most = 1 - max(waited, default=0.0)
    found: list[_Judged] = []
    for (test, ends), word in zip(tests, words, strict=True):
        competed = test.kind == "slower" and test.changes[0][0].scale == "share"
        more = competed and bool(waited) and ends is not None and ends[0] > most
        found.append((test, ends, "inconclusive" if more else word))
    return found


def _ends(test: _Test, own: _Own) -> Ends:
    if test.kind == "slower":
        return None if test.slope is None else test.slope.interval(own.confidence, own.noise, own.variance)
    if test.best is None:
        return None
    cell, ratio = test.best
    ends = _gained(test, ratio)[1]
    # All that was offered was carried; how much more would be, nothing tells.
    return (ends[0], max(ends[1], 1.0)) if ends is not None and own.may_be_faster(cell) else ends


def _gained(test: _Test, ratio: Ratio) -> tuple[float, Ends]:
    """Return the share of the time that a free resource saved, with its ends.

    One processor more of n frees nobody from computing: of it it is the elasticity, ln rate by ln (n + 1) / n.
    """
    processors = len(test.changes[0][0].processors)
    if not processors:
        return saved(ratio)
    more = log(processors / (processors - 1))
    ends = None if ratio.ends is None else (log(ratio.ends[0]) / more, log(ratio.ends[1]) / more)
    return log(ratio.mean) / more, ends


def _resource(
    resource: Resource,
    judged: Sequence[_Judged],
    own: _Own,
    named: Resource | None,
) -> WhyResource:
    slower = next((each for each in judged if each[0].kind == "slower"), None)
    free = next((each for each in judged if each[0].kind == "free"), None)
    # A gain was seen, and an elasticity tells what small changes do.
    first = free if free is not None and free[0].share is not None else slower
    shown = free is not None and free[2] == "bottleneck"
    if free is not None and slower is not None and not shown and (slower[0].share or 0.0) > (free[0].share or 0.0):
        # What takes a resource away takes only a part of it, as one processor more does.
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
        tests=[_told(each, own) for each in judged],
        untested="",
        inferred=resource == named,
        inferred_right=None,
    )


def _verdict(slower: _Judged | None, free: _Judged | None) -> Verdict:
    """Say what a resource is by both of its tests.

    What one of them shows holds. That a change gained nothing shows little, since it may have freed a part alone; that
    the resource can be slower without an effect shows that it does not matter.
    """
    words = [each[2] for each in (slower, free) if each is not None]
    shown = next((word for word in _SHOWN if word in words), None)
    return shown or words[0]


def _told(judged: _Judged, own: _Own) -> ResourceTest:
    test, ends, word = judged
    return ResourceTest(
        kind="slower" if test.kind == "slower" else "free",
        changes=[_effect(change, cell, own) for change, cell in test.changes],
        share=test.share,
        ci95=None if ends is None else list(ends),
        linear=test.slope is None or test.slope.linear,
        verdict=word,
    )


def _effect(change: Change, cell: Cell, own: _Own) -> ChangeEffect:
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
    rounds, before = done(cell), {each.block: each for each in done(base)}
    if change.scale == "share":
        took = [each.competitor for each in rounds if each.competitor is not None]
        return fmean(took) if took else None
    if change.scale != "delay":
        return None
    kind = INJECTED[change.resource]
    seen = [
        added
        for each in rounds
        if each.block in before
        and number(part(each.changes, kind), "calls")
        and (added := _added_us(change, before[each.block], each)) is not None
    ]
    return fmean(seen) if seen else None


def _name_the_bottleneck(found: list[WhyResource], named: Resource | None, metric: Metric) -> None:
    """Leave the name to the largest of those that may be it, and say whether the report had inferred the right one.

    Where another one is gone and the rate is more than twice as high, computing takes less than half of the time,
    whatever a competing program costs.
    """
    candidates = [each for each in found if each.verdict == "bottleneck"]
    freed = [each for each in candidates if _is_freed(each)]
    if freed:
        candidates = [each for each in candidates if each.resource != "processors" or each in freed]
    # Where arrivals wait for one another, all elasticities are greater.
    total = max(_total(found)[0] or 1.0, 1.0) if metric == "p99" else None
    main = max(candidates, key=lambda each: _weight(each, total), default=None)
    for each in found:
        if each.verdict == "bottleneck" and each is not main:
            each.verdict = "part"
        if each.resource == named:
            each.inferred_right = {"bottleneck": True, "not": False}.get(each.verdict)
            if main is not None and each is not main:
                # Whoever parses computes.
                each.inferred_right = named == "processors" and main.resource == "parsing"


def _weight(each: WhyResource, total: float | None) -> float:
    """Return what a resource is named by: what it gained when it was free, and else its elasticity.

    A call that is slow while a lock is held has an elasticity of its own, and it is the lock that would go. ``total``:
    what elasticities of response times sum to; each is then a part of that, and the larger of both counts.
    """
    free = [test.share for test in each.tests if test.kind == "free" and test.share is not None]
    if total is not None:
        return max([*free, (each.elasticity or 0.0) / total])
    if free and each.resource not in _IN_PART:
        return max(free)
    return max(each.share or 0.0, each.elasticity or 0.0)


def _is_freed(each: WhyResource) -> bool:
    """Whether the rate was more than twice as high without the resource."""
    return any(test.kind == "free" and test.verdict == "bottleneck" for test in each.tests)


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


def _total(found: Sequence[WhyResource]) -> tuple[float | None, float]:
    """Add up elasticities, and give half the interval of the sum. A cache takes no time by itself."""
    own = [each for each in found if each.elasticity is not None and each.resource != "cache"]
    if not own:
        return None, 0.0
    ends = [each.elasticity_ci95 for each in own]
    halves = [(each[1] - each[0]) / 2 if each is not None else float("inf") for each in ends]
    return sum(each.elasticity or 0.0 for each in own), hypot(*halves)
