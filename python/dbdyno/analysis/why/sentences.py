"""Sentences of `dbdyno why`: the bottleneck, its certainty, and the time without an explanation."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from dbdyno.analysis.answer.words import served_words
from dbdyno.analysis.bottleneck.common import MORE_LOAD
from dbdyno.analysis.measured.metrics import is_open_loop, keeps_up
from dbdyno.analysis.why.inference import resource_of
from dbdyno.analysis.why.metric import falls_words, gain_of, is_overloaded, was_words
from dbdyno.analysis.why.pilot import Pilot
from dbdyno.analysis.why.resource_names import RESOURCE_NAMES
from dbdyno.base.numbers import bracketed, percent
from dbdyno.model.plan.change import Resource
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.why import Why, WhyResource
from dbdyno.stats.elasticity import MAIN

# Smallest share of unexplained or doubly counted time that is reported.
_MISSING = 0.15

_MORE_LOAD = f"To raise the load, {MORE_LOAD}."


def sentences(why: Why, base: Cell, pilot: Pilot) -> list[str]:
    """Return the sentences; the first is the answer, which begins with the offered rate if it wasn't served."""
    overloaded = is_overloaded(base)
    answer = _answer(why, pilot, overloaded=overloaded)
    if is_open_loop(base) and not keeps_up(base):
        word = "cannot" if overloaded else "did not"
        answer = f"The system {word} serve the offered rate: {served_words(base)}. {answer}"
    return [answer, *_further_sentences(why, base, answer)]


def inferred_sentences(why: Why, base: Cell) -> list[str]:
    """Return the bottleneck of a run that changes no resource, as its report infers it."""
    resource = resource_of(why.inferred, why.metric)
    if resource is None:
        return ["The time spent doesn't show the bottleneck."]
    if resource == "thinking" and base.bottleneck is not None:
        pauses = f"The clients' pauses limit the load, so no fix can raise it much: {base.bottleneck.evidence}."
        return [pauses, _MORE_LOAD]
    return [f"Judged by the time spent, {why.inferred} limits it."]


def _answer(why: Why, pilot: Pilot, *, overloaded: bool) -> str:  # noqa: PLR0911 - the first rule that applies
    main = next((resource for resource in why.resources if resource.verdict == "bottleneck"), None)
    if main is not None:
        of = "" if why.metric == "throughput" else " of the response time"
        return f"{_subject(main, pilot)} is the bottleneck{of}: {_effect(main, why, overloaded=overloaded)}."
    carrying = [
        resource for resource in why.resources if resource.verdict == "part" and _changes_that_keep_up(resource)
    ]
    if overloaded and carrying:
        first = carrying[0]
        return f"{_subject(first, pilot)} is one of several limits: {_effect(first, why, overloaded=True)}."
    seen = next((resource for resource in why.resources if pilot.seen(_known(resource)) >= MAIN), None)
    if seen is not None:
        share = percent(pilot.seen(_known(seen)))
        time = "the clients' time" if pilot.busy == 1 else "the transactions' time"
        return f"{_subject(seen, pilot)} took {share} of {time} in the pilot; more rounds would confirm this."
    time = "the time" if why.metric == "throughput" else f"the p99 response time ({was_words(why)})"
    of = "" if why.metric == "throughput" else f" of {time}"
    limits = "limits it" if why.metric == "throughput" else f"affects {time}"
    most = 1.0 if why.metric == "throughput" else inf
    # More rounds don't turn a lower bound into a value.
    known = why.metric == "throughput" or not why.p99_is_bound
    more = "More rounds would settle it." if known else "Try a lower rate, or more clients."
    some = [resource for resource in why.resources if resource.verdict == "part"]
    # Without a proven bottleneck, name the resources that may be the bottleneck.
    likely = [resource for resource in some if any(test.ci95 and test.ci95[1] >= MAIN for test in resource.tests)]
    if likely:
        parts = " or ".join(f"{resource.name} {_share(resource, most)}" for resource in likely[:3])
        by = "by its share of" if why.metric == "throughput" else "by its effect on"
        return f"Not settled: the bottleneck may be {parts}, {by} {time}. {more}"
    if some:
        parts = " and ".join(f"{resource.name} {_share(resource, most)}" for resource in some[:3])
        return f"No single resource is the bottleneck; each takes part of {time}: {parts}."
    open_ones = [resource for resource in why.resources if resource.verdict == "inconclusive"]
    tested = [resource.name for resource in open_ones if not resource.untested]
    if tested:
        return f"The bottleneck{of} is not settled: it may be {' or '.join(tested[:4])}. {more}"
    if open_ones:
        names = " or ".join(resource.name for resource in open_ones)
        return f"None of the changed resources {limits}; {names} could not be changed and may be the bottleneck."
    return f"None of the changed resources {limits}."


def _subject(resource: WhyResource, pilot: Pilot) -> str:
    if resource.resource == "locks" and pilot.lock_holder:
        return f"A lock that another program holds, {pilot.lock_holder},"
    return RESOURCE_NAMES[_known(resource)].subject


def _known(resource: WhyResource) -> Resource:
    return next(name for name in RESOURCE_NAMES if name == resource.resource)


def _effect(resource: WhyResource, why: Why, *, overloaded: bool) -> str:
    """Return a clause about the gain without a resource if that was tried, otherwise about 1 % less of it."""
    free = next((test for test in resource.tests if test.kind == "free"), None)
    best = None if free is None else max(free.changes, key=lambda one: gain_of(one, why.metric))
    partly = resource.share is not None and free is not None and resource.share != free.share
    without = _WITHOUT.get(resource.resource, "without it")
    if why.metric == "p99":
        if best is not None and best.p99 is not None and not partly:
            return f"{without}, {falls_words(why, best.p99, best.p99_ci95)}"
        less = _LESS.get(resource.resource, "1 % less of it makes")
        return f"{less} the p99 response time ({was_words(why)}) {_share(resource)} % shorter"
    if best is not None and best.rate is not None and not partly:
        # The gain of an overloaded open loop can't exceed the offered load.
        if overloaded and not best.p99_is_bound:
            return f"{without}, all of it is served, {bracketed(best.rate, best.rate_ci95)} times as much"
        return f"{without}, throughput would be {bracketed(best.rate, best.rate_ci95)} times as high"
    if resource.resource == "processors" and (resource.share or 0.0) >= 1:
        # A faster CPU can't gain more than its own speedup: the competing program cost more than its CPU time.
        return "throughput is proportional to the speed of the CPUs"
    return f"{_LESS.get(resource.resource, '1 % less of it makes')} throughput {_share(resource)} % higher"


_WITHOUT = {
    "locks": "without it",
    "parsing": "with statements prepared once",
    "thinking": "without it",
    "connect": "with kept connections",
    "flush": "without it",
    "processors": "with one more CPU",
    "message": "over a Unix socket",
}

_LESS = {
    "processors": "CPUs that are 1 % faster make",
    "cache": "a 1 % larger cache makes",
}


def _share(resource: WhyResource, most: float = inf) -> str:
    """Return a resource's elasticity with its interval. ``most``: upper limit, 1 for fractions of the time."""
    if resource.share is None:
        return "unknown"
    ends = "" if resource.ci95 is None else " [{:.2f}, {:.2f}]".format(*(min(end, most) for end in resource.ci95))
    return f"{min(resource.share, most):.2f}{ends}"


def _further_sentences(why: Why, base: Cell, answer: str) -> Iterator[str]:
    if why.bottleneck == "thinking":
        yield _MORE_LOAD
    if is_overloaded(base):
        yield from _overload(why, answer)
    elif why.metric == "p99" and why.p99_is_bound:
        yield "The p99 is a lower bound, so its elasticities are unknown."
    if why.inferred is not None:
        yield from _inference(why)
    total = why.elasticities
    if total is not None and why.missing is not None and why.metric == "p99":
        yield from _response_time_sum(total)
    elif total is not None and why.missing is not None:
        if why.missing > _MISSING and why.bottleneck is None:
            text = f"The elasticities sum to {total:.2f}, so {percent(why.missing)} of the time went into something"
            yield f"{text} that `why` didn't change, such as clients waiting for each other."
        elif why.missing < -_MISSING:
            yield f"The elasticities sum to {total:.2f}: {_double_counting(why, total)}."
    if base.throughput.mean is None:
        yield "The throughput of the unchanged cell is unknown."


def _overload(why: Why, answer: str) -> Iterator[str]:
    """Name the changes with which an overloaded open loop keeps up, unless the answer does."""
    carried = [change for resource in why.resources for change in _changes_that_keep_up(resource)]
    if not carried:
        yield "No change lets it serve all of that."
    elif len(carried) > 1 or "all of it is served" not in answer:
        yield f"With {' or '.join(carried)}, all of it is served."


def _changes_that_keep_up(resource: WhyResource) -> list[str]:
    """Return the changes of a resource with which an open loop serves the offered load."""
    return [one.change for test in resource.tests for one in test.changes if not one.p99_is_bound]


def _response_time_sum(total: float) -> Iterator[str]:
    """Explain why the elasticities of a response time don't sum to 1."""
    if total > 1 + _MISSING:
        yield f"The elasticities sum to {total:.2f}: arrivals wait for each other, which increases each elasticity."
    elif total < 1 - _MISSING:
        rest = "the p99 response time also depends on something that wasn't changed, or on rare slow calls"
        yield f"The elasticities sum to {total:.2f}: {rest}."


def _double_counting(why: Why, total: float) -> str:
    """Explain why the elasticities sum to more than 1."""
    computing = next((resource.elasticity for resource in why.resources if resource.resource == "processors"), None)
    if computing is not None and computing > 1 and total - (computing - 1) <= 1 + _MISSING:
        return "the competing program cost more than its CPU time, which happens if two CPUs share a core"
    return "some time counts twice; for example, reading from memory also uses the CPU"


def _inference(why: Why) -> Iterator[str]:
    named = next((resource for resource in why.resources if resource.inferred), None)
    if named is None:
        return
    if named.inferred_right is not None:
        word = "confirms" if named.inferred_right else "refutes"
        yield f"This {word} the bottleneck inferred by the run: {why.inferred}."
