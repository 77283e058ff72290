"""Texts of a result document that all views share: names, bottlenecks, comparisons, failures."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.analysis.measured.cell_groups import varied
from dbdyno.base.numbers import NONE, bracketed, figure, level, milliseconds, percent, rough, short, times
from dbdyno.model.result.cell import Bottleneck, Cell, Latency, LoadMachineRound, Published, Round
from dbdyno.model.result.effects import Advice
from dbdyno.model.result.reading import shown_times
from dbdyno.model.result.shape import Comparison, Document, FailedTrial, Finding
from dbdyno.stats import MAX_ROUNDS

# Below this share the client is clearly not the bottleneck, and one line for all cells is enough.
_CLIENT_NEAR = 0.5
_READS_WORTH_A_COLUMN = 0.01
# Intervals with a larger half-width, relative to the mean, are shown as a factor.
_WIDE = 0.5
# Larger factors mean only that the rounds are too few.
_FAR = 100.0


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence and the cells it holds for."""

    text: str
    cells: list[str]
    advice: str = ""


def advice_words(advice: Advice) -> str:
    """Write a row of the answer as one line, such as ``take wal: 3.50x [2.90, 4.20], no price``."""
    rest = ", ".join(each for each in (advice.effect, advice.price) if each)
    return f"{advice.action} {advice.change}" + (f": {rest}" if rest else "")


def factor_names(document: Document) -> list[str]:
    """Return the factors that distinguish the cells; all factors if there is only one cell."""
    several = varied(document.cells)
    return several or list(dict.fromkeys(name for cell in document.cells for name in cell.factors))


def cell_name(cell: Cell, names: list[str]) -> str:
    """Return a cell by its levels, such as ``cache=shared threads=4``."""
    return " ".join(_factor(cell, name) for name in names if name in cell.factors) or cell.id


def factor_level(name: str, value: str) -> str:
    """Return a factor with its level; for a system only its name."""
    return value if name == "system" else f"{name}={value}"


def _factor(cell: Cell, name: str) -> str:
    return factor_level(name, level(cell.factors.get(name, "")))


def cell_names(document: Document, ids: list[str]) -> str:
    """Return several cells by their levels, in short; ``all cells`` if the document has no others."""
    by_id = {cell.id: cell for cell in document.cells}
    if len(by_id) > 1 and set(ids) >= set(by_id):
        return "all cells"
    factors = factor_names(document)
    chosen = [by_id[each] for each in by_id if each in set(ids)]
    if len(chosen) <= 1 or len(factors) <= 1:
        return ", ".join(cell_name(cell, factors) for cell in chosen)
    # Cells that differ in the last factor only are written together: cache=shared threads=2,4.
    grouped: dict[str, list[str]] = {}
    for cell in chosen:
        stem = " ".join(_factor(cell, name) for name in factors[:-1])
        grouped.setdefault(stem, []).append(level(cell.factors.get(factors[-1])))
    last = "" if factors[-1] == "system" else f"{factors[-1]}="
    return "; ".join(f"{stem} {last}{','.join(levels)}" for stem, levels in grouped.items())


def interval(cell: Cell) -> str:
    """Return half the width of the 95 % interval as a share of the mean, such as ``±1.4 %``.

    An interval with a half-width above 50% is shown as a factor, such as ``factor 2.3``, because it is asymmetric.
    Beyond a factor of 100 it is ``too noisy``.
    """
    mean, ci95 = cell.throughput.mean, cell.throughput.ci95
    if not mean or ci95 is None:
        return NONE
    share = (ci95[1] - ci95[0]) / 2 / mean
    if share <= _WIDE:
        return "±" + percent(share)
    factor = ci95[1] / mean
    return f"factor {times(factor)}" if factor <= _FAR else "too noisy"


def latency(cell: Cell, name: str) -> str:
    """Return a percentile in milliseconds of the response time; in a closed loop that is the service time.

    A lower bound of it is marked ``≥``.
    """
    times = shown_times(cell.latency_ms)
    return milliseconds(None) if times is None else latency_of(times, name)


def latency_of(times: Latency, name: str) -> str:
    """Return a percentile in milliseconds; a lower bound is marked ``≥``."""
    value: float | None = getattr(times, name)
    text = milliseconds(value)
    return f"≥{text}" if name in times.at_least and value is not None else text


def round_value(round_: Round) -> str:
    """Return a round's throughput in short, or the mark of a lost round; outliers are marked with *."""
    return lost_mark(round_) or short(round_.throughput) + ("*" if round_.outlier else "")


def lost_mark(round_: Round) -> str:
    """Return ✗ for a round that failed, - for an interrupted round, otherwise an empty string."""
    return {"failed": "✗", "interrupted": "-"}.get(round_.status, "")


def ceilings(document: Document) -> dict[str, list[float | None]]:
    """Return the shares of ceilings worth a column, a value for each cell.

    ``of syncs``: share of the device's syncs per second; ``of reads``: share of its random reads; ``of client``: share
    of the worker's maximum rate, only if a cell comes close to it.
    """
    shares = [cell.share_of_ceiling for cell in document.cells]
    columns: dict[str, list[float | None]] = {
        "of syncs": [share.device_sync for share in shares],
        "of reads": [share.device_read for share in shares],
        "of client": [share.harness for share in shares],
    }
    least = {"of syncs": 0.0, "of reads": _READS_WORTH_A_COLUMN, "of client": _CLIENT_NEAR}
    return {
        name: values
        for name, values in columns.items()
        if any(value is not None and value >= least[name] for value in values)
    }


def notes_on_measuring(document: Document) -> list[str]:
    """Return notes on the client's share of its ceiling, the interleaving of cells, and the load machines."""
    return [
        note for note in (_client_note(document), _interleaving_note(document), *_load_machine_notes(document)) if note
    ]


def _load_machine_notes(document: Document) -> list[str]:
    """Return each load machine's share of a cell's load, and how synchronously their windows began."""
    notes = []
    factors = factor_names(document)
    for cell in document.cells:
        trials = [round_.load_machines for round_ in cell.rounds if round_.status == "done" and round_.load_machines]
        if not trials:
            continue
        names = list(dict.fromkeys(machine.name for machines in trials for machine in machines))
        shares = [_share_of(name, trials) for name in names]
        began = [machine.began_ms for machines in trials for machine in machines]
        known = [at for at in began if at is not None]
        wrong = max(machine.clock_ms for machines in trials for machine in machines)
        note = f"{len(trials[0])} load machines: {', '.join(shares)}"
        if known:
            note += (
                f"; their windows began {milliseconds(min(known))} to {milliseconds(max(known))} ms after the agreed "
                f"moment, by clocks known to ±{milliseconds(wrong)} ms"
            )
        several = len(document.cells) > 1
        notes.append(note + (f" ({cell_name(cell, factors)})" if several else ""))
    return notes


def _share_of(name: str, trials: list[list[LoadMachineRound]]) -> str:
    """Return a machine's mean rate over its trials, and its share of the load."""
    own = [machine for machines in trials for machine in machines if machine.name == name]
    rates, shares = (
        [machine_round.throughput for machine_round in own],
        [machine_round.share or 0.0 for machine_round in own],
    )
    return f"{name} {figure(sum(rates) / len(rates))}/s ({percent(sum(shares) / len(shares))})"


def _interleaving_note(document: Document) -> str:
    """Return a note on interleaved cells; empty if they were not interleaved."""
    slice_s = document.options.get("slice_s")
    if not isinstance(slice_s, int | float):
        return ""
    return f"interleaved: the cells of a block alternated in time slices of {slice_s * 1e3:g} ms"


def _client_note(document: Document) -> str:
    """Return a note on the client's share of its ceiling; empty if unknown."""
    shares = [share for cell in document.cells if (share := cell.share_of_ceiling.harness) is not None]
    if not shares:
        return ""
    if max(shares) < _CLIENT_NEAR:
        return f"client: not the bottleneck, at most {percent(max(shares))} of its maximum rate with the null engine"
    return f"client: close to its limit, up to {percent(max(shares))} of its maximum rate with the null engine"


def published_value(published: Published | None) -> str:
    """Return a published value; empty without one."""
    return figure(published.get("value")) if published else ""


def published_sources(document: Document) -> list[str]:
    """Return machine and year of the published values, each once; their source if machine and year are unknown."""
    return list(dict.fromkeys(_published_source(cell.published) for cell in document.cells if cell.published))


def published_references(document: Document) -> list[str]:
    """Return the full sources of the published values, each once."""
    lines = (cell.published.get("source", "") for cell in document.cells if cell.published)
    return list(dict.fromkeys(line for line in lines if line))


def _published_source(published: Published) -> str:
    parts = [published.get("machine", ""), str(published.get("year", ""))]
    return ", ".join(part for part in parts if part) or published.get("source", "")


def bottlenecks(document: Document) -> list[Statement]:
    """Return each distinct bottleneck sentence once, with the cells it covers."""
    return _grouped(
        [
            (bottleneck_sentence(cell.bottleneck), cell.bottleneck.advice, cell.id)
            for cell in document.cells
            if cell.bottleneck
        ]
    )


def bottleneck_sentence(bottleneck: Bottleneck) -> str:
    """Return the resource and its evidence, and the number of agreeing rounds unless all agree."""
    evidence = bottleneck.evidence.rstrip(".")
    agreed = "" if bottleneck.rounds == bottleneck.of else f" (in {bottleneck.rounds} of {bottleneck.of} rounds)"
    words = f"{bottleneck.resource}: {evidence}{agreed}" if evidence else f"{bottleneck.resource}{agreed}"
    proof = bottleneck.proven
    if proof is None:
        return f"inferred, {words}"
    verdict = {True: "proven by", False: "refuted by", None: "inconclusive in"}[proof.agrees]
    return f"{verdict} why {proof.run}, {words}"


def warnings(document: Document) -> list[Statement]:
    """Return the findings to show above the numbers: systems that did not do the same work."""
    return [Statement(finding.text, finding.cells) for finding in document.findings if _is_warning(finding)]


def findings(document: Document) -> list[Statement]:
    """Return the other findings with their cells."""
    return [Statement(finding.text, finding.cells) for finding in document.findings if not _is_warning(finding)]


def _is_warning(finding: Finding) -> bool:
    return isinstance(finding.evidence, dict) and "not_comparable" in finding.evidence


def failures(document: Document) -> list[FailedTrial]:
    """Return the trials that failed, without the interrupted ones."""
    return [each for each in document.failed_trials if each.status == "failed"]


def failed_trials(document: Document) -> list[Statement]:
    """Return each distinct cause of a failed trial with its cells; rounds are numbered from 1."""
    by_id = {cell.id: cell for cell in document.cells}
    factors = factor_names(document)
    found: dict[str, list[str]] = {}
    for failed_trial in failures(document):
        name = cell_name(by_id[failed_trial.cell], factors) if failed_trial.cell in by_id else failed_trial.cell
        found.setdefault(failed_trial.error, []).append(f"{name} round {failed_trial.block + 1}")
    return [Statement(error, places) for error, places in found.items()]


def comparison_word(comparison: Comparison, *, advise: bool = True) -> str:
    """Return the verdict; ``not ranked`` if the cells are not comparable.

    With ``advise``, an open verdict is followed by the number of rounds that would settle it.
    """
    word = comparison.verdict or "not ranked"
    if not advise:
        return word
    more = comparison.more_rounds
    if more:
        return f"{word}: {more} more round{'s' if more > 1 else ''}?"
    # More rounds would settle it, but too many to be practical.
    beyond = comparison.verdict == "inconclusive" and comparison.detectable is not None
    return f"{word}: over {MAX_ROUNDS:,} rounds" if beyond else word


def comparison_sees(comparison: Comparison) -> str:
    """Return the smallest change that the same number of equally noisy rounds could detect."""
    seen = comparison.detectable
    if seen is None:
        return NONE
    return "over ±100 %" if seen > 1 else f"±{rough(seen * 100)} %"


def comparison_notes(document: Document) -> list[str]:
    """Return the notes that explain the verdicts."""
    comparisons = document.comparisons
    tested = sum(comparison.ci95 is not None for comparison in comparisons)
    notes = []
    if tested > 1:
        notes.append(f"{tested} comparisons: all intervals hold together with 95 % confidence")
    if tested:
        margin = comparisons[0].margin * 100
        notes.append(f"smallest relevant change: {margin:.3g} %; detectable: the change detected in 80 % of cases")
    if any(comparison.metric != "throughput" for comparison in comparisons):
        notes.append(
            "open loops that keep up are compared by their response time (p99): their throughput is the offered rate"
        )
    notes += dict.fromkeys(f"inconclusive: {comparison.lacking}" for comparison in comparisons if comparison.lacking)
    return notes


def compared_cells(document: Document) -> tuple[list[str], list[list[str]]]:
    """Return the column heads and, for each comparison, the cell. With several baselines, also name the baseline.

    Empty without comparisons.
    """
    names = [[cell_names(document, [comparison.b])] for comparison in document.comparisons]
    bases = list(dict.fromkeys(comparison.a for comparison in document.comparisons))
    if len(bases) <= 1:
        return [f"against {cell_names(document, bases)}" for _ in bases], names
    by_id = {cell.id: cell for cell in document.cells}
    factors = factor_names(document)
    for own, comparison in zip(names, document.comparisons, strict=True):
        a, b = by_id[comparison.a], by_id[comparison.b]
        own.append(cell_name(a, [name for name in factors if a.factors.get(name) != b.factors.get(name)]))
    return ["cell", "against"], names


def comparison_ratio(comparison: Comparison, named: bool = True) -> str:
    """Return the ratio with its interval, such as ``1.92 [1.88, 1.96]``. ``named``: add the name of a time metric.

    A ratio of lower bounds is marked with (?), because the true ratio is unknown.
    """
    if comparison.ratio is None:
        return NONE
    ratio = bracketed(comparison.ratio, None if comparison.lacking else comparison.ci95)
    if named and comparison.metric != "throughput":
        ratio = f"{comparison.metric.replace('_', '.')} {ratio}"
    return f"{ratio} (?)" if comparison.lacking else ratio


def _grouped(statements: list[tuple[str, str, str]]) -> list[Statement]:
    grouped: dict[tuple[str, str], list[str]] = {}
    for text, advice, cell in statements:
        grouped.setdefault((text, advice), []).append(cell)
    return [Statement(text, cells, advice) for (text, advice), cells in grouped.items()]
