"""The gate of counts: whether a count is higher than a baseline by more than a margin."""

from dbdyno.analysis.gate import Judgement
from dbdyno.cpu.baseline import Changes


def judge_counts(found: Changes, margin: float) -> list[tuple[str, Judgement]]:
    """Judge how a count of instructions changed since a baseline; give the name and the verdict, of all and each part.

    A count has no spread: it is above the margin or not. Other results are a regression whatever they cost.
    """
    judged: list[tuple[str, Judgement]] = []
    for each in [found.total, *(part for part in found.parts if len(found.parts) > 1)]:
        share = each.share
        change = f"{each.before:,} → {each.after:,} instructions"
        if share is None:
            judged.append((each.name, Judgement("not settled", f"{change}: there was nothing to compare with")))
        elif share > margin:
            reason = f"{change}, {share:+.3%}: more than {margin * 100:.3g} % above"
            judged.append((each.name, Judgement("regression", reason)))
        else:
            judged.append((each.name, Judgement("pass", f"{change}, {share:+.3%}")))
    judged += [("results", Judgement("regression", clause)) for clause in found.differing]
    return judged
