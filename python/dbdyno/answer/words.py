"""The sentences of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from dbdyno.answer.by_effects import ByEffects
from dbdyno.answer.configurations import Configuration, Levels, Ranking, Standing, behind
from dbdyno.answer.short import STATEMENT, named
from dbdyno.document.cell import Cell
from dbdyno.document.effects import Effect
from dbdyno.document.reading import JsonObject, number
from dbdyno.numbers import bracketed, figure, milliseconds, percent, rough
from dbdyno.results.judging import Pair, failures_differ, ratios_of
from dbdyno.results.metrics import failing
from dbdyno.stats import Decision, Ratio, decide, inverse

_TIMES = "\N{MULTIPLICATION SIGN}"


# So many loads are told one by one.
_FEW_LOADS = 4
# Half the width of an interval, as a share of the mean, from which it is told by its ends.
_WIDE = 0.5


def ratio_words(ratio: Ratio | None) -> str:
    """Write a ratio with its interval, as ``5.3 [4.9, 5.7]``."""
    if ratio is None:
        return "an unknown number of"
    return bracketed(ratio.mean, ratio.ends) + (" (one round)" if ratio.count < 2 else "")


def rate_words(cell: Cell) -> str:
    """Write a cell's throughput with how sure it is, as ``8,568 lookups/s (±1.4 %)``."""
    throughput = cell["throughput"]
    words = f"{figure(throughput['mean'])} {throughput['unit']}"
    mean, ci95 = throughput["mean"], throughput["ci95"]
    if ci95 is None or not mean:
        return f"{words} (one round)" if len(cell["rounds"]) < 2 else words
    share = (ci95[1] - ci95[0]) / 2 / mean
    if share > _WIDE:
        return f"{words} ({figure(ci95[0])} to {figure(ci95[1])})"
    return f"{words} (±{percent(share)})"


def of_loads(cells: Sequence[Cell], loads: Sequence[Levels], systems: Mapping[str, str]) -> list[str]:
    """Say what was measured where there is nothing to choose: the figure, or its greatest and its least."""
    by_rate = sorted(cells, key=lambda cell: cell["throughput"]["mean"] or 0.0)
    worst, best = by_rate[0], by_rate[-1]
    if len(cells) == 1:
        answers = best["latency_ms"].get("response") or best["latency_ms"].get("service")
        p99 = f", p99 {milliseconds(answers['p99'])} ms" if answers and answers["p99"] is not None else ""
        return [f"{rate_words(best)}{p99}."]
    names = [name for name, _ in loads[0]] if loads else []
    where = [named({name: cell["factors"].get(name) for name in names}, systems) for cell in (best, worst)]
    return [f"From {rate_words(worst)} at {where[1]} to {rate_words(best)} at {where[0]}."]


def of_missing(measured: Sequence[Cell], cells: Sequence[Cell], systems: Mapping[str, str]) -> list[str]:
    """Say of which cells the answer is, where others gave no result and nothing can be compared."""
    if len(measured) == len(cells):
        return []
    names = [named(cell["factors"], systems) or cell["id"] for cell in measured]
    return [f"That is of {_some(names)}: {len(measured)} of {len(cells)} cells gave a result."]


def of_chain(cells: Sequence[Cell], axis: str, confidence: float, family: int) -> list[str]:
    """Say what each change of a chain did to the one before, and which make transactions fail."""
    said = []
    steps = list(pairwise(cells))
    ratios = ratios_of([Pair(*step, metric="throughput", confidence=confidence) for step in steps], cells)
    for (before, cell), decision in zip(steps, decide(ratios, family=family), strict=True):
        words = f"{cell['factors'][axis]} {_TIMES}{ratio_words(decision.ratio)}"
        shares = [failing(each) for each in (before, cell)]
        if failures_differ(before, cell):
            words += f", {percent(shares[1])} of transactions fail and not {percent(shares[0])}"
        said.append(words)
    return [f"Beginning with {rate_words(cells[0])} at {cells[0]['factors'][axis]}, each change: {'; '.join(said)}."]


def of_screening(effects: Sequence[Effect], part: JsonObject, systems: Mapping[str, str], command: str) -> list[str]:
    """Say which levels are ahead by their effects, of what part of the design, and how to measure them whole.

    ``effects``: of the choices on throughput.
    """
    ahead = [each for each in effects if each["verdict"] == "faster"]
    ahead.sort(key=lambda each: -(each["ratio"] or 0.0))
    said = [_one_ahead(each, systems) for each in ahead]
    first = (
        f"Ahead by their effects: {'; '.join(said)}." if said else "No choice is shown to be ahead of the first one."
    )
    measured = f"{part.get('cells')} of {part.get('of')} cells were measured: what combinations do is not known."
    return [first, f"{measured} To measure what is ahead whole: {command}"]


def _one_ahead(effect: Effect, systems: Mapping[str, str]) -> str:
    name = named({effect["factor"]: effect["level"]}, systems)
    words = f"{name} {bracketed(effect['ratio'] or 0.0, effect['ci95'])} times"
    durability = durability_words(effect)
    words += f", {durability}" if durability else ""
    if effect["failed"] and effect["failed"][1] > effect["failed"][0]:
        words += f", {percent(effect['failed'][1])} failures"
    return words


def durability_words(effect: Effect) -> str:
    """Say to which class of durability a level leads, from which, and in how many pairs if not in all; else nothing."""
    if effect["durability"] is None:
        return ""
    before, after = effect["durability"]
    pairs, of = effect["durability_in"], len(effect["cells"])
    return f"{after} and not {before}" + (f" in {pairs} of {of} pairs" if pairs < of else "")


def of_times(cells: Sequence[Cell]) -> list[str]:
    """Say which of several statements takes most of the time of running each once."""
    times = {cell["id"]: time_of(cell) for cell in cells}
    total = sum(each or 0.0 for each in times.values())
    if not total:
        return []
    longest = max(cells, key=lambda cell: times[cell["id"]] or 0.0)
    most, ci95 = times[longest["id"]] or 0.0, interval_of(longest)
    span = f" [{milliseconds(ci95[0])}, {milliseconds(ci95[1])}]" if ci95 else ""
    name = str(longest["factors"].get(STATEMENT, longest["id"]))
    if len(cells) == 1:
        return [f"{name} takes {milliseconds(most)}{span} ms."]
    rest = f"{percent(most / total)} of the {milliseconds(total)} ms that all {len(cells)} take together"
    return [f"{name} takes {milliseconds(most)}{span} ms: {rest}, each run once."]


def time_of(cell: Cell) -> float | None:
    """Give the milliseconds that one execution takes of a client."""
    mean = cell["throughput"]["mean"]
    return 1e3 * _clients(cell) / mean if mean else None


def interval_of(cell: Cell) -> tuple[float, float] | None:
    """Give the 95 % interval of that."""
    ci95 = cell["throughput"]["ci95"]
    if not ci95 or ci95[0] <= 0:
        return None
    return 1e3 * _clients(cell) / ci95[1], 1e3 * _clients(cell) / ci95[0]


def _clients(cell: Cell) -> float:
    return next((number(each["window"], "clients") for each in cell["rounds"]), None) or 1.0


def answer(ranking: Ranking, systems: Mapping[str, str], margin: float, shown: ByEffects | None = None) -> list[str]:
    """Say which configuration is ahead and by how much, at which loads, and what a faster one would cost.

    ``shown``: the one that is ahead by its effects, where none is by itself.
    """
    first, best = ranking.first, ranking.best
    others, aside = ranking.configurations[1:], ranking.set_aside
    said = [] if aside is None else [failing_words(aside, first) + "."]
    if list(others) == [aside]:
        return said
    if len(others) == 1:
        said.append(_two(first, others[0], systems, ranking.metric, margin))
    elif best is first:
        said += [_none_ahead(ranking, margin)] if shown is None else _by_effects(shown, ranking, systems)
    else:
        said.append(_ahead(ranking, systems))
    said += _priced(ranking, best)
    return [each for each in said if each]


def failing_words(aside: Configuration, first: Configuration) -> str:
    """Say of which share of its transactions the run's first configuration fails, and of which the one in its place."""
    own = percent(first.failed) if first.failed else "none"
    return f"{percent(aside.failed)} of the transactions of {aside.name} fail, and of {first.name} {own}"


def _two(first: Configuration, other: Configuration, systems: Mapping[str, str], metric: str, margin: float) -> str:
    """Say how two stand to each other, at each load where that differs."""
    if other.not_ranked:
        return f"{other.name} and {first.name} did not do the same work: {other.not_ranked}."
    standings = other.at
    verdicts = {each.decision.verdict for each in standings}
    if len(standings) == 1 or verdicts == {"inconclusive"} or (len(verdicts) == 1 and _alike(standings)):
        return _sentence(first, other, other.against, other.decision, metric, margin) + _price_words(other)
    ahead = [each for each in standings if each.decision.verdict == "faster"]
    slower = [each for each in standings if each.decision.verdict == "slower"]
    same = [each for each in standings if each.decision.verdict == "equivalent"]
    is_open = [each for each in standings if each.decision.verdict == "inconclusive"]
    parts = []
    if ahead:
        parts.append(f"{other.name} is faster than {first.name}: {_listed(ahead, systems)}")
    if slower:
        inverted = [_inverted(each) for each in slower]
        parts.append(f"{first.name} is faster than {other.name}: {_listed(inverted, systems)}")
    if same:
        parts.append(f"they are the same within {percent(margin)} {_places(same, systems)}")
    if is_open:
        parts.append(f"neither is shown to be ahead {_places(is_open, systems)}")
    text = "; ".join(parts) + _price_words(other) + "."
    return text[0].upper() + text[1:] if not ahead and not slower else text


def _sentence(
    first: Configuration,
    other: Configuration,
    ratio: Ratio | None,
    decision: Decision | None,
    metric: str,
    margin: float,
) -> str:
    verdict = "inconclusive" if decision is None else decision.verdict
    how = "as fast as" if metric == "throughput" else f"as quick ({metric}) as"
    if ratio is None:
        return f"How {other.name} stands to {first.name} is not known."
    if verdict == "faster":
        return f"{other.name} is {ratio_words(ratio)} times {how} {first.name}."
    if verdict == "slower":
        return f"{first.name} is {ratio_words(_reciprocal(ratio))} times {how} {other.name}."
    if verdict == "equivalent":
        return f"{other.name} and {first.name} are the same within {percent(margin)}: {ratio_words(ratio)} times."
    return (
        f"{other.name} is {ratio_words(ratio)} times {how} {first.name}, which is not settled{_what_settles(decision)}."
    )


def _what_settles(decision: Decision | None) -> str:
    """Say how many rounds would settle it, or what would have been seen."""
    if decision is None:
        return ""
    more = decision.more_rounds
    if more:
        return f": {more} more round{'s' if more > 1 else ''} probably would"
    seen = decision.detectable
    return "" if seen is None else f": a difference of {rough(seen * 100)} % would have been seen"


def _alike(standings: Sequence[Standing]) -> bool:
    """Whether all intervals have a value in common, so that one figure holds for all."""
    known = [each.ratio for each in standings if each.ratio is not None]
    ends = [(each.low, each.high) for each in known if each.low is not None and each.high is not None]
    return len(ends) == len(standings) and max(low for low, _ in ends) <= min(high for _, high in ends)


def _listed(standings: Sequence[Standing], systems: Mapping[str, str]) -> str:
    """Write where, and by how many times: each where they are few, else the least and the greatest."""
    known = [each for each in standings if each.ratio is not None]
    if len(known) > _FEW_LOADS:
        ordered = sorted(known, key=lambda each: each.ratio.mean if each.ratio else 0.0)
        known = [ordered[0], ordered[-1]]
        count = f"from {ratio_words(known[0].ratio)} times at {_load(known[0], systems)} "
        return f"{count}to {ratio_words(known[1].ratio)} at {_load(known[1], systems)} ({len(standings)} loads)"
    told = [f"{ratio_words(each.ratio)} times at {_load(each, systems)}" for each in known[:1]]
    return ", ".join(told + [f"{ratio_words(each.ratio)} at {_load(each, systems)}" for each in known[1:]])


def _places(standings: Sequence[Standing], systems: Mapping[str, str]) -> str:
    if len(standings) > _FEW_LOADS:
        return f"at {len(standings)} loads"
    return "at " + ", ".join(_load(each, systems) for each in standings)


def _load(standing: Standing, systems: Mapping[str, str]) -> str:
    return named(dict(standing.load), systems) or "the load"


def _inverted(standing: Standing) -> Standing:
    ratio = standing.ratio
    return Standing(standing.load, None if ratio is None else _reciprocal(ratio), standing.decision, standing.metric)


def _reciprocal(ratio: Ratio) -> Ratio:
    return inverse(ratio)


def _price_words(other: Configuration) -> str:
    """Say what one costs or saves that the other does not, at the end of a sentence."""
    parts = [f"{other.name} {each}" for each in (*other.price, *other.gain)]
    return f" ({'; '.join(parts)})" if parts else ""


def _ahead(ranking: Ranking, systems: Mapping[str, str]) -> str:
    best, first = ranking.best, ranking.first
    how = "as fast as" if ranking.metric == "throughput" else f"as quick ({ranking.metric}) as"
    text = f"{best.name} is {ratio_words(best.against)} times {how} {first.name}"
    rivals = [each for each in ranking.free if each is not best and each is not first and not behind(each, best)]
    several = len(ranking.loads) > 1
    slower = [each for each in best.at if each.decision.verdict == "slower"]
    if several:
        text += ", over all loads" if not slower else f", but slower {_places(slower, systems)}"
    # Those that it is taken before for their failures alone.
    unclean = [each for each in rivals if each.failed and not best.failed and each.factor > best.factor]
    level = [each for each in rivals if each not in unclean]
    if unclean:
        top = max(unclean, key=lambda each: each.factor)
        text += f"; {top.name} is not shown to be faster, and {percent(top.failed)} of its transactions fail"
    if level:
        text += f"; not shown to be ahead of {_some([each.name for each in level])}"
    if not rivals:
        text += ", and ahead of all others that cost no more"
    gains = [*best.gain]
    return text + (f" ({best.name} {'; '.join(gains)})" if gains else "") + "."


def _none_ahead(ranking: Ranking, margin: float) -> str:
    free = [each for each in ranking.free if each is not ranking.first]
    if not free:
        apart = [each for each in ranking.configurations[1:] if each.not_ranked]
        if len(apart) == len(ranking.configurations) - 1:
            return f"No other can be held against {ranking.first.name}: {apart[0].not_ranked} ({apart[0].name})."
        return f"{ranking.first.name} is the only configuration without a price."
    slower = [each for each in free if each.decision is not None and each.decision.verdict == "slower"]
    if len(slower) == len(free):
        nearest = max(free, key=lambda each: each.factor)
        ratio = None if nearest.against is None else _reciprocal(nearest.against)
        return f"{ranking.first.name} is the fastest: {ratio_words(ratio)} times the next, {nearest.name}."
    same = [each for each in free if each.decision is not None and each.decision.verdict == "equivalent"]
    if len(same) == len(free):
        return f"None differs from {ranking.first.name} by more than {percent(margin)}."
    top = max(free, key=lambda each: each.factor)
    priced = any(each.price and each.faster for each in ranking.configurations)
    whom = f"None{' without a price' if priced else ''} is shown to be faster than {ranking.first.name}"
    ahead = any(each.price and each.factor > top.factor for each in ranking.configurations)
    of_these = "the fastest of these" if ahead else "the fastest"
    whom = f"None without a price is shown to be faster than {ranking.first.name}" if ahead else whom
    fastest = f"{of_these}, {top.name}, is {ratio_words(top.against)} times"
    return f"{whom}: {fastest}, which is not settled{_what_settles(top.decision)}."


def effect_words(shown: ByEffects, systems: Mapping[str, str]) -> str:
    """Write what each level of a configuration does over all else."""
    told = [
        f"{named({each['factor']: each['level']}, systems)} {_TIMES}{bracketed(each['ratio'] or 0.0, each['ci95'])}"
        for each in shown.effects
    ]
    return ", ".join(told)


def _by_effects(shown: ByEffects, ranking: Ranking, systems: Mapping[str, str]) -> list[str]:
    """Say what is ahead over all else, and how far the cells by themselves do not settle it."""
    ahead = f"Over all other choices, {effect_words(shown, systems)} is shown to be faster."
    top = max((each for each in ranking.free if each is not ranking.first), key=lambda each: each.factor)
    against = f"{ratio_words(top.against)} times {ranking.first.name}"
    own = f"Of single configurations that cost no more none is: the fastest, {top.name}, is {against}"
    return [ahead, f"{own}, which is not settled{_what_settles(top.decision)}."]


def _priced(ranking: Ranking, best: Configuration) -> list[str]:
    """Name the fastest configuration that has a price, with it, where it is shown to be faster than the one to take."""
    if len(ranking.configurations) < 3:
        return []
    # Against the first one itself, to be faster is enough.
    ahead = [each for each in ranking.configurations if best is ranking.first or behind(best, each)]
    priced = [each for each in ahead if each.price and each.faster]
    if not priced:
        return []
    top = max(priced, key=lambda each: each.factor)
    return [f"{top.name} is {ratio_words(top.against)} times, but {' and '.join(top.price)}."]


def _some(names: Sequence[str], most: int = 2) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} others" if rest > 1 else " and 1 other" if rest == 1 else "")
