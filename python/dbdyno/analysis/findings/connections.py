"""Connections: cost of connecting, name resolution, accept queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.analysis.answer.short import short_systems
from dbdyno.analysis.bottleneck.tiers import tier_of
from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.analysis.findings.words import all_of
from dbdyno.analysis.measured.cell_groups import varied, words_of
from dbdyno.analysis.measured.comparisons import noise_of_cells, why_not_comparable
from dbdyno.analysis.measured.effects import contrast_of
from dbdyno.analysis.measured.metrics import unit_seconds, usual_metric
from dbdyno.base.numbers import percent, rough
from dbdyno.engines import engine_of_product, known_engine
from dbdyno.model.plan.tasks import TrialTask
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import JsonObject, number, objects, part, text
from dbdyno.model.result.shape import Finding
from dbdyno.stats import Ratio
from dbdyno.stats.effects import pooled
from dbdyno.stats.intervals import Noise


@dataclass(frozen=True, slots=True)
class _Connecting:
    """Time spent on connecting in a cell with a connection per transaction.

    ``share``: of the clients' time in all rounds; ``each_ms``: milliseconds per connection.
    """

    cell: Cell
    share: float
    each_ms: float


def connect_findings(
    cells: Sequence[Cell], factors: Mapping[str, Sequence[object]], tasks: Mapping[str, TrialTask]
) -> list[Finding]:
    """Report the time spent on connecting if clients connect for each transaction: one finding per level.

    With a single system, one finding covers all levels. ``tasks``: the tasks of the plans by cell id. The text warns if
    cells that keep their connections also have a different number of clients.
    """
    all_of_them = [
        connecting
        for cell in cells
        if _connects_anew(tasks.get(cell.id)) and (connecting := _connecting(cell)) is not None
    ]
    systems = len({cell.system.name for cell in cells})
    several = [name for name, levels in factors.items() if name != "system" and len(levels) > 1]
    groups: dict[str, list[_Connecting]] = {}
    for each in all_of_them:
        groups.setdefault(_levels(each, several) if systems > 1 else "", []).append(each)
    findings = []
    for where, group in groups.items():
        parts = []
        for each in sorted(group, key=lambda each: -each.share):
            share = f"{percent(each.share)} ({rough(each.each_ms)} ms each)"
            name = each.cell.system.name if systems > 1 else _levels(each, several)
            parts.append(share + (f" with {name}" if name and len(all_of_them) > 1 else ""))
        begin = f"With {where}, connecting" if len(groups) > 1 else "Connecting"
        text = f"{begin} for each transaction took {', '.join(parts)} of the clients' time."
        text += _differing_clients([each.cell for each in group], cells, tasks)
        shares = {each.cell.id: {"share": each.share, "each_ms": each.each_ms} for each in group}
        findings.append(connecting_per_transaction.found(text, shares, {"connecting": shares}))
    return findings


def _connects_anew(task: TrialTask | None) -> bool:
    return task is not None and task.connect == "per-transaction"


def _connecting(cell: Cell) -> _Connecting | None:
    """Return the time spent on connecting, or None if it is unknown."""
    latency, client_s = cell.latency_ms.get("connect"), cell.time and cell.time.client_s
    if latency is None or not latency.count or latency.mean is None or not client_s:
        return None
    return _Connecting(cell, latency.count * latency.mean / 1000 / client_s, latency.mean)


def _levels(connecting: _Connecting, factors: Sequence[str]) -> str:
    levels = connecting.cell.factors
    return ", ".join(f"{name}={levels[name]}" for name in factors if name in levels)


def _differing_clients(anew: Sequence[Cell], cells: Sequence[Cell], tasks: Mapping[str, TrialTask]) -> str:
    """Warn if cells that keep their connections also differ in the number of clients."""
    pairs = sorted(
        {
            (tasks[one.id].clients, tasks[other.id].clients)
            for one in anew
            for other in cells
            if other.id in tasks
            and not _connects_anew(tasks[other.id])
            and sum(level != other.factors.get(name) for name, level in one.factors.items()) == 1
        }
    )
    differing = [f"{one} and {other}" for one, other in pairs if one != other]
    if not differing:
        return ""
    return (
        f" Cells that keep their connections also differ in the number of clients ({'; '.join(differing)}): "
        "their ratio is not only the cost of connecting."
    )


@finding(
    "connecting",
    needs=("connecting",),
    meaning="Clients connect for each transaction, and connecting took this share of their time.",
    remedy="Keep connections open, or use a connection pool.",
)
def connecting_per_transaction(material: Material) -> list[Finding]:
    """Report the time that clients spent on connecting for each transaction."""
    return connect_findings(material.cells, material.factors, material.tasks)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two cells that differ only in whether the service keeps its database connections (``kept``) or not (``anew``)."""

    kept: Cell
    anew: Cell

    @property
    def by(self) -> str:
        """The metric of the comparison."""
        return usual_metric(self.kept, self.anew)

    def ratio(self, confidence: float) -> Ratio | None:
        """Return the ratio of ``anew`` to ``kept`` from the rounds that both cells have."""
        return _pooled([self], self.by, confidence)


def connecting_behind(
    cells: Sequence[Cell],
    design: JsonObject,
    tasks: Mapping[str, TrialTask],
    label: str,
    confidence: float,
    family: int = 1,
) -> Iterator[Finding]:
    """Report the effect of a database connection per request on each system, over all levels of the other factors.

    Compares cells that differ in one factor that changes only this setting. Pairs that did different work are excluded
    and named. All levels have the same weight (:func:`dbdyno.stats.effects.pooled`). ``tasks``: the tasks of the plans
    by cell id; ``label``: the counted unit, in the plural; ``family``: the number of comparisons in the run's table
    (:func:`dbdyno.stats.decide`).
    """
    confidence = 1 - (1 - confidence) / family
    pairs = list(_pairs(cells, design))
    unlike = {pair.anew.id: why for pair in pairs if (why := why_not_comparable(pair.kept, pair.anew))}
    by_system: dict[str, list[_Pair]] = {}
    for pair in pairs:
        if pair.anew.id not in unlike:
            by_system.setdefault(pair.kept.system.name, []).append(pair)
    short = short_systems(list(by_system))
    words_by_metric: dict[str, list[str]] = {}
    ratios: dict[str, JsonObject] = {}
    for system, own in by_system.items():
        metric = own[0].by
        alike = [pair for pair in own if pair.by == metric]
        ratio = _pooled(alike, metric, confidence, noise_of_cells(cells, metric))
        if ratio is None:
            continue
        location = f" on {short[system]}" if len(by_system) > 1 else ""
        words = f"{_ratio_words(ratio)}{location}{_extremes(alike, tasks, confidence)}"
        words_by_metric.setdefault(metric, []).append(words)
        ratios[system] = {
            "metric": metric,
            "ratio": ratio.mean,
            "ci95": ratio.ends,
            "cells": [[pair.kept.id, pair.anew.id] for pair in alike],
        }
    if not ratios:
        return
    sentences = [
        f"With a database connection per request, {_subject(metric, label)} "
        f"{all_of(parts)} times as {'many' if metric == 'throughput' else 'long'} as with kept connections"
        for metric, parts in words_by_metric.items()
    ]
    words = ". ".join(sentences) + "."
    if unlike:
        first, why = next(iter(unlike.items()))
        words += f" {_pairs_are(len(unlike))} excluded because their work differed: {first} ({'; '.join(why)})."
    ids = [each for own in ratios.values() for pair in own["cells"] for each in pair]
    yield connection_per_request.found(words, ids, {"ratios": ratios, "left_out": unlike})


def _subject(metric: str, label: str) -> str:
    return f"{label} are" if metric == "throughput" else f"response times ({metric}) are"


def _pairs(cells: Sequence[Cell], design: JsonObject) -> Iterator[_Pair]:
    planned = {str(each.get("id", "")): each for each in objects(design.get("cells"))}
    asked = {cell.id: part(planned.get(cell.id, {}), "asked") for cell in cells}
    keeps: dict[bool, list[Cell]] = {True: [], False: []}
    for cell in cells:
        engine = known_engine(text(part(planned.get(cell.id, {}), "system"), "engine") or "")
        kept_there = engine.keeps_connections({name: str(value) for name, value in asked[cell.id].items()})
        if kept_there is not None and cell.throughput.mean:
            keeps[kept_there].append(cell)
    for anew in keeps[False]:
        for kept in keeps[True]:
            settings = _differences(asked[kept.id], asked[anew.id])
            if settings == 1 and _differences(kept.factors, anew.factors) == 1:
                yield _Pair(kept, anew)


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    return sum(one.get(name) != other.get(name) for name in one.keys() | other.keys())


def _pooled(pairs: Sequence[_Pair], metric: str, confidence: float, noise: Noise | None = None) -> Ratio | None:
    return pooled([contrast_of(pair.kept, pair.anew, metric) for pair in pairs], confidence, noise)


def _ratio_words(ratio: Ratio) -> str:
    ends = ratio.ends
    return f"{ratio.mean:.3g} " + (f"({ends[0]:.3g} to {ends[1]:.3g})" if ends else "(no interval: one round)")


def _extremes(pairs: Sequence[_Pair], tasks: Mapping[str, TrialTask], confidence: float) -> str:
    """Return the smallest and largest ratio, and the time added to each request with the fewest clients."""
    several = varied([pair.kept for pair in pairs])
    ratios = [(ratio.mean, pair) for pair in pairs if (ratio := pair.ratio(confidence)) is not None]
    parts = []
    if len(ratios) > 1:
        ends = min(ratios, key=lambda pair: pair[0]), max(ratios, key=lambda pair: pair[0])
        parts.append(" to ".join(f"{mean:.3g} with {_pair_words(pair, several)}" for mean, pair in ends))
    clients = {pair.kept.id: tasks[pair.kept.id].clients if pair.kept.id in tasks else 0 for pair in pairs}
    few = min(pairs, key=lambda pair: clients[pair.kept.id])
    number, kept, anew = clients[few.kept.id], few.kept.throughput.mean, few.anew.throughput.mean
    if few.by == "throughput" and number and kept and anew and kept > anew:
        added = number * (1 / anew - 1 / kept) * 1000 * unit_seconds(few.kept)
        location = f" with {_pair_words(few, several)}" if several else ""
        parts.append(f"{rough(added)} ms more per request{location}")
    return f" ({'; '.join(parts)})" if parts else ""


def _pair_words(pair: _Pair, several: Sequence[str]) -> str:
    levels = pair.kept.factors
    return words_of({name: levels[name] for name in several if name in levels})


def _pairs_are(pairs: int) -> str:
    return "1 pair of cells was" if pairs == 1 else f"{pairs} pairs of cells were"


@finding(
    "connection for each request",
    needs=("ratios",),
    meaning="A service was measured with a database connection per request, and with connections that it keeps.",
    remedy="Let the service keep its database connections if that was faster.",
)
def connection_per_request(material: Material) -> Iterator[Finding]:
    """Report what a database connection per request does to each service."""
    yield from connecting_behind(
        material.cells,
        material.run.design,
        material.tasks,
        material.measure.label,
        material.confidence,
        material.family,
    )


@finding(
    "name resolution",
    needs=("system", "host", "seconds"),
    meaning="Each new connection spends time on resolving a host name or on an address that doesn't answer.",
    remedy="Use the address that answers in the URL.",
)
def name_resolution(material: Material) -> Iterator[Finding]:
    """Report the time to resolve a host name, or to try addresses that don't answer."""
    for each in material.observed(name_resolution.kind):
        name, host, seconds = each["system"], each["host"], number(each, "seconds") or 0.0
        if each.get("silent"):
            words = f"{name}: `{host}` resolves to {each['silent']} first, which does not answer: each new connection "
            words += f"loses {seconds * 1000:.1f} ms before it tries {each.get('answers')}. Write that in the URL."
        else:
            words = f"{name}: resolving `{host}` took {seconds * 1000:.0f} ms, and each new connection repeats it."
        evidence = {key: value for key, value in each.items() if key != "kind"}
        yield name_resolution.found(words, [], evidence)


def backlog_findings(cells: Sequence[Cell]) -> Iterator[Finding]:
    """Report the tiers whose accept queue overflowed, how often, and which setting makes the queue longer."""
    full: dict[tuple[str, int, str], list[tuple[Cell, int]]] = {}
    for cell in cells:
        engine = engine_of_product(cell.system.engine)
        for round_ in cell.rounds:
            for listener in round_.listeners:
                if not listener.dropped:
                    continue
                tier = tier_of(listener.part) if listener.part else "server"
                own = engine.listen_setting(listener.part) or f"the backlog that the {tier} requests (listen(2))"
                kernels = f"`net.core.somaxconn` ({listener.somaxconn})"
                # The kernel caps the requested backlog at somaxconn.
                lifts = f"{kernels} and {own}" if listener.backlog >= listener.somaxconn else f"{own}, up to {kernels}"
                full.setdefault((tier, listener.backlog, lifts), []).append((cell, listener.dropped))
    for (tier, backlog, lifts), hit in full.items():
        found = list(dict.fromkeys(cell.id for cell, _ in hit))
        dropped = sum(times for _, times in hit)
        where = found[0] if len(found) == 1 else f"{len(found)} cells"
        text = f"The {tier}'s accept queue overflowed in {where}: it holds {backlog:,} connections, and the kernel"
        text += f" dropped {dropped:,} more. Dropped clients retry after 1 s, then 2 s and longer, and that delay is"
        text += f" part of the connect times. To raise the limit, increase {lifts}."
        observed = {"tier": tier, "dropped": dropped, "backlog": backlog, "lifted_by": lifts, "cells": len(found)}
        yield backlog_full.found(text, found, observed)


@finding(
    "backlog full",
    needs=("tier", "dropped", "backlog", "lifted_by", "cells"),
    meaning="A listening socket's accept queue overflowed, so the kernel dropped connections.",
    remedy="Increase the setting that the finding names.",
)
def backlog_full(material: Material) -> Iterator[Finding]:
    """Report accept queues that overflowed."""
    yield from backlog_findings(material.cells)
