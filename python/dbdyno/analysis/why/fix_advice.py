"""Advice on fixes: which to take, to consider at their price, and to skip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from dbdyno.analysis.answer.advice import UNKNOWN
from dbdyno.analysis.answer.words import shortened_list
from dbdyno.analysis.why.fix_sentences import gain_words, price_texts
from dbdyno.base.numbers import times
from dbdyno.model.plan.change import CHANGE
from dbdyno.model.plan.fix import FIX
from dbdyno.model.result.effects import Advice
from dbdyno.model.result.fixes import FixEffect, Fixes


def advise(found: Fixes) -> list[Advice]:
    """Return one row for each fix to take or to consider, one for those without a gain, and one for unsettled ones."""
    named = {each.fix: each for each in found.tried}
    best = named.get(found.recommended or "")
    dearer = named.get(found.at_a_price or "")
    chosen = [each for each in (best, dearer) if each is not None]
    in_best = set() if best is None else {best.fix, *best.members}
    rows = [_row("maybe" if each.serious or each is dearer else "take", each, found) for each in chosen]
    single = [each for each in found.tried if not each.members]
    others = [each for each in single if each.verdict == "helps" and each not in chosen and each.fix not in in_best]
    rows += [_row("maybe", each, found) for each in others]
    if best is not None:
        # Not proven to gain more than the best one.
        more = [each for each in found.tried if each.members and each.verdict == "helps" and each not in chosen]
        rows += [_row("maybe", each, found) for each in more if (each.gain or 0.0) > (best.gain or 0.0)]
    rows += _summary("skip", [each for each in single if each.verdict == "no"])
    open_ones = [each for each in single if each.verdict == "inconclusive" and each.fix not in in_best]
    return [*rows, *_summary("open", open_ones)]


def _row(action: Literal["take", "maybe"], each: FixEffect, found: Fixes) -> Advice:
    sign = "x" if found.metric == "throughput" else ""
    return Advice(
        action=action,
        change=each.fix,
        levels={CHANGE: FIX + each.fix},
        effect=gain_words(each, found) + sign,
        price=", ".join(price_texts(each)) or "no price",
    )


def _summary(action: Literal["skip", "open"], fixes: Sequence[FixEffect]) -> Iterator[Advice]:
    if not fixes:
        return
    most = max((each.gain_ci95[1] for each in fixes if each.gain_ci95 is not None), default=None)
    yield Advice(
        action=action,
        # Names of fixes contain commas.
        change=shortened_list([each.fix for each in fixes], "; "),
        levels={},
        effect="too noisy to tell" if most is None or most > UNKNOWN else f"at most {times(max(most, 1.0))}x",
        price="a longer --budget settles it" if action == "open" else "",
    )
