"""The gate of counts: whether a count is higher than a baseline by more than a margin."""

from dbdyno.cpu.baseline import Changes
from dbdyno.gate import Answer


def judge_counts(found: Changes, margin: float) -> list[tuple[str, Answer, str]]:
    """Judge how a count of instructions changed since a baseline; give name, answer and reason, of all and each part.

    A count has no spread: it is above the margin or not. Other results are a regression whatever they cost.
    """
    judged: list[tuple[str, Answer, str]] = []
    for each in [found.total, *(part for part in found.parts if len(found.parts) > 1)]:
        share = each.share
        change = f"{each.before:,} → {each.after:,} instructions"
        if share is None:
            judged.append((each.name, "inconclusive", f"{change}: there was nothing to compare with"))
        elif share > margin:
            judged.append((each.name, "regression", f"{change}, {share:+.3%}: more than {margin * 100:.3g} % above"))
        else:
            judged.append((each.name, "passed", f"{change}, {share:+.3%}"))
    judged += [("results", "regression", clause) for clause in found.differing]
    return judged
