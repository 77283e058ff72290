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


def advise(fixes: Fixes) -> list[Advice]:
    """Return one row for each fix to take or to consider, one for those without a gain, and one for unsettled ones."""
    named = {fix_effect.fix: fix_effect for fix_effect in fixes.tried}
    best = named.get(fixes.recommended or "")
    dearer = named.get(fixes.at_a_price or "")
    chosen = [fix_effect for fix_effect in (best, dearer) if fix_effect is not None]
    in_best = set() if best is None else {best.fix, *best.members}
    rows = [
        _row("maybe" if fix_effect.serious or fix_effect is dearer else "take", fix_effect, fixes)
        for fix_effect in chosen
    ]
    single = [fix_effect for fix_effect in fixes.tried if not fix_effect.members]
    others = [
        fix_effect
        for fix_effect in single
        if fix_effect.verdict == "helps" and fix_effect not in chosen and fix_effect.fix not in in_best
    ]
    rows += [_row("maybe", fix_effect, fixes) for fix_effect in others]
    if best is not None:
        # Not proven to gain more than the best one.
        more = [
            fix_effect
            for fix_effect in fixes.tried
            if fix_effect.members and fix_effect.verdict == "helps" and fix_effect not in chosen
        ]
        rows += [
            _row("maybe", fix_effect, fixes) for fix_effect in more if (fix_effect.gain or 0.0) > (best.gain or 0.0)
        ]
    rows += _summary("skip", [fix_effect for fix_effect in single if fix_effect.verdict == "no"])
    open_ones = [
        fix_effect for fix_effect in single if fix_effect.verdict == "inconclusive" and fix_effect.fix not in in_best
    ]
    return [*rows, *_summary("open", open_ones)]


def _row(action: Literal["take", "maybe"], fix_effect: FixEffect, fixes: Fixes) -> Advice:
    sign = "x" if fixes.metric == "throughput" else ""
    return Advice(
        action=action,
        change=fix_effect.fix,
        levels={CHANGE: FIX + fix_effect.fix},
        effect=gain_words(fix_effect, fixes) + sign,
        price=", ".join(price_texts(fix_effect)) or "no price",
    )


def _summary(action: Literal["skip", "open"], fixes: Sequence[FixEffect]) -> Iterator[Advice]:
    if not fixes:
        return
    most = max((fix.gain_ci95[1] for fix in fixes if fix.gain_ci95 is not None), default=None)
    yield Advice(
        action=action,
        # Names of fixes contain commas.
        change=shortened_list([fix.fix for fix in fixes], "; "),
        levels={},
        effect="too noisy to tell" if most is None or most > UNKNOWN else f"at most {times(max(most, 1.0))}x",
        price="a longer --budget settles it" if action == "open" else "",
    )
