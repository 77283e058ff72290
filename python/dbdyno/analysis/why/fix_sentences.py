"""Sentences about fixes: the recommendation, its price, and the fixes that did not help."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.why.metric import becomes_words, falls_words
from dbdyno.base.numbers import bracketed
from dbdyno.model.result.fixes import FixEffect, Fixes


def fix_sentences(fixes: Fixes) -> list[str]:
    """Return the sentences; the first is the recommendation."""
    return [*_recommendation(fixes), *_other_fixes(fixes)]


def headline(fixes: Fixes) -> str:
    """Return the recommendation, with its price only if that is durability or isolation; for a list of all prices."""
    return next(_recommendation(fixes, only_serious=True))


def _recommendation(fixes: Fixes, *, only_serious: bool = False) -> Iterator[str]:
    named = {fix_effect.fix: fix_effect for fix_effect in fixes.tried}
    if fixes.recommended is None:
        shown = (
            "is proven to help" if any(fix_effect.verdict == "inconclusive" for fix_effect in fixes.tried) else "helps"
        )
        yield f"None of the tried fixes {shown}." if fixes.tried else "No known fix applies."
        return
    best = named[fixes.recommended]
    price = "" if only_serious and not best.serious else price_words(best)
    yield f"Take {best.fix}: {_gain_clause(best, fixes)}{price}."
    if fixes.at_a_price is not None:
        more = named[fixes.at_a_price]
        yield f"{more.fix} gains more, {gain_words(more, fixes)}{_unit(fixes)}{price_words(more)}."


def _other_fixes(fixes: Fixes) -> Iterator[str]:
    no = [
        f"{fix_effect.fix} {gain_words(fix_effect, fixes)}" for fix_effect in fixes.tried if fix_effect.verdict == "no"
    ]
    if no:
        yield f"Doesn't help: {'; '.join(no)}."
    unsettled = [
        f"{fix_effect.fix} {gain_words(fix_effect, fixes)}"
        for fix_effect in fixes.tried
        if fix_effect.verdict == "inconclusive"
    ]
    if unsettled:
        yield f"Not settled: {'; '.join(unsettled)}."
    yield from reasons(fixes)


def reasons(fixes: Fixes) -> Iterator[str]:
    """Yield reservations: members that are not proven to help, disqualified fixes, and fixes that were not tried."""
    verdicts = {fix_effect.fix: fix_effect.verdict for fix_effect in fixes.tried}
    for name in (fixes.recommended, fixes.at_a_price):
        members = next((fix_effect.members for fix_effect in fixes.tried if fix_effect.fix == name), [])
        unproven = [member for member in members if verdicts.get(member) != "helps"]
        if unproven:
            yield f"Not proven to help alone: {', '.join(unproven)}."
    for fix_effect in fixes.tried:
        if fix_effect.verdict == "disqualified":
            yield f"{fix_effect.fix} is disqualified: {fix_effect.reason}."
    if fixes.left_out:
        yield f"Not tried: {', '.join(fixes.left_out)}."


def _gain_clause(fix_effect: FixEffect, fixes: Fixes) -> str:
    if fixes.metric == "throughput" or fix_effect.p99 is None:
        return gain_words(fix_effect, fixes) + _unit(fixes)
    return falls_words(fixes, fix_effect.p99, fix_effect.p99_ci95)


def _unit(fixes: Fixes) -> str:
    return " times" if fixes.metric == "throughput" else ""


def gain_words(fix_effect: FixEffect, fixes: Fixes) -> str:
    """Return a gain with its interval: a ratio of throughputs, or the resulting p99."""
    if fix_effect.gain is None:
        return "unknown"
    if fixes.metric == "throughput" or fix_effect.p99 is None:
        return bracketed(fix_effect.gain, fix_effect.gain_ci95)
    return f"p99 {becomes_words(fixes, fix_effect.p99, fix_effect.p99_ci95)}"


def price_texts(fix_effect: FixEffect) -> list[str]:
    """Return the prices of a fix, clauses, first durability and isolation."""
    documented = {one.kind for one in fix_effect.prices if not one.measured}
    # The documentation of a weaker durability says what the measured class means.
    kept = [
        one for one in fix_effect.prices if not (one.measured and one.kind == "durability" and one.kind in documented)
    ]
    ordered = sorted(kept, key=lambda one: one.kind not in ("durability", "isolation"))
    return list(dict.fromkeys(_words(one.kind, one.text) for one in ordered))


def price_words(fix_effect: FixEffect) -> str:
    """Return the price of a fix as the end of a sentence."""
    texts = price_texts(fix_effect)
    return f"; its price: {', '.join(texts)}" if texts else "; without a known price"


def _words(kind: str, text: str) -> str:
    return text if kind not in ("durability", "isolation") or text.startswith(kind) else f"{kind}: {text}"
