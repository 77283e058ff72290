"""The sentences of what fixes did: what to take, at what price, and what did not help."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.why.metric import becomes_words, falls_words
from dbdyno.base.numbers import bracketed
from dbdyno.model.result.fixes import FixEffect, Fixes


def fix_sentences(found: Fixes) -> list[str]:
    """Give them; the first says what to do."""
    return [*_to_take(found), *_the_rest(found)]


def _to_take(found: Fixes) -> Iterator[str]:
    named = {each.fix: each for each in found.tried}
    if found.recommended is None:
        shown = "is shown to help" if any(each.verdict == "inconclusive" for each in found.tried) else "helps"
        yield f"None of the fixes that were tried {shown}." if found.tried else "No fix is known that applies."
        return
    best = named[found.recommended]
    yield f"Take {best.fix}: {_gain(best, found)}{price_words(best)}."
    if found.at_a_price is not None:
        more = named[found.at_a_price]
        yield f"{more.fix} gains more, {gain_words(more, found)}{_unit(found)}{price_words(more)}."


def _the_rest(found: Fixes) -> Iterator[str]:
    no = [f"{each.fix} {gain_words(each, found)}" for each in found.tried if each.verdict == "no"]
    if no:
        yield f"No help: {'; '.join(no)}."
    unsettled = [f"{each.fix} {gain_words(each, found)}" for each in found.tried if each.verdict == "inconclusive"]
    if unsettled:
        yield f"Not settled: {'; '.join(unsettled)}."
    for each in found.tried:
        if each.verdict == "disqualified":
            yield f"{each.fix} is no fix: {each.reason}."
    if found.left_out:
        yield f"Not tried: {', '.join(found.left_out)}."


def _gain(each: FixEffect, found: Fixes) -> str:
    """Write a gain as a clause."""
    if found.metric == "throughput" or each.p99 is None:
        return gain_words(each, found) + _unit(found)
    return falls_words(found, each.p99, each.p99_ci95)


def _unit(found: Fixes) -> str:
    return " times" if found.metric == "throughput" else ""


def gain_words(each: FixEffect, found: Fixes) -> str:
    """Write a gain with its interval: a ratio of throughputs, or the p99 that it leads to."""
    if each.gain is None:
        return "unknown"
    if found.metric == "throughput" or each.p99 is None:
        return bracketed(each.gain, each.gain_ci95)
    return f"p99 {becomes_words(found, each.p99, each.p99_ci95)}"


def price_words(each: FixEffect) -> str:
    """Write what a fix costs, as it ends a sentence: those prices first that change what may be relied on."""
    ordered = sorted(each.prices, key=lambda one: one.kind not in ("durability", "isolation"))
    texts = list(dict.fromkeys(_words(one.kind, one.text) for one in ordered))
    return f"; its price: {', '.join(texts)}" if texts else "; it costs nothing that is known"


def _words(kind: str, text: str) -> str:
    return text if kind not in ("durability", "isolation") or text.startswith(kind) else f"{kind}: {text}"
