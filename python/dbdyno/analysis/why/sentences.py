"""The sentences of a `dbdyno why`: what limits the cell, how sure that is, and what was not found."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from dbdyno.analysis.answer.words import served_words
from dbdyno.analysis.measured.metrics import is_open_loop, keeps_up
from dbdyno.analysis.why.metric import falls_words, gain_of, is_overloaded, was_words
from dbdyno.analysis.why.pilot import Pilot
from dbdyno.analysis.why.resource_names import RESOURCE_NAMES
from dbdyno.base.numbers import bracketed, percent
from dbdyno.model.plan.change import Resource
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.why import Why, WhyResource
from dbdyno.stats.elasticity import MAIN

# From which share on what is missing, or counts twice, is worth a sentence.
_MISSING = 0.15


def sentences(why: Why, base: Cell, pilot: Pilot) -> list[str]:
    """Give them; the first is the answer. Of an open loop that is offered too much, it begins with that."""
    overloaded = is_overloaded(base)
    answer = _answer(why, pilot, overloaded=overloaded)
    if is_open_loop(base) and not keeps_up(base):
        word = "cannot be" if overloaded else "was not"
        answer = f"The rate offered {word} carried: {served_words(base)}. {answer}"
    return [answer, *_rest(why, base, answer)]


def _answer(why: Why, pilot: Pilot, *, overloaded: bool) -> str:  # noqa: PLR0911 - the first rule that applies
    main = next((each for each in why.resources if each.verdict == "bottleneck"), None)
    if main is not None:
        of = "" if why.metric == "throughput" else " of the response time"
        return f"{_subject(main, pilot)} is the bottleneck{of}: {_effect(main, why, overloaded=overloaded)}."
    carrying = [each for each in why.resources if each.verdict == "part" and _carried(each)]
    if overloaded and carrying:
        first = carrying[0]
        return f"{_subject(first, pilot)} is a part of what limits it: {_effect(first, why, overloaded=True)}."
    seen = next((each for each in why.resources if pilot.seen(_known(each)) >= MAIN), None)
    if seen is not None:
        share = percent(pilot.seen(_known(seen)))
        time = "the clients' time" if pilot.busy == 1 else "the transactions' time"
        return f"{_subject(seen, pilot)} took {share} of {time} in the pilot; more rounds would prove it."
    time = "the time" if why.metric == "throughput" else f"the p99 response time ({was_words(why)})"
    limits = "limits it" if why.metric == "throughput" else f"decides {time}"
    most = 1.0 if why.metric == "throughput" else inf
    # That a time is a lower bound changes with no number of rounds.
    known = why.metric == "throughput" or not why.p99_is_bound
    more = "More rounds would tell." if known else "Try a lower rate, or more clients."
    some = [each for each in why.resources if each.verdict == "part"]
    # Of the bottleneck none is said yet; those that may be it come first.
    likely = [each for each in some if any(test.ci95 and test.ci95[1] >= MAIN for test in each.tests)]
    if likely:
        parts = " or ".join(f"{each.name} {_share(each, most)}" for each in likely[:3])
        by = "by its share of" if why.metric == "throughput" else "by its effect on"
        return f"Not settled: the bottleneck may be {parts}, {by} {time}. {more}"
    if some:
        parts = " and ".join(f"{each.name} {_share(each, most)}" for each in some[:3])
        return f"No resource by itself is the bottleneck; a part of {time} each: {parts}."
    open_ones = [each for each in why.resources if each.verdict == "inconclusive"]
    tested = [each.name for each in open_ones if not each.untested]
    if tested:
        return f"What {limits} is not settled: {', '.join(tested[:4])} may be it. {more}"
    if open_ones:
        names = " or ".join(each.name for each in open_ones)
        return f"None of the resources that were changed {limits}; {names}, which could not be changed, may."
    return f"None of the resources that were changed {limits}."


def _subject(each: WhyResource, pilot: Pilot) -> str:
    if each.resource == "locks" and pilot.lock_holder:
        return f"A lock that another program holds, {pilot.lock_holder},"
    return RESOURCE_NAMES[_known(each)].subject


def _known(each: WhyResource) -> Resource:
    return next(name for name in RESOURCE_NAMES if name == each.resource)


def _effect(each: WhyResource, why: Why, *, overloaded: bool) -> str:
    """Say what it would gain to be rid of a resource, where that was tried, else what a little less of it does."""
    free = next((test for test in each.tests if test.kind == "free"), None)
    best = None if free is None else max(free.changes, key=lambda one: gain_of(one, why.metric))
    partly = each.share is not None and free is not None and each.share != free.share
    without = _WITHOUT.get(each.resource, "without it")
    if why.metric == "p99":
        if best is not None and best.p99 is not None and not partly:
            return f"{without}, {falls_words(why, best.p99, best.p99_ci95)}"
        less = _LESS.get(each.resource, "1 % less of it makes")
        return f"{less} the p99 response time ({was_words(why)}) {_share(each)} % shorter"
    if best is not None and best.rate is not None and not partly:
        # Of an open loop that is offered too much, more than all of that is not measured.
        if overloaded and not best.p99_is_bound:
            return f"{without}, all of it is carried, {bracketed(best.rate, best.rate_ci95)} times as much"
        return f"{without}, {bracketed(best.rate, best.rate_ci95)} times"
    if each.resource == "processors" and (each.share or 0.0) >= 1:
        # No processor gives more than it is faster by: the competing program cost more than it took.
        return "the whole is as fast as its processors"
    return f"{_LESS.get(each.resource, '1 % less of it makes')} the whole {_share(each)} % faster"


_WITHOUT = {
    "locks": "without them",
    "parsing": "prepared once",
    "thinking": "without it",
    "connect": "were they kept",
    "flush": "without it",
    "processors": "with one processor more",
    "message": "over a Unix socket",
}

_LESS = {
    "processors": "processors that are 1 % faster make",
    "cache": "1 % more of it makes",
}


def _share(each: WhyResource, most: float = inf) -> str:
    """Give a resource's elasticity with its interval. ``most``: 1 where it is told as a share of the time."""
    if each.share is None:
        return "unknown"
    ends = "" if each.ci95 is None else " [{:.2f}, {:.2f}]".format(*(min(end, most) for end in each.ci95))
    return f"{min(each.share, most):.2f}{ends}"


def _rest(why: Why, base: Cell, answer: str) -> Iterator[str]:
    if is_overloaded(base):
        yield from _carrying(why, answer)
    elif why.metric == "p99" and why.p99_is_bound:
        yield "That p99 is a lower bound, so what makes it longer was not judged."
    if why.inferred is not None:
        yield from _of_inferred(why)
    total = why.elasticities
    if total is not None and why.missing is not None and why.metric == "p99":
        yield from _of_times(total)
    elif total is not None and why.missing is not None:
        if why.missing > _MISSING and why.bottleneck is None:
            text = f"The elasticities sum to {total:.2f}: {percent(why.missing)} of the time is in nothing"
            yield f"{text} that was changed, as waiting for one another."
        elif why.missing < -_MISSING:
            yield f"The elasticities sum to {total:.2f}: {_too_much(why, total)}."
    if base.throughput.mean is None:
        yield "The cell as it is gave no throughput."


def _carrying(why: Why, answer: str) -> Iterator[str]:
    """Say with which changes an open loop that is offered too much carries it all, where the answer does not."""
    carried = [change for each in why.resources for change in _carried(each)]
    if not carried:
        yield "No change lets it carry all of that."
    elif len(carried) > 1 or "all of it is carried" not in answer:
        yield f"With {' or '.join(carried)}, all of it is carried."


def _carried(each: WhyResource) -> list[str]:
    """Give the changes of a resource with which an open loop carries all that it is offered."""
    return [one.change for test in each.tests for one in test.changes if not one.p99_is_bound]


def _of_times(total: float) -> Iterator[str]:
    """Say why elasticities of a response time don't sum to 1."""
    if total > 1 + _MISSING:
        yield f"The elasticities sum to {total:.2f}: arrivals wait for one another, so that each counts for more."
    elif total < 1 - _MISSING:
        rest = "the rest of the p99 response time is in nothing that was changed, or in calls that seldom take so long"
        yield f"The elasticities sum to {total:.2f}: {rest}."


def _too_much(why: Why, total: float) -> str:
    """Say why elasticities sum to more than 1."""
    computing = next((each.elasticity for each in why.resources if each.resource == "processors"), None)
    if computing is not None and computing > 1 and total - (computing - 1) <= 1 + _MISSING:
        return "the competing program cost more than it took, as where two processors share a core"
    return "some of it counts twice, as reading from memory computes"


def _of_inferred(why: Why) -> Iterator[str]:
    named = next((each for each in why.resources if each.inferred), None)
    if named is None:
        return
    if named.inferred_right is not None:
        word = "proven" if named.inferred_right else "refuted"
        yield f"That it is {why.inferred}, as a run infers from where time goes, is {word}."
